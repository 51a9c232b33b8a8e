"""Plugins written in Python."""

import decimal
import fractions

import numpy as np
import pytest

import schedfw
from schedfw import Cluster, Plugin, Profile, Scheduler
from schedfw.workloads import training_cluster
from support import GPU, ZONE, cluster, node, pod, state


def plugin(name="Mine", **members):
    """Return an instance of a class with these members."""
    return type("Made", (), {"name": name, **members})()


@pytest.fixture
def some():
    return cluster(
        node("a", zone="z1", gpu=4, labels={"disk": "ssd"}),
        node("b", zone="z2", gpu=8),
        node("c"),
        pod("there", on="b", cpu="500m", gpu=2),
        pod("new", cpu=1),
        pod("other", cpu=1),
    )


def explain(some, mine, profile=None, **options):
    return Scheduler(profile, plugins=[mine], **options).explain(some, "ml/new")


# --- what plugins see


def test_simple_filter(some):
    answers = {"a": None, "b": "b is not wanted", "c": False}

    class Choosy(Plugin):
        name = "Choosy"

        def filter(self, cycle, node):
            return answers[node.name]

    diagnosis = explain(some, Choosy()).diagnosis
    assert diagnosis.table() == [
        ("a", "Success", "", []),
        ("b", "Unschedulable", "Choosy", ["b is not wanted"]),
        ("c", "Unschedulable", "Choosy", ["node(s) rejected by plugin Choosy"]),
    ]
    assert diagnosis.plugins == {"Choosy"}
    assert diagnosis.message == (
        "1/3 nodes are available: 1 b is not wanted, 1 node(s) rejected by plugin Choosy."
    )
    Choosy.reason = "node(s) didn't please"
    assert explain(some, Choosy()).diagnosis.status("c").message == "node(s) didn't please"
    answers["b"] = True
    assert explain(some, Choosy()).feasible == ["a", "b"]


def test_batch_filter(some):
    class Ssd:
        name = "Ssd"
        reason = "node(s) had no ssd"

        def filter_nodes(self, cycle, nodes):
            return [disk == "ssd" for disk in nodes.label("disk")]

    diagnosis = explain(some, Ssd()).diagnosis
    assert diagnosis.reasons == [("node(s) had no ssd", 2)]
    assert diagnosis.status("a")


def test_simple_score(some):
    points = {"a": 0, "b": 99.9, "c": np.float32(33.3)}
    mine = plugin(score=lambda self, cycle, node: points[node.name])
    scores = explain(some, mine).scores
    row = scores.plugins.index("Mine")
    assert scores.raw[row].tolist() == [0, 99, 33]
    assert scores.weights[row] == 1


@pytest.mark.parametrize(
    "number",
    [
        7,
        True,
        7.9,
        np.int8(7),
        np.uint64(7),
        np.float16(7.5),
        np.float64(7.9),
        np.array(7.5),
        np.array(7),
        fractions.Fraction(15, 2),
        decimal.Decimal("7.9"),
    ],
    ids=repr,
)
def test_kinds_of_numbers(some, number):
    scores = explain(some, plugin(score=lambda self, cycle, node: number)).scores
    assert set(scores.raw[scores.plugins.index("Mine")].tolist()) == {int(number)}


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.int64, np.uint8, np.uint64, np.float16, np.float32, np.float64]
)
def test_kinds_of_arrays(some, dtype):
    mine = plugin(score_nodes=lambda self, cycle, nodes: np.array([0, 1, 5], dtype=dtype))
    scores = explain(some, mine).scores
    assert scores.raw[scores.plugins.index("Mine")].tolist() == [0, 1, 1 if dtype is bool else 5]


def test_arrays_of_any_layout(some):
    for answer in (
        [1, 2, 3],
        (1.5, 2.5, 3.5),
        range(1, 4),
        np.arange(1, 13)[::4] // 4 + 1,
        np.arange(12).reshape(3, 4)[:, 0] // 4 + 1,
        np.array([1, 2, 3], dtype=">i4"),
    ):
        mine = plugin(score_nodes=lambda self, cycle, nodes, answer=answer: answer)
        scores = explain(some, mine).scores
        assert scores.raw[scores.plugins.index("Mine")].tolist() == [1, 2, 3]


def test_pandas_answers(some):
    pandas = pytest.importorskip("pandas")

    class Frames:
        name = "Frames"

        def filter_nodes(self, cycle, nodes):
            return pandas.Series(nodes.allocatable(GPU), index=nodes.names) > 0

        def score_nodes(self, cycle, nodes):
            return pandas.Series(nodes.free(GPU), index=nodes.names) * 2.5

    explanation = explain(some, Frames())
    assert explanation.feasible == ["a", "b"]
    assert explanation.scores.raw[-1].tolist() == [10, 15]


def test_columns(some):
    seen = {}

    class Look:
        name = "Look"

        def score_nodes(self, cycle, nodes):
            seen.update(
                repr=repr(nodes),
                size=len(nodes),
                names=nodes.names,
                allocatable=nodes.allocatable(GPU),
                requested=nodes.requested(GPU),
                free=nodes.free(GPU),
                cpu=nodes.free("cpu"),
                pods=nodes.pod_count,
                room=nodes.free("pods"),
                none=nodes.free("no/such"),
                zone=nodes.label(ZONE),
                loop=[n.name for n in nodes],
                last=nodes[-1].name,
                index=nodes[np.int64(1)].name,
                all=cycle.nodes.names,
            )
            with pytest.raises(IndexError, match=r"^there are 3 nodes$"):
                nodes[3]
            return np.zeros(len(nodes))

    explain(some, Look())
    arrays = {key: value for key, value in seen.items() if isinstance(value, np.ndarray)}
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.int64)}
    assert {key: array.tolist() for key, array in arrays.items()} == {
        "allocatable": [4, 8, 0],
        "requested": [0, 2, 0],
        "free": [4, 6, 0],
        "cpu": [4000, 3500, 4000],
        "pods": [0, 1, 0],
        "room": [10, 9, 10],
        "none": [0, 0, 0],
    }
    assert seen["repr"] == "<3 Nodes>"
    assert (seen["size"], seen["last"], seen["index"]) == (3, "c", "b")
    assert seen["names"] == seen["loop"] == seen["all"] == ["a", "b", "c"]
    assert seen["zone"] == ["z1", "z2", None]


def test_nodes_are_those_that_fit(some):
    seen = {}

    class Look:
        name = "Look"

        def filter_nodes(self, cycle, nodes):
            seen["filter"] = nodes.names
            return [name != "b" for name in nodes.names]

        def pre_score(self, cycle, nodes):
            seen["pre_score"] = nodes.names

        def score_nodes(self, cycle, nodes):
            seen["score"] = (nodes.names, nodes.free(GPU).tolist(), cycle.nodes.names)
            return np.zeros(len(nodes))

        def normalize(self, cycle, nodes, scores):
            seen["normalize"] = nodes.names
            return scores

    explain(some, Look())
    assert seen == {
        "filter": ["a", "b", "c"],
        "pre_score": ["a", "c"],
        "score": (["a", "c"], [4, 0], ["a", "b", "c"]),
        "normalize": ["a", "c"],
    }


def test_one_node(some):
    seen = []

    class Look:
        name = "Look"

        def filter(self, cycle, node):
            if node.name == "b":
                seen.append(
                    (
                        repr(node),
                        node.labels[ZONE],
                        node.annotations,
                        node.pods,
                        node.allocatable(GPU),
                        node.requested(GPU),
                        node.free(GPU),
                        node.free("cpu"),
                        node.requested("pods"),
                        node.free("pods"),
                    )
                )

    explain(some, Look())
    assert seen == [("<Node b>", "z2", {}, ["ml/there"], 8, 2, 6, 3500, 1, 9)]


def test_pod(some):
    seen = []

    class Look:
        name = "Look"

        def pre_enqueue(self, pod):
            seen.append((pod.full_name, pod.requests, pod.request(GPU), pod.request("no/such")))

        def pre_filter(self, cycle):
            seen.append((repr(cycle), cycle.pod.requests, cycle.pod.labels))
            self.kept = cycle.pod

    some.apply(pod("new", cpu=1, memory="1Gi", gpu=3))
    look = Look()
    requests = {"cpu": 1000, "memory": 2**30, GPU: 3}
    want = [("ml/new", requests, 3, 0), ("<Cycle for ml/new>", requests, {})]
    scheduler = Scheduler(plugins=[look])
    for call in (
        scheduler.explain,
        scheduler.schedule,
        scheduler.schedule_one,
        lambda cluster, pod: scheduler.place(cluster),
        lambda cluster, pod: scheduler.fit(cluster, pod, 1),
    ):
        seen.clear()
        fork = some.fork()
        fork.delete_pod("ml/other")
        call(fork, "ml/new")
        got = [tuple(str(x).replace("new#0", "new") for x in entry) for entry in seen]
        assert got == [tuple(map(str, entry)) for entry in want]
        assert look.kept.request(GPU) == 3  # pods may be kept


def test_pre_enqueue(some):
    mine = plugin(pre_enqueue=lambda self, pod: "not yet" if pod.name == "new" else None)
    explanation = explain(some, mine)
    assert (explanation.status.message, explanation.status.plugin) == ("not yet", "Mine")
    assert explanation.diagnosis.table() == []
    placements = Scheduler(plugins=[mine]).place(some)
    assert [(p.pod, p.status.message) for p in placements if not p.node] == [("ml/new", "not yet")]


def test_pre_filter(some):
    seen = []

    class Subset:
        name = "Subset"
        answer = frozenset({"a", "c", "unknown"})

        def pre_filter(self, cycle):
            return self.answer

        def filter_nodes(self, cycle, nodes):
            seen.extend(nodes.names)
            return np.ones(len(nodes), dtype=bool)

    subset = Subset()
    assert explain(some, subset).feasible == ["a", "c"]
    assert seen == ["a", "c"]
    subset.answer = None
    assert explain(some, subset).feasible == ["a", "b", "c"]
    subset.answer = "no luck"
    explanation = explain(some, subset)
    assert explanation.status.message == "0/3 nodes are available: no luck."
    assert explanation.diagnosis.status("a").plugin == "Subset"
    subset.answer = set()
    explanation = explain(some, subset)
    assert explanation.feasible == []
    assert explanation.status.message == (
        "0/3 nodes are available: node(s) didn't satisfy plugin Subset."
    )


def test_pre_score_can_leave_out_the_score(some):
    class Sometimes:
        name = "Sometimes"
        answer = None

        def pre_score(self, cycle, nodes):
            return self.answer

        def score(self, cycle, node):
            return 1

    sometimes = Sometimes()
    assert "Sometimes" in explain(some, sometimes).scores.plugins
    sometimes.answer = False
    assert "Sometimes" not in explain(some, sometimes).scores.plugins


def test_normalize(some):
    class Share:
        name = "Share"
        weight = 2

        def score_nodes(self, cycle, nodes):
            return nodes.free(GPU) * 1000

        def normalize(self, cycle, nodes, scores):
            assert scores.flags.writeable
            return 100 * scores / max(scores.max(), 1)

    scores = explain(some, Share()).scores
    row = scores.plugins.index("Share")
    assert scores.raw[row].tolist() == [4000, 6000, 0]
    assert scores.normalized[row].tolist() == [66, 100, 0]
    assert scores.weighted[row].tolist() == [132, 200, 0]


def test_batch_is_preferred(some):
    class Both:
        name = "Both"

        def filter(self, cycle, node):
            raise AssertionError

        def filter_nodes(self, cycle, nodes):
            return np.ones(len(nodes), dtype=bool)

        def score(self, cycle, node):
            raise AssertionError

        def score_nodes(self, cycle, nodes):
            return np.ones(len(nodes))

    assert explain(some, Both()).feasible == ["a", "b", "c"]


def test_filters_get_blocks():
    big = cluster(*(node(f"n{i:04d}") for i in range(2500)), pod("new"))
    sizes = []

    class Blocks:
        name = "Blocks"

        def filter_nodes(self, cycle, nodes):
            assert len(cycle.nodes) == 2500
            sizes.append(len(nodes))
            return np.ones(len(nodes), dtype=bool)

        def score_nodes(self, cycle, nodes):
            sizes.append(len(nodes))
            return np.zeros(len(nodes))

    for threads in (1, 2):
        sizes.clear()
        explain(big, Blocks(), threads=threads, grain_rows=1)
        assert sizes == [1024, 1024, 452, 2500]


def test_many_reasons(some):
    """Reasons that differ from pod to pod are told apart, and not mixed up with earlier ones."""

    class Talkative:
        name = "Talkative"

        def filter(self, cycle, node):
            return f"{cycle.pod.name} is not for {node.name}"

    scheduler = Scheduler(plugins=[Talkative()])
    for name in ("new", "other", "new"):
        diagnosis = scheduler.explain(some, f"ml/{name}").diagnosis
        assert [row[3] for row in diagnosis.table()] == [[f"{name} is not for {n}"] for n in "abc"]


# --- beside the built-in ones


def test_enabled_at_every_point_it_has(some):
    class Several(Plugin):
        name = "Several"
        weight = 4

        def filter(self, cycle, node):
            return None

        def score(self, cycle, node):
            return 1

        def reserve(self, cycle, node):
            return None

    scheduler = Scheduler([Profile("a"), Profile("b")], plugins=[Several()])
    for profile in ("a", "b"):
        points = scheduler.plugins(profile)
        having = {point for point, plugins in points.items() if ("Several") in dict(plugins)}
        assert having == {"Filter", "Score", "Reserve"}
        assert dict(points["Score"])["Several"] == 4


def test_profile_decides(some):
    mine = plugin(score=lambda self, cycle, node: 1, weight=3)
    scheduler = Scheduler([Profile("a").enable("Mine", weight=7), Profile("b")], plugins=[mine])
    assert dict(scheduler.plugins("a")["Score"])["Mine"] == 7
    assert "Mine" not in dict(scheduler.plugins("b")["Score"])
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    assert dict(Scheduler(config, plugins=[mine]).plugins()["Score"])["Mine"] == 3
    only = Scheduler(Profile.only("NodeResourcesFit"), plugins=[mine])
    assert only.plugins()["Score"] == [("NodeResourcesFit", 1), ("Mine", 3)]


def test_order_and_mixing(some):
    """Python filters run behind the built-in ones; the first rejection counts."""
    mine = plugin(filter=lambda self, cycle, node: "mine")
    some.apply(pod("new", cpu=100))
    assert explain(some, mine).diagnosis.reasons == [("Insufficient cpu", 3)]
    first = Profile().enable("Mine", point="filter").disable("NodeResourcesFit", point="filter")
    first = first.enable("NodeResourcesFit", point="filter")
    assert explain(some, mine, first).diagnosis.plugins == {"Mine"}


def test_two_plugins(some):
    one = plugin("One", score=lambda self, cycle, node: 1)
    two = plugin("Two", score=lambda self, cycle, node: 2, filter=lambda s, c, n: n.name != "a")
    scores = Scheduler(plugins=[one, two]).explain(some, "ml/new").scores
    assert scores.plugins[-2:] == ["One", "Two"]
    assert scores.raw[-2:].tolist() == [[1, 1], [2, 2]]


def test_same_results_with_threads():
    class Pack(Plugin):
        name = "Pack"

        def filter_nodes(self, cycle, nodes):
            return nodes.free(GPU) != 5

        def score_nodes(self, cycle, nodes):
            return 100 - 10 * nodes.free(GPU)

    start = Cluster.parse(training_cluster(100, 60, gpus=3))
    results = []
    for threads in (1, 2, 8):
        for mode in ("parallel", "synchronous"):
            scheduler = Scheduler(plugins=[Pack()], threads=threads, grain_rows=1, normalize=mode)
            results.append([p.node for p in scheduler.place(start.fork())])
    assert all(result == results[0] for result in results)
    assert results[0].count("gpu-00000") == 1


def test_plugin_keeps_no_reference_behind(some):
    import gc
    import weakref

    mine = plugin(score=lambda self, cycle, node: 1)
    gone = weakref.ref(mine)
    scheduler = Scheduler(plugins=[mine])
    scheduler.explain(some, "ml/new")
    del mine
    gc.collect()
    assert gone() is not None
    del scheduler
    gc.collect()
    assert gone() is None


# --- what goes wrong


class BrokenError(Exception):
    pass


def fail(*_):
    raise BrokenError("in a plugin")


POINTS = [
    "pre_enqueue",
    "pre_filter",
    "filter",
    "filter_nodes",
    "pre_score",
    "score",
    "score_nodes",
    "reserve",
    "permit",
    "pre_bind",
    "bind",
]


def binding_profile(point):
    """The built-in Bind plugin comes first and leaves nothing to do."""
    profile = Profile().enable("Mine")
    return profile.disable("DefaultBinder") if point == "bind" else profile


@pytest.mark.parametrize("point", POINTS)
def test_exceptions_come_unchanged(some, point):
    mine = plugin(**{point: fail})
    scheduler = Scheduler(binding_profile(point), plugins=[mine])
    before = state(some)
    calls = [scheduler.schedule_one, lambda cluster, pod: scheduler.place(cluster)]
    if point not in ("reserve", "permit", "pre_bind", "bind"):
        calls += [scheduler.explain, scheduler.schedule, scheduler.fit]
    for call in calls:
        with pytest.raises(BrokenError, match=r"^in a plugin$") as error:
            call(some, "ml/new")
        assert error.traceback[-1].name == "fail"
        assert state(some) == before


@pytest.mark.parametrize("point", POINTS)
def test_exception_in_the_middle_of_many_pods(point):
    """The pods before stay, the failing one and those behind wait, and all goes on after that."""
    start = Cluster.parse(training_cluster(8, 12))

    def sometimes(self, cycle_or_pod, *rest):
        failing = getattr(cycle_or_pod, "pod", cycle_or_pod).name == "train-000005"
        if failing and self.broken:
            raise BrokenError
        if point in ("filter_nodes", "score_nodes"):
            return np.ones(len(rest[0]), dtype=bool)
        return 1 if point == "score" else None

    mine = plugin(broken=True, **{point: sometimes})
    scheduler = Scheduler(binding_profile(point), plugins=[mine])
    with pytest.raises(BrokenError):
        scheduler.place(start)
    assert start.pending == [f"ml/train-{i:06d}" for i in range(5, 12)]

    same = Cluster.parse(training_cluster(8, 12))
    quiet = plugin(**{point: sometimes}, broken=False)
    others = Scheduler(binding_profile(point), plugins=[quiet])
    for i in range(5):
        others.schedule_one(same, f"ml/train-{i:06d}")
    # Another cluster's generations are other numbers.
    assert state(start)[:-1] == state(same)[:-1]

    mine.broken = False
    assert scheduler.place(start).placed == 7


def test_post_bind_is_too_late(some):
    mine = plugin(post_bind=fail)
    with pytest.raises(BrokenError):
        Scheduler(plugins=[mine]).schedule_one(some, "ml/new")
    assert some.node_of("ml/new") is not None
    assert some.pending == ["ml/other"]


def test_interrupt_in_a_plugin(some):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = state(some)
    with pytest.raises(KeyboardInterrupt):
        Scheduler(plugins=[plugin(filter=interrupt)]).place(some)
    assert state(some) == before


ONE_VALUE_A_NODE = r"must return one value a node: an array of shape (3,), not "


@pytest.mark.parametrize(
    ("point", "answer", "kind", "message"),
    [
        ("pre_enqueue", 1, TypeError, "must return None, a bool, or a reason, not 1"),
        ("filter", 1, TypeError, "must return None, a bool, or a reason, not 1"),
        ("filter", ["a"], TypeError, "must return None, a bool, or a reason, not ['a']"),
        ("filter_nodes", None, TypeError, "must return booleans, not None"),
        ("filter_nodes", [0, 1, 1], TypeError, "must return booleans, not an array of int64"),
        ("filter_nodes", ["a", "b", "c"], TypeError, "must return booleans, not an array of <U1"),
        ("filter_nodes", [True], ValueError, ONE_VALUE_A_NODE + "(1,)"),
        ("filter_nodes", True, ValueError, ONE_VALUE_A_NODE + "()"),
        ("filter_nodes", [[True]] * 3, ValueError, ONE_VALUE_A_NODE + "(3, 1)"),
        (
            "pre_filter",
            True,
            TypeError,
            "must return None, a reason, or a set of node names, not True",
        ),
        (
            "pre_filter",
            {1, 2},
            TypeError,
            "must return None, a reason, or a set of node names, not {1, 2}",
        ),
        ("pre_score", True, TypeError, "must return None, or False to skip scoring, not True"),
        ("score", None, TypeError, "must return a number, not None"),
        ("score", "5", TypeError, "must return a number, not '5'"),
        ("score", 1j, TypeError, "must return a number, not 1j"),
        ("score", float("nan"), TypeError, "must return a finite number, not nan"),
        ("score", np.float32("inf"), TypeError, "must return a finite number, not np.float32(inf)"),
        ("score_nodes", None, TypeError, "must return numbers, not None"),
        ("score_nodes", ["a"] * 3, TypeError, "must return numbers, not an array of <U1"),
        ("score_nodes", [None] * 3, TypeError, "must return numbers, not an array of object"),
        ("score_nodes", [1j] * 3, TypeError, "must return numbers, not an array of complex128"),
        ("score_nodes", [1, 2], ValueError, ONE_VALUE_A_NODE + "(2,)"),
        ("score_nodes", 1, ValueError, ONE_VALUE_A_NODE + "()"),
        ("score_nodes", [1, 2, np.nan], ValueError, "must return finite numbers"),
        ("score_nodes", [1, 2, np.inf], ValueError, "must return finite numbers"),
        ("normalize", None, TypeError, "must return numbers, not None"),
        ("normalize", [1], ValueError, ONE_VALUE_A_NODE + "(1,)"),
        ("normalize", [1, 2, np.nan], ValueError, "must return finite numbers"),
        ("reserve", 0, TypeError, "must return None, a bool, or a reason, not 0"),
        ("permit", 0, TypeError, "must return None, a bool, or a reason, not 0"),
        ("pre_bind", 0, TypeError, "must return None, a bool, or a reason, not 0"),
        ("bind", b"Skip", TypeError, "must return None, a bool, or a reason, not b'Skip'"),
    ],
)
def test_wrong_answers(some, point, answer, kind, message):
    members = {point: lambda *_: answer}
    if point == "normalize":
        members["score"] = lambda *_: 0
    scheduler = Scheduler(binding_profile(point), plugins=[plugin(**members)])
    before = state(some)
    with pytest.raises(kind) as error:
        scheduler.schedule_one(some, "ml/new")
    assert str(error.value) == f"Mine.{point}() {message}"
    assert state(some) == before


OUT_OF_RANGE = (
    'plugin "Mine" returns an invalid score {} for node {}, it should be in the range of [0, 100] '
    "after normalizing"
)


@pytest.mark.parametrize(
    ("members", "score", "name"),
    [
        ({"score": lambda s, c, n: 101 if n.name == "b" else 0}, 101, "b"),
        ({"score": lambda *_: -1}, -1, "a"),
        ({"score": lambda *_: 2**70}, 2**62, "a"),
        ({"score": lambda *_: -(2**70)}, -(2**62), "a"),
        ({"score": lambda *_: 1e300}, 2**62, "a"),
        ({"score_nodes": lambda *_: [0, 100, 101.5]}, 101, "c"),
        ({"score_nodes": lambda *_: [0, -1e300, 0]}, -(2**62), "b"),
        ({"score_nodes": lambda *_: np.array([0, 2**64 - 1, 0], dtype=np.uint64)}, 2**62, "b"),
        ({"score": lambda *_: 50, "normalize": lambda *_: [0, 0, 1000]}, 1000, "c"),
    ],
)
def test_scores_out_of_range(some, members, score, name):
    scheduler = Scheduler(plugins=[plugin(**members)])
    before = state(some)
    for call in (scheduler.explain, scheduler.schedule, scheduler.schedule_one, scheduler.fit):
        with pytest.raises(schedfw.PluginError) as error:
            call(some, "ml/new")
        assert str(error.value) == OUT_OF_RANGE.format(score, name)
    assert state(some) == before


@pytest.mark.parametrize("call", ["place", "place_timed"])
def test_place_ends_where_a_plugin_fails(call):
    start = Cluster.parse(training_cluster(8, 12))
    asked = []

    class Bad:
        name = "Bad"

        def score(self, cycle, node):
            asked.append(cycle.pod.name)
            return 500 if cycle.pod.name == "train-000003" else 0

    with pytest.raises(schedfw.PluginError):
        getattr(Scheduler(plugins=[Bad()]), call)(start)
    assert asked[-1] == "train-000003"
    assert len(start.pending) == 9


def test_views_end_with_the_call(some):
    kept = {}

    class Keep:
        name = "Keep"

        def filter(self, cycle, node):
            kept.update(cycle=cycle, node=node)

        def score_nodes(self, cycle, nodes):
            kept.update(nodes=nodes, inner=nodes[0], column=nodes.free(GPU), pod=cycle.pod)
            return np.zeros(len(nodes))

    explain(some, Keep())
    stale = "this object was valid only while the plugin was called; copy what you need"
    for use in (
        lambda: kept["cycle"].pod,
        lambda: kept["cycle"].nodes,
        lambda: kept["node"].name,
        lambda: kept["node"].labels,
        lambda: kept["node"].pods,
        lambda: kept["node"].free("cpu"),
        lambda: kept["inner"].allocatable("cpu"),
        lambda: kept["nodes"].names,
        lambda: kept["nodes"].free("cpu"),
        lambda: kept["nodes"].label(ZONE),
        lambda: kept["nodes"].pod_count,
        lambda: kept["nodes"][0].name,
        lambda: [n.name for n in kept["nodes"]],
    ):
        with pytest.raises(schedfw.Error) as error:
            use()
        assert str(error.value) == stale
    assert [repr(kept[key]) for key in ("cycle", "node", "nodes")] == [
        "<Cycle of an earlier call>",
        "<Node of an earlier call>",
        "<Nodes of an earlier call>",
    ]
    assert kept["column"].tolist() == [4, 6, 0]
    assert kept["pod"].full_name == "ml/new"


def test_views_end_with_a_call_that_fails(some):
    kept = []

    def keep(self, cycle, node):
        kept.append(node)
        raise BrokenError

    with pytest.raises(BrokenError):
        explain(some, plugin(filter=keep))
    with pytest.raises(schedfw.Error):
        _ = kept[0].name


def test_plugins_do_not_change_the_cluster(some):
    def change(self, cycle, node):
        some.delete_node("a")

    scheduler = Scheduler(plugins=[plugin(filter=change)])
    before = state(some)
    with pytest.raises(schedfw.Error) as error:
        scheduler.place(some)
    assert str(error.value) == (
        "pods are being placed on this cluster; it can be changed when that is done"
    )
    assert state(some) == before


def test_plugins_may_look_at_the_cluster(some):
    seen = []

    def look(self, cycle, node):
        seen.append((some.node_of("ml/there"), some.requested(GPU).tolist()))
        other = Scheduler().explain(some.fork(), "ml/other")
        seen.append(other.feasible)

    assert Scheduler(plugins=[plugin(filter=look)]).place(some).placed == 2
    assert seen[:2] == [("b", [0, 2, 0]), ["a", "b", "c"]]


def test_plugins_can_not_use_their_scheduler(some):
    class Recursive:
        name = "Recursive"

        def filter(self, cycle, node):
            return scheduler.explain(some, "ml/other")

    scheduler = Scheduler(plugins=[Recursive()])
    with pytest.raises(schedfw.Error) as error:
        scheduler.explain(some, "ml/new")
    assert str(error.value) == "this Scheduler is in the middle of a call; use another one"


class NoMethods:
    name = "NoMethods"


METHODS = (
    "pre_enqueue, pre_filter, filter, filter_nodes, pre_score, score, score_nodes, reserve, "
    "permit, pre_bind, bind, post_bind"
)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            type("Nameless", (), {"score": fail})(),
            "a plugin needs a name: set the attribute `name` of Nameless",
        ),
        (
            type("Nameless", (Plugin,), {"score": fail})(),
            "a plugin needs a name: set the attribute `name` of Nameless",
        ),
        (plugin("", score=fail), "a plugin needs a name: set the attribute `name` of Made"),
        (plugin(7, score=fail), "a plugin needs a name: set the attribute `name` of Made"),
        (
            NoMethods(),
            f'plugin "NoMethods" has no method of an extension point ({METHODS})',
        ),
        (
            plugin(normalize=fail, filter=fail),
            'plugin "Mine" has normalize but no score or score_nodes, so it would never be called',
        ),
        (
            plugin(unreserve=fail, filter=fail),
            'plugin "Mine" has unreserve but no reserve, so it would never be called',
        ),
        (
            NoMethods,
            "a plugin is an object, not a class: give NoMethods() instead of NoMethods",
        ),
    ],
)
def test_what_is_no_plugin(what, message):
    for make in (lambda: Scheduler(plugins=[what]), lambda: schedfw.describe_plugins(what)):
        with pytest.raises(TypeError) as error:
            make()
        assert str(error.value) == message


def test_names_are_taken_once():
    for first, second in (("Mine", "Mine"), ("NodeName", "Other")):
        with pytest.raises(schedfw.Error) as error:
            Scheduler(plugins=[plugin(first, score=fail), plugin(second, score=fail)])
        assert str(error.value) == f'plugin "{first}" is registered already'


def test_wrong_weights(some):
    for weight, message in ((-1, "weight -1 is not allowed"), (2.5, "weight: expected an integer")):
        with pytest.raises(schedfw.ConfigError, match=message):
            Scheduler(plugins=[plugin(score=fail, weight=weight)])


def test_describe_plugins():
    class Documented:
        """
        Says what it does.

        And more.
        """

        name = "Documented"

        def filter(self, cycle, node):
            return None

    plugins = schedfw.describe_plugins(Documented())
    assert plugins[-1] == {
        "name": "Documented",
        "help": "Says what it does.",
        "points": ["Filter"],
        "args": [],
        "effect": True,
    }
    by_name = {p["name"]: p for p in plugins}
    assert by_name["NodeResourcesFit"]["effect"]
    assert not by_name["VolumeBinding"]["effect"]
    (strategy,) = (
        arg for arg in by_name["NodeResourcesFit"]["args"] if arg["name"] == "scoringStrategy.type"
    )
    assert strategy["allowed"] == "LeastAllocated, MostAllocated, RequestedToCapacityRatio"
    for described in plugins[:-1]:
        assert set(described) == {"name", "help", "points", "args", "effect"}
        assert described["help"]
        assert described["points"] or not described["effect"]
