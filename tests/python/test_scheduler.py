import json
import threading

import pytest

import schedfw
from schedfw import Cluster, Profile, Scheduler
from schedfw.workloads import training_cluster
from support import GPU, ROOT, VECTORS, cluster, node, pod, run_python, state

CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}],
}


@pytest.fixture
def training():
    return Cluster.parse(training_cluster(16, 40))


def test_profile_forms(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(json.dumps(CONFIG))
    assert Scheduler().profiles == ["default-scheduler"]
    assert Scheduler(Profile("mine")).profiles == ["mine"]
    assert Scheduler([Profile("b"), Profile("a")]).profiles == ["b", "a"]
    assert Scheduler(CONFIG).profiles == ["a", "b"]
    assert Scheduler(path).profiles == Scheduler(str(path)).profiles == ["a", "b"]
    two = VECTORS / "config-two-profiles/config.yaml"
    assert Scheduler(two).profiles == ["default-scheduler", "no-score"]
    assert repr(Scheduler(CONFIG)) == "<Scheduler with profiles a, b>"


def test_profile_from_standard_input():
    code = "import schedfw; print(schedfw.Scheduler('-').profiles)"
    assert run_python(code, text=json.dumps(CONFIG)).stdout == "['a', 'b']\n"
    done = run_python(code, text='{"kind": "X"}')
    assert done.stderr.splitlines()[-1] == (
        'schedfw.ConfigError: <stdin>: kind: "X" is not supported '
        "(allowed: KubeSchedulerConfiguration)"
    )


def test_pods_choose_their_profile():
    some = cluster(
        node("n"),
        pod("x", spec={"schedulerName": "a"}),
        pod("y", spec={"schedulerName": "c"}),
    )
    scheduler = Scheduler([Profile("a"), Profile("b")])
    assert scheduler.explain(some, "ml/x").profile == "a"
    explanation = scheduler.explain(some, "ml/y")
    assert explanation.status.message == 'no profile for schedulerName "c"'
    placements = scheduler.place(some)
    assert [p.node for p in placements] == ["n", None]
    assert placements[1].status.code == "UnschedulableAndUnresolvable"
    assert placements[1].status.message == 'no profile for schedulerName "c" (there are: a, b)'


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "<config>: kind: must be given (allowed: KubeSchedulerConfiguration)"),
        (
            {"kind": "KubeSchedulerConfiguration"},
            '<config>: apiVersion: "" is not supported (allowed: kubescheduler.config.k8s.io/v1)',
        ),
        (
            {**CONFIG, "profilez": []},
            '<config>: unknown field "profilez" (allowed: apiVersion, kind, parallelism, '
            "leaderElection, clientConnection, enableProfiling, enableContentionProfiling, "
            "percentageOfNodesToScore, podInitialBackoffSeconds, podMaxBackoffSeconds, profiles, "
            "extenders, delayCacheUntilActive)",
        ),
        (
            {**CONFIG, "parallelism": 0},
            "<config>: parallelism: 0 is not in the valid range (allowed: 1 or more)",
        ),
        (
            {**CONFIG, "profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            '<config>: profiles[1].schedulerName: "a" is the name of profiles[0] too',
        ),
        ([], "profile: an empty list is not allowed (allowed: one or more)"),
    ],
)
def test_config_errors(config, message):
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler(config)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{path}: the document is empty"),
        ("{}", "{path}: kind: must be given (allowed: KubeSchedulerConfiguration)"),
        ("[]", "{path}: kind: must be given (allowed: KubeSchedulerConfiguration)"),
        ('{"a": 1,\n"a": 2}', '{path}:2: the key "a" is given twice'),
    ],
)
def test_config_file_errors(tmp_path, text, message):
    path = tmp_path / "config"
    path.write_text(text)
    for plugins in ([], [Noop()]):
        with pytest.raises(schedfw.ConfigError) as error:
            Scheduler(path, plugins=plugins)
        assert str(error.value) == message.format(path=path)


def test_extenders():
    extender = {
        "urlPrefix": "http://extender.example",
        "filterVerb": "filter",
        "managedResources": [{"name": GPU, "ignoredByScheduler": True}],
    }
    config = {**CONFIG, "profiles": []}
    assert Scheduler().extenders == []
    assert "extender" not in repr(Scheduler())
    assert Scheduler({**config, "extenders": None}).extenders == []
    scheduler = Scheduler({**config, "extenders": [extender]})
    assert scheduler.extenders == [extender]
    scheduler.extenders[0].clear()
    assert scheduler.extenders == [extender]
    assert repr(scheduler) == (
        "<Scheduler with profiles default-scheduler; extenders: 1, not called>"
    )
    gpus = cluster(node("n"), pod("p", gpu=1))
    assert not Scheduler().explain(gpus, "ml/p").status
    assert scheduler.explain(gpus, "ml/p").status
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler({**config, "extenders": [{"prioritizeVerb": "p"}]})
    assert str(error.value) == (
        "<config>: extenders[0].weight: 0: must have a positive weight applied to it"
    )


class Noop:
    name = "Noop"

    def score(self, cycle, node):
        return 0


def test_missing_config_file(tmp_path):
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler(tmp_path / "none")
    assert str(error.value) == f"{tmp_path}/none: No such file or directory"


@pytest.mark.parametrize("value", [42, [CONFIG], Profile, (Profile(), "a")])
def test_what_is_no_profile(value):
    with pytest.raises(TypeError) as error:
        Scheduler(value)
    assert str(error.value) == (
        "profile must be a Profile or a list of them, the path of a configuration, or a "
        f"configuration as a dict, not {value!r}"
    )


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"normalize": "fast"},
            schedfw.ConfigError,
            'normalize: "fast" is not allowed (allowed: parallel, synchronous)',
        ),
        (
            {"tie_break": "last"},
            schedfw.ConfigError,
            'tie_break: "last" is not allowed (allowed: first, seeded)',
        ),
        (
            {"threads": -1},
            schedfw.ConfigError,
            "threads: -1 is not allowed (allowed: 0 to 1024)",
        ),
        (
            {"threads": 10**6},
            schedfw.ConfigError,
            "threads: 1000000 is not allowed (allowed: 0 to 1024)",
        ),
        (
            {"grain_rows": -1},
            schedfw.ConfigError,
            "grain_rows: -1 is not allowed (allowed: 0 to 4294967295)",
        ),
        (
            {"seed": -1},
            schedfw.ConfigError,
            "seed: -1 is not allowed (allowed: 0 to 18446744073709551615)",
        ),
        ({"threads": "2"}, TypeError, "threads must be an integer, not '2'"),
        ({"seed": 1.0}, TypeError, "seed must be an integer, not 1.0"),
    ],
)
def test_option_errors(options, kind, message):
    with pytest.raises(kind) as error:
        Scheduler(**options)
    assert str(error.value) == message


def test_plugins_by_point():
    scheduler = Scheduler([Profile("a"), Profile("b").disable("*", point="score")])
    assert list(scheduler.plugins()) == [
        "PreEnqueue",
        "QueueSort",
        "PreFilter",
        "Filter",
        "PostFilter",
        "PreScore",
        "Score",
        "Reserve",
        "Permit",
        "PreBind",
        "Bind",
        "PostBind",
    ]
    assert scheduler.plugins("a") == scheduler.plugins()
    assert scheduler.plugins("b")["Score"] == []
    with pytest.raises(schedfw.Error) as error:
        scheduler.plugins("c")
    assert str(error.value) == 'there is no profile "c"'


def test_explain_changes_nothing(training):
    before = state(training)
    explanation = Scheduler().explain(training, "ml/train-000000")
    assert len(explanation.feasible) == 16
    assert [e.pod for e in Scheduler().explain_all(training)] == training.pending
    assert Scheduler().schedule(training, "ml/train-000000").node == explanation.best[0]
    assert state(training) == before


def test_schedule_one_binds(training):
    scheduler = Scheduler()
    planned = scheduler.schedule(training, "ml/train-000003")
    placement = scheduler.schedule_one(training, "ml/train-000003")
    assert (placement.pod, placement.node) == ("ml/train-000003", planned.node)
    assert placement.status
    assert training.node_of("ml/train-000003") == placement.node
    assert len(training.pending) == 39


def test_schedule_one_without_a_node():
    full = cluster(node("n", gpu=1), pod("x", gpu=2))
    before = state(full)
    for placement in (Scheduler().schedule_one(full, "ml/x"), Scheduler().schedule(full, "ml/x")):
        assert placement.node is None
        assert not placement.status
        assert placement.status.code == "Unschedulable"
        assert placement.status.message == f"0/1 nodes are available: 1 Insufficient {GPU}."
        assert repr(placement) == f"<Placement ml/x: {placement.status.message}>"
    assert state(full) == before


@pytest.mark.parametrize("name", ["explain", "schedule", "schedule_one"])
def test_pod_errors(training, name):
    call = getattr(Scheduler(), name)
    with pytest.raises(schedfw.Error) as error:
        call(training, "ml/none")
    assert str(error.value) == "there is no Pod ml/none"
    training.bind("ml/train-000000", "gpu-00001")
    with pytest.raises(schedfw.Error) as error:
        call(training, "ml/train-000000")
    assert str(error.value) == "Pod ml/train-000000 has a node already"


def test_place(training):
    fork = training.fork()
    placements = Scheduler().place(fork)
    assert (len(placements), placements.placed) == (40, 32)
    assert repr(placements) == "<Placements: 32 of 40 pods placed>"
    assert fork.requested(GPU).tolist() == [8] * 16
    assert len(fork.pending) == 8
    for placement in placements:
        assert fork.node_of(placement.pod) == placement.node
    assert repr(placements[0]) == "<Placement ml/train-000000 → gpu-00000>"
    frame = placements.to_pandas()
    assert list(frame.columns) == ["pod", "node", "message"]
    assert frame["node"].isna().sum() == 8
    assert frame["message"].iloc[0] == ""
    assert training.requested(GPU).sum() == 0
    assert Scheduler().place(fork).placed == 0


def test_place_by_priority():
    high = {"priority": 10}
    some = cluster(node("n", gpu=1), pod("low", gpu=1), pod("high", gpu=1, spec=high))
    assert [(p.pod, p.node) for p in Scheduler().place(some)] == [
        ("ml/high", "n"),
        ("ml/low", None),
    ]


def test_place_leaves_out_gated_and_deleting_pods():
    gated = pod("gated", spec={"schedulingGates": [{"name": "wait"}]})
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    some = cluster(node("n"), gated, going)
    (placement,) = Scheduler().place(some)
    assert (placement.pod, placement.node) == ("ml/gated", None)
    assert placement.status.plugin == "SchedulingGates"
    assert some.pending == ["ml/gated"]


def test_place_timed(training):
    fork = training.fork()
    timed = Scheduler().place_timed(fork)
    assert [(p, n or None) for p, n, _ in timed] == [
        (p.pod, p.node) for p in Scheduler().place(training)
    ]
    assert all(nanoseconds > 0 for _, _, nanoseconds in timed)
    assert state(fork)[:4] == state(training)[:4]


def test_progress(training):
    seen = []
    placements = Scheduler().place(training.fork(), lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 40)
    assert seen[-1] == (40, 40)
    assert seen == sorted(seen)
    assert len(placements) == 40

    seen.clear()
    fit = Scheduler().fit(training, "ml/train-000000", progress=lambda *call: seen.append(call))
    assert seen[0] == (0, 100_000)
    assert seen[-1] == (fit.count, 100_000)

    seen.clear()
    Scheduler().place(cluster(node("n")), lambda *call: seen.append(call))
    assert seen == []


def test_progress_may_look_but_not_change(training):
    def look(done, total):
        assert training.requested(GPU).sum() == 4 * (len(training) * 2 if done else 0)
        assert len(training.fork().pending) == len(training.pending)

    Scheduler().place(training.fork(), lambda done, total: None)
    Scheduler().place(training, look)

    for change in (
        lambda: training.delete_pod("ml/train-000000"),
        lambda: training.delete_node("gpu-00001"),
        lambda: training.apply(node("new")),
        lambda: Scheduler().place(training),
    ):
        training.apply(pod("one-more"))
        with pytest.raises(schedfw.Error) as error:
            Scheduler().place(training, lambda done, total, change=change: change())
        assert str(error.value) == (
            "pods are being placed on this cluster; it can be changed when that is done"
        )
    training.delete_pod("ml/one-more")  # it can be changed again


def test_progress_that_raises_ends_the_call(training):
    class EnoughError(Exception):
        pass

    def stop(done, total):
        raise EnoughError

    with pytest.raises(EnoughError):
        Scheduler().place(training, stop)
    assert len(training.pending) == 40
    with pytest.raises(EnoughError):
        Scheduler().fit(training, "ml/train-000000", progress=stop)


def test_one_call_at_a_time(training):
    scheduler = Scheduler()

    def again(done, total):
        scheduler.explain(training, "ml/train-000000")

    with pytest.raises(schedfw.Error) as error:
        scheduler.place(training, again)
    assert str(error.value) == "this Scheduler is in the middle of a call; use another one"
    assert scheduler.place(training).placed == 32  # it has recovered


def test_other_threads_use_forks(training):
    """While a thread places pods, others can't look at that cluster, but at its forks."""
    fork = training.fork()
    waiting, seen, problems = threading.Event(), threading.Event(), []

    def progress(done, total):
        waiting.set()
        seen.wait()

    def look():
        waiting.wait()
        message = "another thread places pods on this cluster; give it a fork"
        for act in (
            lambda: fork.requested(GPU),
            lambda: fork.pending,
            lambda: fork.fork(),
            lambda: Scheduler().explain(fork, "ml/train-000000"),
        ):
            try:
                act()
                problems.append("no error")
            except schedfw.Error as error:
                if str(error) != message:
                    problems.append(str(error))
        if Scheduler(threads=2).place(training.fork()).placed != 32:
            problems.append("another fork is placed differently")
        seen.set()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        assert Scheduler().place(fork, progress).placed == 32
    finally:
        thread.join()
    assert problems == []


def test_many_threads_at_once(training):
    results = []

    def work():
        results.append([p.node for p in Scheduler(threads=2, grain_rows=1).place(training.fork())])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [[p.node for p in Scheduler().place(training)]] * 4


def test_seeded_ties_can_be_repeated(training):
    def nodes(**options):
        return [p.node for p in Scheduler(**options).place(training.fork())]

    first = nodes()
    assert first == nodes(tie_break="first", seed=5)
    drawn = nodes(tie_break="seeded", seed=1)
    assert drawn == nodes(tie_break="seeded", seed=1)
    assert drawn != nodes(tie_break="seeded", seed=2)
    assert drawn != first
    # Only among the best.
    fork = training.fork()
    scheduler = Scheduler(tie_break="seeded", seed=3)
    for name in fork.pending[:20]:
        best = Scheduler().explain(fork, name).best
        assert scheduler.schedule_one(fork, name).node in best


def test_normalize_modes(training):
    for mode in ("parallel", "synchronous"):
        options = {"threads": 2, "grain_rows": 1, "normalize": mode}
        assert [p.node for p in Scheduler(**options).place(training.fork())] == [
            p.node for p in Scheduler().place(training.fork())
        ]


def test_fit(training):
    before = state(training)
    scheduler = Scheduler()
    fit = scheduler.fit(training, "ml/train-000000")
    assert (fit.count, fit.limited) == (32, False)
    assert fit.nodes == dict.fromkeys(training.nodes, 2)
    assert fit.status.message == f"0/16 nodes are available: 16 Insufficient {GPU}."
    assert fit.diagnosis.reasons == [(f"Insufficient {GPU}", 16)]
    assert repr(fit) == f"<Fit: 32, then {fit.status.message}>"

    some = scheduler.fit(training, "ml/train-000000", limit=5)
    assert (some.count, some.limited, some.diagnosis) == (5, True, None)
    assert some.status
    assert sum(some.nodes.values()) == 5
    assert repr(some) == "<Fit: 5 or more>"

    new = scheduler.fit(training, pod("new", gpu=8))
    assert (new.count, set(new.nodes.values())) == (16, {1})
    assert scheduler.fit(training, pod("new", gpu=9)).nodes == {}
    assert state(training) == before


def test_fit_of_a_pod_that_is_not_admitted(training):
    fit = Scheduler().fit(training, pod("x", spec={"schedulerName": "other"}))
    assert (fit.count, fit.limited, fit.diagnosis) == (0, False, None)
    assert fit.status.message.startswith('no profile for schedulerName "other"')


@pytest.mark.parametrize(
    ("given", "limit", "message"),
    [
        ("ml/none", 1, "there is no Pod ml/none"),
        ("", 1, "there is no Pod default/"),
        (node("n"), 1, "<pod>: expected one Pod, got 0"),
        ({"items": [pod("a"), pod("b")], "kind": "List", "apiVersion": "v1"}, 1,
         "<pod>: expected one Pod, got 2"),
        (pod("a", cpu="x"), 1,
         '<pod>:1: Pod ml/a: spec.containers[0].resources.requests.cpu: "x" is not a quantity: '
         "it doesn't start with a number (allowed: a number and one of n u m k M G T P E Ki Mi Gi "
         "Ti Pi Ei, or an exponent like e3)"),
        ("ml/train-000000", -1, "limit: -1 is not allowed (allowed: 0 to 9223372036854775807)"),
    ],
)  # fmt: skip
def test_fit_errors(training, given, limit, message):
    with pytest.raises(schedfw.Error) as error:
        Scheduler().fit(training, given, limit)
    assert str(error.value) == message


def test_empty_cluster():
    empty = cluster(pod("x"))
    explanation = Scheduler().explain(empty, "ml/x")
    assert not explanation.status
    assert explanation.feasible == explanation.best == []
    assert explanation.diagnosis.table() == []
    assert Scheduler().place(empty).placed == 0
    assert Scheduler().place(schedfw.Cluster()) == []


LONG_CALL = """
import os, signal, sys, threading, time
import schedfw
from schedfw.workloads import training_cluster

cluster = schedfw.Cluster.parse(training_cluster(4000, 8000))
slow = schedfw.Scheduler(verify_incremental=True)  # looks at all nodes for each pod
calls = []

def progress(done, total):
    calls.append(time.monotonic())
    if len(calls) == 3:
        threading.Timer(0.01, interrupt).start()

def interrupt():
    global sent, calls_when_sent
    sent, calls_when_sent = time.monotonic(), len(calls)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    if sys.argv[1] == "place":
        slow.place(cluster, progress)
    else:
        slow.fit(cluster, cluster.pending[0], progress=progress)
except KeyboardInterrupt:
    print(len(calls) - calls_when_sent, len(cluster.pending))
    print(f"after {time.monotonic() - sent:.3f} s", file=sys.stderr)
"""


@pytest.mark.parametrize("call", ["place", "fit"])
def test_interrupt(call):
    done = run_python(LONG_CALL, call)
    calls, pending = map(int, done.stdout.split())
    assert calls <= 1  # the callback is called every 50 ms, and so is the signal looked for
    assert pending == 8000 if call == "fit" else 0 < pending < 8000


def test_library_is_silent():
    code = (
        "import schedfw; from schedfw.workloads import training_cluster\n"
        "cluster = schedfw.Cluster.parse(training_cluster(64, 10))\n"
        "for threads in (0, 3, 8, 4):\n"
        "    schedfw.Scheduler(threads=threads, grain_rows=1).place(cluster.fork())\n"
    )
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_readme_example():
    text = (ROOT / "README.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    done = run_python(code)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].endswith("'PackGpus'] (6, 64)")
    assert lines[1] == "<Placements: 100 of 100 pods placed>"
