"""The comparison with kube-scheduler: all of it but the programs that it builds."""

import importlib
import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from support import GPU, ROOT, ZONE

PEERS = ROOT / "benchmarks/peers"
sys.path.insert(0, str(PEERS))
clusters = importlib.import_module("clusters")
peers = importlib.import_module("run")


def of_kind(cluster, kind):
    return [item for item in cluster["items"] if item["kind"] == kind]


# Clusters.


def test_nodes():
    nodes = of_kind(clusters.cluster(64, 0), "Node")
    assert [node["metadata"]["name"] for node in nodes[::63]] == ["gpu-00000", "gpu-00063"]
    labels = [node["metadata"]["labels"] for node in nodes]
    assert {label[ZONE] for label in labels} == {f"zone-{zone}" for zone in range(8)}
    assert {label["topology.kubernetes.io/rack"] for label in labels} == {
        f"rack-{rack}" for rack in range(32)
    }
    assert all(n["status"]["allocatable"] == n["status"]["capacity"] for n in nodes)
    assert {n["status"]["allocatable"][GPU] for n in nodes} == {"8"}


def test_equal_pods():
    pods = of_kind(clusters.cluster(1, 20, gpus=8), "Pod")
    assert pods[19]["metadata"] == {
        "name": "train-000019",
        "namespace": "ml",
        "labels": {"app": "resnet50-0", "job": "resnet50"},
    }
    assert pods[0]["spec"] == pods[19]["spec"]
    (container,) = pods[0]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "8", "memory": "64Gi", GPU: "8"},
        "limits": {GPU: "8"},
    }


def test_pods_of_different_shapes():
    pods = of_kind(clusters.cluster(1, 20, shapes=True), "Pod")
    requests = [pod["spec"]["containers"][0]["resources"]["requests"] for pod in pods]
    assert requests[3] == {"cpu": "4003m", "memory": "32771Mi", GPU: "4"}
    assert len({json.dumps(request) for request in requests}) == 20
    assert pods[3]["metadata"]["labels"]["index"] == "3"


def test_spreading_and_services():
    cluster = clusters.cluster(1, 20, apps=10, spread=True, services=True)
    services = of_kind(cluster, "Service")
    assert [s["spec"]["selector"]["app"] for s in services] == [f"resnet50-{i}" for i in range(10)]
    for pod in of_kind(cluster, "Pod"):
        zone, rack = pod["spec"]["topologySpreadConstraints"]
        own = {"app": pod["metadata"]["labels"]["app"]}
        assert (zone["topologyKey"], zone["maxSkew"]) == (ZONE, 1)
        assert zone["whenUnsatisfiable"] == "DoNotSchedule"
        assert zone["labelSelector"] == {"matchLabels": own}
        assert (rack["topologyKey"], rack["maxSkew"]) == ("topology.kubernetes.io/rack", 2)
        assert rack["whenUnsatisfiable"] == "ScheduleAnyway"
        assert rack["labelSelector"] == {"matchLabels": {"job": "resnet50"}}


def test_clusters_on_the_command_line():
    command = [sys.executable, PEERS / "clusters.py"]
    options = ["9", "7", "--gpus", "2", "--apps", "3", "--spread", "--shapes", "--services"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == clusters.cluster(
        9, 7, gpus=2, apps=3, spread=True, shapes=True, services=True
    )
    done = subprocess.run([*command, "9", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "argument pods: 'x' is not allowed (allowed: 0 or more)" in done.stderr


# Works.


def test_works():
    names = [work.name for work in peers.chosen_works([], quick=False)]
    assert len(names) == len(set(names)) == 8
    assert {work.name for work in peers.chosen_works([], quick=True)} < set(names)
    (work,) = peers.chosen_works(["services-5000"], quick=True)
    assert len(of_kind(work.objects(quick=True), "Pod")) == work.quick_pods
    for work in peers.WORKS:
        assert work.name.endswith(f"-{work.nodes}")
        gpus = work.cluster.get("gpus", 4)
        assert work.pods * gpus <= work.nodes * 8, "all pods find room"


def test_docs_explain_each_work():
    text = (ROOT / "docs/performance.md").read_text()
    for work in peers.WORKS:
        assert f"\n| {work.name} | " in text.partition("<!-- peers -->")[0]


# Ratios and tables.


def measured(name="article-512", ours=(10.0, 20.0, 40.0), theirs=(1000.0, 4000.0, 6000.0), **more):
    (work,) = peers.chosen_works([name], quick=False)
    out = peers.Measured(work, 1000, bound=1000, **more)
    out.all_nodes = peers.Series(list(ours), list(theirs))
    out.adaptive = peers.Series(list(ours), [value / 10 for value in theirs])
    return out


def test_ratios_are_of_one_round():
    series = measured().all_nodes
    assert series.ratios() == [100, 200, 150]
    assert series.summary() == {
        "ratio_min": 100,
        "ratio_median": 150,
        "ratio_max": 200,
        "schedfw_us": 20,
        "kube_scheduler_us": 4000,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.50"),
        (9.987, "9.99"),
        (10, "10.0"),
        (99.94, "99.9"),
        (123.4, "123"),
        (2e4, "20,000"),
    ],
)
def test_figures(value, text):
    assert peers.figure(value) == text


def test_tables():
    results = [measured(), measured("tensor-5000")]
    all_nodes, adaptive = peers.tables(results)
    assert all_nodes.rows == [
        ("article-512", "512", "1,000", "20.0", "4,000", "150", "100", "200"),
        ("tensor-5000", "5,000", "1,000", "20.0", "4,000", "150", "100", "200"),
    ]
    assert adaptive.rows[0][4:] == ("400", "15.0", "10.0", "20.0")
    title, *lines = all_nodes.text().splitlines()
    assert title == "Both look at all nodes:"
    assert len({len(line) for line in lines}) == 1
    lines = all_nodes.markdown().splitlines()
    assert lines[:2] == ["Both look at all nodes:", ""]
    assert lines[3] == "|---|---:|---:|---:|---:|---:|---:|---:|"
    assert {line.count("|") for line in lines[2:]} == {9}


def test_a_table_for_each_level():
    series = peers.Series([5.0], [1000.0])
    names = [one.title for one in peers.tables([measured(simd={"avx2": series})])]
    assert names[2:] == ["Both look at all nodes, schedfw with avx2 forced"]


def test_json(tmp_path):
    file = tmp_path / "ratios.json"
    peers.write_json(
        file, [measured(), measured("tensor-5000", simd={"avx2": measured().adaptive})]
    )
    first, second = json.loads(file.read_text())
    assert first == {
        "work": "article-512",
        "nodes": 512,
        "pods": 1000,
        "bound": 1000,
        **measured().all_nodes.summary(),
        "adaptive": measured().adaptive.summary(),
    }
    assert (second["work"], second["nodes"]) == ("tensor-5000", 5000)
    assert second["simd"]["avx2"]["ratio_median"] == 15


# Files.


def test_the_marked_part_is_replaced(tmp_path):
    file = tmp_path / "performance.md"
    file.write_text("before\n<!-- peers -->\nold\n<!-- end of peers -->\nafter\n")
    for _ in range(2):  # the second time changes nothing
        peers.write_markdown(file, [measured()], "where and when")
        lines = file.read_text().splitlines()
        assert lines[:4] == ["before", "<!-- peers -->", "where and when", ""]
        assert lines[-2:] == ["<!-- end of peers -->", "after"]
        assert len(lines) == 17
        assert "old" not in lines


def test_a_new_file_has_markers(tmp_path):
    file = tmp_path / "new.md"
    peers.write_markdown(file, [measured()], "where and when")
    text = file.read_text()
    assert text.startswith("<!-- peers -->\nwhere and when\n\n")
    assert text.endswith("|\n<!-- end of peers -->\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- peers -->\n",
        "<!-- end of peers -->\n<!-- peers -->\n",
        2 * "<!-- peers -->\n<!-- end of peers -->\n",
    ],
)
def test_markers_must_be_there_once(text):
    with pytest.raises(peers.ComparisonError, match=r"^FILE: the tables go between the lines"):
        peers.replace_marked(text, "new", "FILE")


def test_the_documentation_has_the_markers():
    file = ROOT / "docs/performance.md"
    assert "new" in peers.replace_marked(file.read_text(), "new", str(file))


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "new" / "peers.png"
    results = [measured(), measured("tensor-5000", theirs=(5.0, 10.0, 30.0))]  # slower, too
    assert peers.write_png(file, results, "where. How")
    image = file.read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", image[16:24])
    assert width == 1200
    assert height > 300


def test_no_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not peers.write_png(tmp_path / "peers.png", [measured()], "where. How")
    assert "-m pip install matplotlib\n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# A whole run, with programs that only say what they would have done.


def program(folder: Path, name: str, *, bound: int = 300, mean: float = 10, fail: str = "") -> Path:
    """Return a program that writes down how it is called."""
    file = folder / name
    file.write_text(
        f"#!{sys.executable}\n"
        "import json, sys\n"
        f"open({str(folder / 'calls')!r}, 'a').write(' '.join([{name!r}, *sys.argv[1:]]) + '\\n')\n"
        f"if {fail!r}: sys.exit({fail!r})\n"
        "mean = 1 if '0' in sys.argv else 2\n"
        f"print(json.dumps(dict(pods=300, nodes=512, bound={bound}, mean_us=mean * {mean},"
        " compiler='a compiler')))\n"
    )
    file.chmod(0o755)
    return file


def call(folder, *options, ours=None, theirs=None):
    """Run the comparison of article-512 with such programs; return its exit status."""
    ours = ours or program(folder, "ours", mean=10)
    theirs = theirs or program(folder, "theirs", mean=1000)
    arguments = ["--quick", "--work", "article-512", "--png", folder / "peers.png"]
    arguments += ["--kube-scheduler", theirs, "--schedfw", ours, *options]
    return peers.main([str(argument) for argument in arguments])


def test_run(tmp_path, capsys):
    file = tmp_path / "ratios.json"
    assert call(tmp_path, "--json", file, "--simd", "avx2", "--threads", 2, "--rounds", 2) == 0
    (entry,) = json.loads(file.read_text())
    assert (entry["work"], entry["pods"], entry["bound"]) == ("article-512", 300, 300)
    assert (entry["ratio_min"], entry["ratio_max"]) == (100, 100)
    assert entry["adaptive"]["ratio_median"] == 50
    assert entry["simd"]["avx2"]["ratio_median"] == 100
    said = capsys.readouterr()
    assert said.err.splitlines()[1] == (
        "[1/1] article-512, round 2 of 2: schedfw 20.0 µs, kube-scheduler 2,000 µs a pod, 100×"
    )
    assert "schedfw: a compiler, Release, 2 threads." in said.out.splitlines()[0]
    assert said.out.count("\narticle-512 ") == 3

    calls = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    order = ["ours", "theirs", "ours", "theirs"]
    assert [line[0] for line in calls] == [*order, *reversed(order)]
    assert len({Path(next(a for a in line if a.endswith(".json"))) for line in calls}) == 1
    ours = [line for line in calls if line[0] == "ours"]
    assert all(line[line.index("--threads") + 1] == "2" for line in ours)
    assert [line[line.index("--simd") + 1] for line in ours] == ["auto", "avx2", "avx2", "auto"]
    assert ["--verify" in line for line in ours] == [True, True, False, False]
    theirs = [line for line in calls if line[0] == "theirs"]
    assert [line[line.index("-pct") + 1] for line in theirs] == ["100", "0", "0", "100"]


def test_different_numbers_of_bound_pods(tmp_path, capsys):
    theirs = program(tmp_path, "theirs", bound=299)
    assert call(tmp_path, theirs=theirs) == 1
    assert capsys.readouterr().err == (
        "run.py: article-512: schedfw bound 300 of 300 pods, but kube-scheduler (-pct 100) 299: "
        "their times can't be compared\n"
    )


def test_a_program_that_fails(tmp_path, capsys):
    assert call(tmp_path, ours=program(tmp_path, "ours", fail="no such level")) == 1
    assert capsys.readouterr().err.endswith("\nno such level\n")
    assert call(tmp_path, ours=tmp_path / "absent") == 1
    assert capsys.readouterr().err.endswith("absent: No such file or directory\n")


def test_files_are_checked_before_the_run(tmp_path, capsys):
    file = tmp_path / "text.md"
    file.write_text("nothing marked\n")
    assert call(tmp_path, "--markdown", file) == 1
    assert call(tmp_path, "--json", tmp_path / "absent/ratios.json") == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"run.py: {file}: the tables go between the lines <!-- peers --> and ")
    assert second == f"run.py: {tmp_path}/absent/ratios.json: there is no folder {tmp_path}/absent"
    assert not (tmp_path / "calls").exists()


def test_help_and_wrong_options(capsys):
    with pytest.raises(SystemExit, match="0"):
        peers.main(["-h"])
    text = capsys.readouterr().out
    assert all(work.name in " ".join(text.split()) for work in peers.WORKS)
    with pytest.raises(SystemExit, match="2"):
        peers.main(["--rounds", "0"])
    assert "argument --rounds: '0' is not allowed (allowed: 1 or more)" in capsys.readouterr().err
