"""Recorded answers of kube-scheduler through the Python package, with any number of threads."""

import hashlib
import json

import pytest

import schedfw
from schedfw import Cluster, Scheduler
from support import VECTORS, config_of, run_python, same_scores, vectors

THREADS = (1, 2, 8)
WITHOUT_EFFECT = {
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "DynamicResources",
    "NodeDeclaredFeatures",
}


@pytest.mark.parametrize("folder", vectors("explain"), ids=lambda folder: folder.name)
def test_explain(folder):
    cluster = Cluster.load(folder / "cluster.json")
    schedulers = [Scheduler(config_of(folder), threads=t, grain_rows=1) for t in THREADS]
    for want in json.loads((folder / "expected.json").read_text()):
        first, *others = [scheduler.explain(cluster, want["pod"]) for scheduler in schedulers]
        assert first.feasible == want.get("feasible", [])
        assert first.best == want.get("best", [])
        scores = first.scores
        for part in ("raw", "weighted"):
            array = getattr(scores, part)
            got = {
                plugin: dict(zip(scores.nodes, array[i].tolist(), strict=True))
                for i, plugin in enumerate(scores.plugins)
            }
            assert got == want.get(part, {})
        total = dict(zip(scores.nodes, scores.total.tolist(), strict=True))
        assert total == want.get("total", {})
        for node, status in (want.get("filter") or {}).items():
            got = first.diagnosis.status(node)
            assert (got.code, got.plugin) == (status["code"], status["plugin"])
            assert sorted(got.reasons) == sorted(status["reasons"])
        for other in others:
            assert same_scores(first.scores, other.scores)
            assert first.diagnosis.table() == other.diagnosis.table()
            assert first.to_json() == other.to_json()


@pytest.mark.parametrize("folder", vectors("preempt"), ids=lambda folder: folder.name)
def test_preempt(folder):
    cluster = Cluster.load(folder / "cluster.json")
    schedulers = [Scheduler(config_of(folder), threads=t, grain_rows=1) for t in THREADS]
    for want in json.loads((folder / "expected.json").read_text()):
        first, *others = [s.explain(cluster, want["pod"], preempt=True) for s in schedulers]
        assert first.feasible == want.get("feasible", [])
        recorded = want.get("preemption")
        assert (first.preemption is None) == (recorded is None)
        if recorded is not None:
            got = first.preemption
            assert got.status.code == recorded["code"]
            assert got.status.reasons == recorded.get("reasons", [])
            assert got.nominated_node == recorded.get("nominatedNode")
            assert sorted(v.pod for v in got.victims) == recorded.get("victims", [])
        for other in others:
            assert first.to_json() == other.to_json()


@pytest.mark.parametrize("folder", vectors("cycle"), ids=lambda folder: folder.name)
def test_sampling(folder):
    cluster = Cluster.load(folder / "cluster.json")
    scheduler = Scheduler(config_of(folder), nodes_to_score="configured")
    placements = [scheduler.schedule(cluster, pod) for pod in cluster.pending]
    got = [{"pod": p.pod, "evaluated": p.evaluated, "feasible": p.feasible} for p in placements]
    assert got == json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("folder", vectors("place"), ids=lambda folder: folder.name)
def test_place(folder):
    want = json.loads((folder / "expected.json").read_text())
    for threads in THREADS:
        cluster = Cluster.load(folder / "cluster.json")
        scheduler = Scheduler(config_of(folder), threads=threads, grain_rows=1)
        assert [[p.pod, p.node or ""] for p in scheduler.place(cluster)] == want


@pytest.mark.parametrize("folder", vectors("loop"), ids=lambda folder: folder.name)
def test_loop(folder):
    want = json.loads((folder / "expected.json").read_text())
    runs = []
    for threads in THREADS:
        cluster = Cluster.load(folder / "cluster.json")
        scheduler = Scheduler(config_of(folder), threads=threads, grain_rows=1, pod_groups=True)
        runs.append(scheduler.run(cluster))
    assert runs[0].bound == sorted(want["bound"])
    assert runs[0].deleted == sorted(want["deleted"])
    assert list(runs[0].pending) == sorted(want["pending"])
    assert runs[1:] == runs[:1] * 2


def configs(refused):
    return [
        folder
        for folder in sorted(VECTORS.glob("config-*"))
        if ("error" in json.loads((folder / "expected.json").read_text())) == refused
    ]


@pytest.mark.parametrize("folder", configs(refused=True), ids=lambda folder: folder.name)
def test_refused_configurations(folder):
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler(folder / "config.yaml")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("folder", configs(refused=False), ids=lambda folder: folder.name)
def test_accepted_configurations(folder):
    want = json.loads((folder / "expected.json").read_text())
    scheduler = Scheduler(folder / "config.yaml")
    assert sorted(scheduler.profiles) == sorted(want)
    for profile, points in want.items():
        plugins = scheduler.plugins(profile)
        for point, entries in points.items():
            if point not in plugins:
                assert compared(point, entries) == []  # a point that this library doesn't have
                continue
            got = [
                f"{name}:{weight}" if point == "Score" else name for name, weight in plugins[point]
            ]
            assert compared(point, got) == compared(point, entries)


def compared(point, entries):
    """Leave out plugins that may be known by name only."""
    left_out = WITHOUT_EFFECT | ({"DefaultPreemption"} if point == "PreEnqueue" else set())
    return [entry for entry in entries if entry.split(":")[0] not in left_out]


MANY_NODES = """
import hashlib, sys
import schedfw
from schedfw.workloads import training_cluster

cluster = schedfw.Cluster.parse(training_cluster(3000, 120, gpus=3, zones=7))
scheduler = schedfw.Scheduler(threads=int(sys.argv[1]), grain_rows=int(sys.argv[2]))
out = hashlib.sha256()
for round in range(3):
    for name in cluster.pending[:20]:
        scores = scheduler.explain(cluster, name).scores
        for array in (scores.raw, scores.normalized, scores.weighted, scores.total):
            out.update(array.tobytes())
    for name in cluster.pending[:40]:
        out.update(scheduler.schedule_one(cluster, name).node.encode())
print(out.hexdigest())
"""


def test_many_nodes_on_eight_threads():
    runs = [run_python(MANY_NODES, *args) for args in (("1", "512"), ("8", "1"), ("8", "100"))]
    assert [run.stderr for run in runs] == [""] * 3
    assert len({run.stdout for run in runs}) == 1
    assert len(runs[0].stdout) == len(hashlib.sha256().hexdigest()) + 1
