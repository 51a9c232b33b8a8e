"""The command `schedfw`, run as a user runs it."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import schedfw
from schedfw.workloads import training_cluster
from support import GPU, ROOT, VECTORS, node, pod, run_schedfw

COMMANDS = {
    "explain": ["--config", "--pod", "--top", "--preempt", "--output"],
    "cycle": ["--config", "--output"],
    "place": ["--config", "--threads", "--output"],
    "run": ["--config", "--threads", "--status-updates", "--output"],
    "config": ["--output"],
    "fit": ["--config", "--limit", "--output"],
    "pack": [
        "--policy",
        "--tune",
        "--seed",
        "--order",
        "--ranks",
        "--threads",
        "--output-dir",
        "--format",
    ],
    "plugins": ["--output"],
}
SCHEDFW = Path(sys.executable).parent / "schedfw"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    gated = pod("gated", spec={"schedulingGates": [{"name": "wait"}]})
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    objects = [
        node("big", cpu=8),
        node("full", cpu=2),
        node("small", cpu=4),
        pod("there", on="full", cpu=1),
        pod("lost", on="nowhere"),
        pod("new", cpu=2),
        pod("huge", cpu=100),
        gated,
        going,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
    ]
    write(folder / "cluster.json", {"apiVersion": "v1", "kind": "List", "items": objects})
    write(folder / "pod.json", pod("one-more", cpu=1))
    write(folder / "training.json", training_cluster(16, 40))
    write(folder / "config.json", {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
    })  # fmt: skip
    write(folder / "extenders.json", {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [
            {
                "urlPrefix": "http://extender.example/",
                "filterVerb": "filter",
                "managedResources": [{"name": GPU, "ignoredByScheduler": True}],
            },
            {"bindVerb": "bind"},
        ],
    })  # fmt: skip
    write(folder / "unknown.json", {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nonesuch"}]}}}],
    })  # fmt: skip
    (folder / "broken.json").write_text('{"kind": "List",\n"items": [}')
    (folder / "empty").write_text("")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "latin.yaml").write_bytes("kind: Pod # gr\xfc\xdfe\n".encode("latin-1"))
    return folder


def write(path, tree):
    path.write_text(json.dumps(tree))


def good(*args, text=None, notes=()):
    done = run_schedfw(*args, text=text)
    assert (done.returncode, done.stderr.splitlines()) == (0, list(notes))
    return done.stdout


NOTES = [
    "ignored: 1 v1 ConfigMap",
    "not scheduled: 1 waiting pods that are being deleted",
    "not counted: 1 pods on nodes that are not there",
]


def test_explain(files):
    out = good("explain", files / "cluster.json", notes=NOTES)
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0] == "3 pods wait: 1 fit, 2 pend"
    assert "ml/new: fits on 2 of 3 nodes; goes to big" in lines
    assert "ml/huge: pends: 0/3 nodes are available: 3 Insufficient cpu." in lines
    assert "ml/gated: pends: waiting for scheduling gates: [wait]" in lines
    assert any(
        re.match(r"    Insufficient cpu +NodeResourcesFit +Unschedulable +1$", x) for x in lines
    )
    header = next(i for i, line in enumerate(lines) if line.startswith("    NODE"))
    assert lines[header].split() == [
        "NODE",
        "TOTAL",
        "TaintToleration",
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ]
    assert [line.split()[0] for line in lines[header + 1 : header + 3]] == ["big", "small"]


def test_explain_one_pod(files):
    out = good("explain", files / "cluster.json", "--pod", "ml/huge", notes=NOTES)
    assert out.startswith("ml/huge: pends: 0/3 nodes")
    (tree,) = json.loads(good("explain", files / "cluster.json", "--pod", "ml/new", "-o", "json"))
    assert (tree["pod"], tree["best"]) == ("ml/new", ["big"])


def test_explain_top(files):
    out = good("explain", files / "training.json", "--pod", "ml/train-000000", "--top", 2)
    lines = out.splitlines()
    assert lines[0] == "ml/train-000000: fits on 16 of 16 nodes; goes to gpu-00000"
    assert [line.split()[0] for line in lines[1:]] == ["NODE", "gpu-00000", "gpu-00001", "…"]
    assert lines[-1] == "    … and 14 more nodes"
    out = good("explain", files / "training.json", "--pod", "ml/train-000000", "--top", 0)
    assert out.splitlines() == lines[:1]
    out = good("explain", files / "training.json", "--pod", "ml/train-000000", "--top", 16)
    assert len(out.splitlines()) == 18


def test_explain_json_is_that_of_the_library(files):
    trees = json.loads(good("explain", files / "cluster.json", "-o", "json"))
    cluster = schedfw.Cluster.load(files / "cluster.json")
    scheduler = schedfw.Scheduler()
    assert trees == [json.loads(scheduler.explain(cluster, p).to_json()) for p in cluster.pending]
    assert [tree["pod"] for tree in trees] == ["ml/new", "ml/huge", "ml/gated"]


def test_place(files):
    out = good("place", files / "cluster.json", notes=NOTES)
    lines = out.splitlines()
    assert lines[0].split() == ["POD", "NODE", "WHY", "NOT"]
    assert lines[1].split() == ["ml/new", "big"]
    assert lines[-1] == "placed 1 of 3 pods"
    for threads in (0, 1, 4):
        args = ("place", files / "training.json", "--threads", threads, "-o", "json")
        placements = json.loads(good(*args))
        assert len(placements) == 40
        assert sum(bool(node) for _, node in placements) == 32


def test_place_matches_the_recorded_answers():
    folder = VECTORS / "place-article-plain"
    args = ["place", folder / "cluster.json", "-o", "json"]
    if (folder / "config.yaml").exists():
        args += ["--config", folder / "config.yaml"]
    assert json.loads(good(*args)) == json.loads((folder / "expected.json").read_text())


def test_run(files):
    out = good("run", files / "cluster.json", notes=NOTES)
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["POD", "STATE", "NODE", "WHY"]
    assert ["ml/there", "bound", "full"] in lines
    assert ["ml/new", "bound", "big"] in lines
    (huge,) = [line for line in lines if line[:1] == ["ml/huge"]]
    assert huge[1:7] == ["pending", "-", "0/3", "nodes", "are", "available:"]
    assert " ".join(lines[-1]) == (
        "bound 2, evicted 0, pending 3 pods after 2 attempts in 0 s of virtual time"
    )
    tree = json.loads(good("run", files / "cluster.json", "-o", "json"))
    assert tree["bound"] == ["ml/new", "ml/there"]
    assert tree["nodes"] == {"ml/new": "big", "ml/there": "full"}
    assert tree["deleted"] == []
    assert tree["pending"] == ["ml/gated", "ml/going", "ml/huge"]
    assert list(tree["reasons"]) == tree["pending"]
    assert tree["reasons"]["ml/gated"] == "waiting for scheduling gates: [wait]"


def test_run_evicts(tmp_path):
    objects = [
        node("n", cpu=2),
        pod("old", on="n", cpu=2),
        pod("new", cpu=1, spec={"priority": 5}),
    ]
    write(tmp_path / "cluster.json", objects)
    lines = [line.split() for line in good("run", tmp_path / "cluster.json").splitlines()]
    assert lines[1:3] == [["ml/new", "bound", "n"], ["ml/old", "evicted", "-"]]
    write(tmp_path / "nodes.json", [node("n")])
    assert good("run", tmp_path / "nodes.json") == (
        "bound 0, evicted 0, pending 0 pods after 0 attempts in 0 s of virtual time\n"
    )


def test_run_schedules_gangs_without_a_configuration():
    folder = ROOT / "tests/cases/B43-gang-of-gangs-deadlock"
    files = [folder / f"{name}.yaml" for name in ("cluster", "pending", "podgroups")]
    notes = ["enabled: Coscheduling, for 4 PodGroups of scheduling.x-k8s.io"]
    lines = [line.split() for line in good("run", *files, notes=notes).splitlines()]
    assert [line[:2] for line in lines[1:5]] == [
        [f"default/{pod}", "bound"] for pod in ("a-0", "a-1", "b-0", "b-1")
    ]
    tree = json.loads(good("run", *files, "-o", "json"))
    assert tree["bound"] == ["default/a-0", "default/a-1", "default/b-0", "default/b-1"]
    assert len(tree["pending"]) == 4
    # Without the groups' objects it is upstream's default profile.
    good("run", *files[:2])


ZONED = "enabled: NodeResourceTopologyMatch, for {} NodeResourceTopology object{}"


@pytest.mark.parametrize(
    ("case", "zones", "answers"),
    [
        ("B46-numa-container-scope-reuse", 2, {"two-ctr": ["roomy"]}),
        ("B47-numa-host-level-resources", 3, {"scratch": ["with-mem"]}),
        ("B49-numa-sidecar-cpu", 1, {"fraction": ["n1"], "whole": []}),
    ],
)
def test_zones_count_without_a_configuration(case, zones, answers):
    folder = ROOT / "tests/cases" / case
    files = [folder / f"{name}.yaml" for name in ("cluster", "nrt", "pod")]
    notes = [ZONED.format(zones, "" if zones == 1 else "s")]
    assert "fits on" in good("explain", *files, notes=notes)
    tree = json.loads(good("explain", *files, "-o", "json"))
    assert {p["pod"].removeprefix("default/"): p["feasible"] for p in tree} == answers
    placed = json.loads(good("place", *files, "-o", "json"))
    assert {pod.removeprefix("default/"): [node] if node else [] for pod, node in placed} == answers
    bound = json.loads(good("run", *files, "-o", "json"))["nodes"]
    assert {pod.removeprefix("default/"): [node] for pod, node in bound.items()} == {
        pod: nodes for pod, nodes in answers.items() if nodes
    }
    for command in ("place", "run", "cycle"):
        good(command, *files, notes=notes)


def test_run_enables_what_the_files_need(tmp_path):
    folder = ROOT / "tests/cases/B43-gang-of-gangs-deadlock"
    files = [folder / f"{name}.yaml" for name in ("cluster", "pending", "podgroups")]
    zone = {
        "name": "node-0",
        "type": "Node",
        "resources": [{"name": "cpu", "capacity": 8, "allocatable": 8, "available": 8}],
    }
    topology = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n1"},
        "zones": [zone],
    }
    write(tmp_path / "nrt.json", [topology])
    notes = ["enabled: Coscheduling, for 4 PodGroups of scheduling.x-k8s.io", ZONED.format(1, "")]
    assert "bound 4" in good("run", *files, tmp_path / "nrt.json", notes=notes)
    assert good("place", *files[:2], tmp_path / "nrt.json", notes=notes[1:])


@pytest.mark.parametrize("threads", [1, 4])
def test_run_matches_the_recorded_answers(threads):
    for name in ("loop-preempt-012", "loop-gangpreempt-000"):
        folder = VECTORS / name
        want = json.loads((folder / "expected.json").read_text())
        args = ("run", folder / "cluster.json", "--threads", threads, "-o", "json")
        tree = json.loads(good(*args))
        for key in ("bound", "deleted", "pending"):
            assert tree[key] == sorted(want[key])
    args = ("run", VECTORS / "loop-preempt-012/cluster.json", "-o", "json")
    tree = json.loads(good(*args, "--status-updates", "at-once"))
    assert tree["pending"] == ["ml/solo2"]


def test_config(files):
    out = good("config", files / "config.json")
    lines = out.splitlines()
    assert lines[0] == "profile default-scheduler"
    points = [line.split()[0] for line in lines[2:14]]
    assert points[0] == "PreEnqueue"
    assert points[-1] == "PostBind"
    assert "  Score       -" in lines
    assert lines[14].startswith("  enabled, but without effect here: ")
    tree = json.loads(good("config", files / "config.json", "-o", "json"))
    assert list(tree) == ["default-scheduler"]
    assert tree["default-scheduler"]["Score"] == []
    assert tree["default-scheduler"]["Bind"] == ["DefaultBinder"]


def test_extenders_are_not_called(files):
    line = "extenders, understood but not called: http://extender.example/, (no urlPrefix)"
    config = files / "extenders.json"
    assert good("config", config).splitlines()[-2:] == ["", line]
    tree = json.loads(good("config", config, "-o", "json"))
    assert list(tree) == ["default-scheduler"]
    assert set(tree["default-scheduler"]["Bind"]) == {"DefaultBinder"}
    args = ("place", files / "training.json", "--config", config)
    good(*args, notes=[line])
    placed = json.loads(good(*args, "-o", "json"))
    assert all(node for _, node in placed)


def test_config_option(files):
    args = ("explain", files / "training.json", "--pod", "ml/train-000000", "-o", "json")
    (tree,) = json.loads(good(*args, "--config", files / "config.json"))
    assert tree["raw"] == {}


def test_fit(files):
    out = good("fit", files / "cluster.json", files / "pod.json", notes=NOTES)
    lines = out.splitlines()
    assert lines[0] == "13 of this pod fit"
    assert [line.split() for line in lines[2:5]] == [["big", "8"], ["full", "1"], ["small", "4"]]
    assert lines[5] == "the next one pends: 0/3 nodes are available: 3 Insufficient cpu."
    tree = json.loads(good("fit", files / "cluster.json", "ml/new", "-o", "json"))
    assert tree == {
        "count": 6,
        "limited": False,
        "nodes": {"big": 4, "small": 2},
        "next": {
            "code": "Unschedulable",
            "plugin": "",
            "reasons": ["0/3 nodes are available: 3 Insufficient cpu."],
        },
    }
    out = good("fit", files / "training.json", "ml/train-000000", "--limit", 3)
    assert out.splitlines()[0] == "3 or more (the limit) of this pod fit"
    text = (files / "pod.json").read_text()
    assert good("fit", files / "cluster.json", "-", text=text, notes=NOTES).startswith("13 of")


def test_plugins(files):
    out = good("plugins")
    assert "NodeResourcesFit: " in out
    assert "scoringStrategy.type" in out
    names = [plugin["name"] for plugin in json.loads(good("plugins", "-o", "json"))]
    assert names == [plugin["name"] for plugin in schedfw.describe_plugins()]


def test_inputs(files, tmp_path):
    """Several files, gzip, and standard input."""
    write(tmp_path / "nodes.json", [node("n")])
    (tmp_path / "pods.json.gz").write_bytes(gzip.compress(json.dumps([pod("p")]).encode()))
    out = good("place", tmp_path / "nodes.json", tmp_path / "pods.json.gz", "-o", "json")
    assert json.loads(out) == [["ml/p", "n"]]
    out = good("place", tmp_path / "nodes.json", "-", "-o", "json", text=json.dumps(pod("q")))
    assert json.loads(out) == [["ml/q", "n"]]


def test_nothing_waits(tmp_path):
    write(tmp_path / "nodes.json", [node("n")])
    assert good("explain", tmp_path / "nodes.json") == "no pod waits for a node\n"
    assert good("place", tmp_path / "nodes.json") == "no pod waits for a node\n"
    assert json.loads(good("explain", tmp_path / "nodes.json", "-o", "json")) == []
    assert json.loads(good("place", tmp_path / "nodes.json", "-o", "json")) == []


def bad(*args, text=None):
    done = run_schedfw(*args, text=text)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "the following arguments are required: COMMAND (see schedfw --help)"),
        (["explain"], "the following arguments are required: CLUSTER (see schedfw explain --help)"),
        (["--nonsense", "plugins"], "unrecognized arguments: --nonsense (see schedfw --help)"),
        (
            ["place", "x", "--threads", "two"],
            "argument --threads: 'two' is not allowed (allowed: 0 or more) (see schedfw place "
            "--help)",
        ),
        (
            ["explain", "x", "--top", "-1"],
            "argument --top: '-1' is not allowed (allowed: 0 or more) (see schedfw explain --help)",
        ),
        (
            ["fit", "x", "y", "--limit", "1.5"],
            "argument --limit: '1.5' is not allowed (allowed: 0 or more) (see schedfw fit --help)",
        ),
        (["explain", "none.json"], "none.json: No such file or directory"),
        (["run"], "the following arguments are required: CLUSTER (see schedfw run --help)"),
        (["run", "empty"], "empty: the file is empty"),
        (["run", "cluster.json", "--config", "none"], "none: No such file or directory"),
        (["place", "."], ".: is a directory, not a file"),
        (["place", "empty"], "empty: the file is empty"),
        (["place", "cluster.json", "none.json"], "none.json: No such file or directory"),
        (["place", "cluster.json", "cluster.json"], "Node big exists already"),
        (["explain", "cluster.json", "--config", "none"], "none: No such file or directory"),
        (["config", "empty"], "empty: the document is empty"),
        (
            ["config", "cluster.json"],
            'cluster.json: kind: "List" is not supported (allowed: KubeSchedulerConfiguration)',
        ),
        (
            ["config", "unknown.json"],
            'profile "default-scheduler": plugin "Nonesuch" does not exist',
        ),
        (["place", "cluster.json", "--config", "unknown.json", "-o", "json"],
         'profile "default-scheduler": plugin "Nonesuch" does not exist'),
        (["explain", "cluster.json", "--pod", "ml/none"], "there is no Pod ml/none"),
        (["explain", "cluster.json", "--pod", "none", "-o", "json"],
         "there is no Pod default/none"),
        (["explain", "cluster.json", "--pod", "ml/there"], "Pod ml/there has a node already"),
        (["place", "cluster.json", "--threads", "5000"],
         "threads: 5000 is not allowed (allowed: 0 to 1024)"),
        (["fit", "cluster.json", "none.yaml"],
         "none.yaml: there is no such file, and there is no Pod default/none.yaml"),
        (["fit", "cluster.json", "cluster.json"], "cluster.json: expected one Pod, got 6"),
        (["fit", "cluster.json", "empty"], "empty: the file is empty"),
        (["fit", "cluster.json", "."], ".: is a directory, not a file"),
        (["fit", "none.json", "ml/new"], "none.json: No such file or directory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_errors(files, monkeypatch, args, message):
    monkeypatch.chdir(files)
    line = bad(*args)
    assert re.fullmatch(r"schedfw( \w+)?: error: (.*)", line)[2] == message


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["explain", "cluster.json", "-o", "xml"],
        ["explain", "broken.json"],
        ["explain", "binary"],
        ["run", "broken.json"],
        ["run", "binary"],
        ["run", "cluster.json", "--status-updates", "later"],
        ["explain", "latin.yaml"],
        ["fit", "cluster.json", "binary"],
        ["fit", "cluster.json", "latin.yaml"],
        ["fit", "cluster.json", "broken.json"],
        ["config", "binary"],
        ["config", "broken.json"],
        ["config", "latin.yaml"],
        ["explain", "cluster.json", "--config", "latin.yaml"],
        ["explain", "cluster.json", "--pod", "a\nb"],
        ["explain", "no\nsuch"],
        ["place", "cluster.json", "--threads", "9" * 30],
        ["fit", "cluster.json", "ml/new", "--limit", "9" * 30],
    ],
    ids=" ".join,
)
def test_other_errors(files, monkeypatch, args):
    monkeypatch.chdir(files)
    assert bad(*args).startswith("schedfw")


def test_broken_standard_input():
    assert bad("explain", "-", text="[") == (
        "schedfw: error: <stdin>:1: the text ends in the middle of a list"
    )
    assert bad("config", "-", text="{}").startswith("schedfw: error: <stdin>: kind: must be given")


@pytest.mark.parametrize("args", [["explain", "training.json"], ["plugins"], ["--help"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough(files, args, unbuffered):
    args = [files / arg if arg.endswith(".json") else arg for arg in args]
    command = " ".join(map(str, [SCHEDFW, *args]))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk(files):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [SCHEDFW, "explain", files / "training.json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "schedfw: error: standard output: No space left on device\n"


def test_output_that_can_not_be_written(files):
    done = subprocess.run(
        [SCHEDFW, "explain", files / "training.json"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"? and 13 more nodes" in done.stdout


def test_interrupt():
    text = json.dumps(training_cluster(3000, 12_000, gpus=1)).encode()
    with subprocess.Popen(
        [SCHEDFW, "place", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        process.stdin.write(text)
        process.stdin.close()  # it has read nearly all of it and has seconds of work to do
        process.stdin = None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")


def test_help():
    out = good("--help")
    for command in COMMANDS:
        assert re.search(rf"^    {command} ", out, re.MULTILINE)
    assert good("--version") == f"schedfw {schedfw.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(command):
    out = good(command, "--help")
    for option in ["--help", *COMMANDS[command]]:
        assert re.search(rf"^  (-\w( \S+)?, )?{option}\b", out, re.MULTILINE), option
    # Every option says something of itself.
    flat = re.sub(r"\n {10,}", "  ", out)
    for line in flat.splitlines():
        if line.startswith("  "):
            assert re.fullmatch(r"  \S.*?\s{2,}\S.*", line), line


def test_module():
    done = subprocess.run(
        [sys.executable, "-m", "schedfw.cli", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"schedfw {schedfw.__version__}\n"


def test_table_is_cut_at_the_terminal(files):
    """In a terminal lines are as wide as it is, at most."""
    script = subprocess.run(
        ["script", "-qec", f"{SCHEDFW} explain {files}/training.json", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "60"},
    )
    if script.returncode != 0:
        pytest.skip("no terminal")
    lines = [line for line in script.stdout.splitlines() if line.startswith("    ")]
    assert lines
    assert max(map(len, lines)) == 60
    assert GPU not in lines[0]
