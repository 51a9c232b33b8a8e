"""Runs of the whole scheduler in virtual time."""

import json

import pytest

import schedfw
from schedfw import Cluster, Scheduler
from support import VECTORS, cluster, node, pod, state


def preempting():
    """Return a cluster where a pod has to preempt another, and a third one finds no room."""
    return cluster(
        node("n", cpu=2),
        pod("old", on="n", cpu=2),
        pod("new", cpu=1, spec={"priority": 5}),
        pod("huge", cpu=9),
        pod("gated", spec={"schedulingGates": [{"name": "a/b"}]}),
    )


def group(name, min_count, **spec):
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}, **spec},
    }


def member(name, of, **amounts):
    return pod(name, spec={"schedulingGroup": {"podGroupName": of}}, **amounts)


def test_fields():
    objects = preempting()
    result = Scheduler().run(objects)
    assert result.bound == ["ml/new"]
    assert result.deleted == ["ml/old"]
    assert list(result.pending) == ["ml/gated", "ml/huge"]
    assert result.pending["ml/gated"] == "waiting for scheduling gates: [a/b]"
    assert result.pending["ml/huge"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert result.attempts == 3  # new twice; huge in between
    assert result.duration_s == 0
    # The cluster is what the result says.
    assert objects.pods_on("n") == ["ml/new"]
    assert objects.pending == ["ml/huge", "ml/gated"]
    again = Scheduler().run(objects)
    assert (again.bound, again.deleted) == (["ml/new"], [])


def test_a_fork_keeps_yours():
    objects = preempting()
    before = state(objects)
    assert Scheduler().run(objects.fork()).deleted == ["ml/old"]
    assert state(objects) == before


def test_nothing_to_do():
    result = Scheduler().run(cluster(node("n"), pod("there", on="n")))
    assert (result.bound, result.deleted, result.pending) == (["ml/there"], [], {})
    assert (result.attempts, result.duration_s) == (0, 0)
    result = Scheduler().run(cluster(pod("alone")))
    assert result.pending == {"ml/alone": "no nodes available to schedule pods"}


def test_progress():
    seen = []
    objects = cluster(node("n", pods=100), *[pod(f"p{i}") for i in range(20)])
    result = Scheduler().run(objects, progress=lambda *call: seen.append(call))
    assert seen[0] == (0, 20)
    assert seen[-1] == (20, 20)
    assert seen == sorted(seen)
    assert len(result.bound) == 20


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_an_exception_in_progress_ends_the_run(kind):
    """As Ctrl-C would; nothing is left half-done, and the run may go on."""
    objects = preempting()

    def stop(bound, pods):
        raise kind

    before = state(objects)
    with pytest.raises(kind):
        Scheduler().run(objects, progress=stop)
    assert state(objects) == before
    assert Scheduler().run(objects).bound == ["ml/new"]


def test_progress_may_not_change_the_cluster():
    objects = preempting()
    with pytest.raises(schedfw.Error):
        Scheduler().run(objects, progress=lambda *_: objects.delete_pod("ml/old"))
    assert "ml/old" in objects.pods_on("n")


def test_groups_count_when_asked_for():
    def objects():
        return cluster(
            node("n", cpu=2),
            group("g", 3),
            *[member(name, "g", cpu=1) for name in "abc"],
            group("h", 2),
            member("x", "h", cpu=1),
        )

    together = Scheduler(pod_groups=True).run(objects())
    assert together.bound == []
    assert together.pending["ml/a"].startswith("0/1 placements are available")
    assert together.pending["ml/x"] == (
        "waiting for minCount pods from a gang to appear in scheduling queue"
    )
    alone = Scheduler().run(objects())
    assert alone.bound == ["ml/a", "ml/b"]


def test_a_group_without_its_object_waits():
    result = Scheduler(pod_groups=True).run(cluster(node("n"), member("a", "g")))
    assert result.pending == {"ml/a": 'waiting for pod group "g", which isn\'t there'}
    assert result.attempts == 0


@pytest.mark.parametrize(
    ("status_updates", "bound"),
    [
        ("on_failure", ["ml/solo0", "ml/solo1"]),  # as recorded
        ("at_once", ["ml/solo0", "ml/solo1", "ml/solo3"]),  # as with an API server
    ],
)
def test_status_updates(status_updates, bound):
    objects = Cluster.load(VECTORS / "loop-preempt-012/cluster.json")
    result = Scheduler(pod_groups=True).run(objects, status_updates=status_updates)
    assert result.bound == bound
    assert result.deleted == ["ml/old0", "ml/old1"]


def test_unknown_status_updates():
    with pytest.raises(schedfw.ConfigError) as error:
        Scheduler().run(cluster(node("n")), status_updates="later")
    assert str(error.value) == (
        'status_updates: "later" is not allowed (allowed: on_failure, at_once)'
    )


def test_a_run_does_not_depend_on_threads():
    folder = VECTORS / "loop-gangpreempt-000"
    runs = [
        Scheduler(pod_groups=True, threads=threads, grain_rows=1).run(
            Cluster.load(folder / "cluster.json")
        )
        for threads in (1, 8)
    ]
    assert runs[0] == runs[1]
    want = json.loads((folder / "expected.json").read_text())
    assert runs[0].bound == sorted(want["bound"])
