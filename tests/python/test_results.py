import gc
import json
import weakref

import numpy as np
import pytest

import schedfw
from schedfw import Profile, Quantity, Scheduler
from support import GPU, cluster, node, pod

PARTS = ("raw", "normalized", "weighted")


@pytest.fixture
def some():
    return cluster(
        node("big", cpu=8, zone="z1"),
        node("full", cpu=2),
        node("small", cpu=4, zone="z2"),
        pod("there", on="full", cpu=1),
        pod("new", cpu=2),
        pod("huge", cpu=100),
        pod("gated", spec={"schedulingGates": [{"name": "wait"}]}),
    )


@pytest.fixture
def explanation(some):
    return Scheduler().explain(some, "ml/new")


def test_explanation(explanation):
    assert explanation.pod == "ml/new"
    assert explanation.profile == "default-scheduler"
    assert explanation.status
    assert explanation.status.code == "Success"
    assert explanation.feasible == ["big", "small"]
    assert explanation.best == ["big"]
    assert repr(explanation) == "<Explanation of ml/new: 2 of 3 nodes fit>"
    tree = json.loads(explanation.to_json())
    assert (tree["pod"], tree["feasible"], tree["best"]) == ("ml/new", ["big", "small"], ["big"])


def test_scores(explanation):
    scores = explanation.scores
    assert scores.plugins == [
        "TaintToleration",
        "NodeResourcesFit",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
    ]
    assert scores.nodes == ["big", "small"]
    assert scores.weights.tolist() == [3, 1, 1, 1]
    for part in PARTS:
        array = getattr(scores, part)
        assert array.shape == (4, 2)
        assert array.dtype == np.int64
    # LeastAllocated: the mean of the free shares of cpu and memory, of which a container that asks
    # for none counts with 200 MB.
    assert scores.raw[1].tolist() == [(75 + 97) // 2, (50 + 97) // 2]
    assert scores.raw[0].tolist() == [0, 0]
    assert scores.normalized[0].tolist() == [100, 100]
    assert (scores.weighted == scores.normalized * scores.weights[:, None]).all()
    assert (scores.total == scores.weighted.sum(axis=0)).all()
    assert scores.nodes[scores.total.argmax()] == explanation.best[0]
    assert repr(scores) == "<Scores of 4 plugins × 2 nodes>"


def test_scores_are_views(explanation):
    for part in (*PARTS, "weights", "total"):
        first, second = (getattr(explanation.scores, part) for _ in range(2))
        assert np.shares_memory(first, second)
        assert not first.flags.owndata
        assert not first.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            first[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            first.setflags(write=True)


def test_scores_outlive_the_result(some):
    explanation = Scheduler().explain(some, "ml/new")
    array = explanation.scores.weighted[1:, ::-1]
    copy = array.copy()
    scores = weakref.ref(explanation.scores)
    del explanation, some
    gc.collect()
    assert scores() is not None
    junk = [np.full(copy.size, -1) for _ in range(1000)]
    assert (array == copy).all()
    del array, junk
    gc.collect()
    assert scores() is None


def test_scores_to_pandas(explanation):
    for part in PARTS:
        frame = explanation.scores.to_pandas(part)
        assert (frame.to_numpy() == getattr(explanation.scores, part).T).all()
        assert list(frame.columns) == explanation.scores.plugins
        assert list(frame.index) == ["big", "small"]
        assert (frame.index.name, frame.columns.name) == ("node", "plugin")
        frame.iloc[0, 0] = 7  # a copy
    assert (explanation.scores.to_pandas() == explanation.scores.weighted.T).all(axis=None)
    with pytest.raises(schedfw.Error) as error:
        explanation.scores.to_pandas("total")
    assert str(error.value) == '"total" is no score (allowed: raw, normalized, weighted)'


def test_diagnosis(explanation):
    diagnosis = explanation.diagnosis
    assert diagnosis.message == "2/3 nodes are available: 1 Insufficient cpu."
    assert diagnosis.reasons == [("Insufficient cpu", 1)]
    assert diagnosis.plugins == {"NodeResourcesFit"}
    assert diagnosis.table() == [
        ("big", "Success", "", []),
        ("full", "Unschedulable", "NodeResourcesFit", ["Insufficient cpu"]),
        ("small", "Success", "", []),
    ]
    assert diagnosis.status("big")
    full = diagnosis.status("full")
    assert (full.code, full.plugin) == ("Unschedulable", "NodeResourcesFit")
    assert (full.reasons, full.message) == (["Insufficient cpu"], "Insufficient cpu")
    assert repr(full) == "<Status Unschedulable by NodeResourcesFit: Insufficient cpu>"
    assert repr(diagnosis.status("big")) == "<Status Success>"
    assert repr(diagnosis) == "<Diagnosis: 2/3 nodes are available: 1 Insufficient cpu.>"
    with pytest.raises(schedfw.Error) as error:
        diagnosis.status("none")
    assert str(error.value) == "there is no Node none"


def test_diagnosis_to_pandas(explanation):
    frame = explanation.diagnosis.to_pandas()
    assert list(frame.columns) == ["code", "plugin", "reasons"]
    assert frame.index.name == "node"
    assert frame.loc["full", "reasons"] == ["Insufficient cpu"]
    assert frame["code"].tolist() == ["Success", "Unschedulable", "Success"]


def test_diagnosis_when_nothing_fits(some):
    explanation = Scheduler().explain(some, "ml/huge")
    message = "0/3 nodes are available: 3 Insufficient cpu."
    assert explanation.status.message == explanation.diagnosis.message == message
    assert (explanation.feasible, explanation.best) == ([], [])
    assert explanation.scores.raw.shape == (0, 0)
    assert explanation.scores.to_pandas().shape == (0, 0)
    assert not explanation.status


def test_diagnosis_when_the_whole_pod_is_rejected():
    lost = {"nodeSelector": {"disk": "ssd"}}
    fields = [{"key": "metadata.name", "operator": "In", "values": ["x"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    name = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    some = cluster(
        node("a"),
        node("b"),
        pod("selector", spec=lost),
        pod("name", spec={"affinity": {"nodeAffinity": name}}),
    )
    explanation = Scheduler().explain(some, "ml/selector")
    reason = "node(s) didn't match Pod's node affinity/selector"
    assert explanation.diagnosis.reasons == [(reason, 2)]
    explanation = Scheduler().explain(some, "ml/name")
    assert len(explanation.diagnosis.table()) == 2
    assert {row[1] for row in explanation.diagnosis.table()} == {"UnschedulableAndUnresolvable"}
    assert explanation.diagnosis.status("a").code == "UnschedulableAndUnresolvable"


def test_a_pod_that_is_not_looked_at(some):
    explanation = Scheduler().explain(some, "ml/gated")
    message = "waiting for scheduling gates: [wait]"
    assert (explanation.status.message, explanation.status.plugin) == (message, "SchedulingGates")
    assert repr(explanation) == f"<Explanation of ml/gated: {message}>"
    diagnosis = explanation.diagnosis
    assert (diagnosis.message, diagnosis.table()) == ("", [])
    assert (diagnosis.reasons, diagnosis.plugins) == ([], set())
    assert diagnosis.to_pandas().shape == (0, 3)
    assert repr(diagnosis) == "<Diagnosis: no node was looked at>"
    with pytest.raises(schedfw.Error) as error:
        diagnosis.status("big")
    assert str(error.value) == "no node was looked at, so there is no status of big"
    other = Scheduler(Profile("other")).explain(some, "ml/new")
    assert other.diagnosis.table() == []
    assert json.loads(other.to_json())["preFilter"]["code"] == "NoProfile"


def test_rows_after_a_node_is_gone(some):
    some.delete_node("big")
    some.apply(node("another", cpu=16))
    explanation = Scheduler().explain(some, "ml/new")
    assert some.nodes == ["small", "full", "another"]
    assert explanation.scores.nodes == ["small", "another"]
    assert explanation.feasible == ["another", "small"]
    assert [row[0] for row in explanation.diagnosis.table()] == ["another", "full", "small"]
    assert explanation.diagnosis.status("full").message == "Insufficient cpu"


def test_results_stay_when_the_cluster_changes(some, explanation):
    table = explanation.diagnosis.table()
    some.delete_node("big")
    some.delete_node("small")
    assert explanation.feasible == ["big", "small"]
    assert explanation.diagnosis.table() == table


def test_status_equality(explanation):
    first, second = (explanation.diagnosis.status(n) for n in ("full", "full"))
    assert first == second
    assert hash(first) == hash(second)
    assert first != explanation.diagnosis.status("big")
    assert first != "Unschedulable"
    assert (first == None) is False  # noqa: E711


def test_fit_diagnosis(some):
    fit = Scheduler().fit(some, "ml/new")
    assert (fit.count, fit.nodes) == (6, {"big": 4, "small": 2})
    assert [row[0] for row in fit.diagnosis.table()] == ["big", "full", "small"]


def test_placement_repr(some):
    placements = {p.pod: p for p in Scheduler().place(some)}
    assert repr(placements["ml/new"]) == "<Placement ml/new → big>"
    assert repr(placements["ml/gated"]) == (
        "<Placement ml/gated: waiting for scheduling gates: [wait]>"
    )


def test_quantity():
    assert [Quantity(t).value for t in ("1", "1.5Gi", "500m", "12e6", "-1")] == [
        1,
        3 * 2**29,
        1,
        12_000_000,
        -1,
    ]
    assert Quantity("0.5").milli_value == 500
    assert Quantity("9E").value == 9 * 10**18
    assert Quantity("9E").milli_value is None
    assert Quantity("1Ki") == Quantity("1024")
    assert hash(Quantity("1Ki")) == hash(Quantity("1024"))
    assert Quantity("1") < Quantity("1001m") <= Quantity("2")
    assert Quantity("2") > Quantity("1")
    assert Quantity("1") != 1
    with pytest.raises(TypeError):
        Quantity("1") < 1  # noqa: B015
    assert (str(Quantity("1500m")), repr(Quantity("1500m"))) == ("1500m", "Quantity('1500m')")
    with pytest.raises(schedfw.Error, match=r'^"1x" is not a quantity: unknown suffix "x"'):
        Quantity("1x")


def test_extended_resources():
    some = cluster(node("n", gpu=4), pod("p", gpu=3), pod("q", gpu=3))
    Scheduler().schedule_one(some, "ml/p")
    status = Scheduler().explain(some, "ml/q").diagnosis.status("n")
    assert status.reasons == [f"Insufficient {GPU}"]
