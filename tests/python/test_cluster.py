import copy
import gzip
import json
import pickle

import numpy as np
import pytest

import schedfw
from support import GPU, ZONE, cluster, node, pod, run_python, state

NODES = {
    "apiVersion": "v1",
    "kind": "NodeList",
    "items": [
        node("b", zone="z1", gpu=4),
        node("a", zone="z2", cpu="2500m", labels={"disk": "ssd"}),
        node("c"),
    ],
}
PODS = {
    "apiVersion": "v1",
    "kind": "PodList",
    "items": [
        pod("first", cpu="100m", gpu=1),
        pod("running", on="b", cpu="1", memory="1Gi", gpu=2),
        pod("second", namespace="default"),
    ],
}


@pytest.fixture
def small() -> schedfw.Cluster:
    return cluster(*NODES["items"], *PODS["items"])


def test_load_takes_several_files(tmp_path):
    (tmp_path / "nodes.json").write_text(json.dumps(NODES))
    (tmp_path / "pods.json.gz").write_bytes(gzip.compress(json.dumps(PODS).encode()))
    lines = [json.dumps(pod(f"line-{i}")) for i in range(2)]
    (tmp_path / "more.jsonl").write_text("\n".join(lines))
    (tmp_path / "one.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: yaml, namespace: ml}\n"
        "spec:\n  containers:\n  - name: main\n"
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
    )
    loaded = schedfw.Cluster.load(
        tmp_path / "nodes.json",
        str(tmp_path / "pods.json.gz"),
        tmp_path / "more.jsonl",
        tmp_path / "one.yaml",
    )
    assert loaded.nodes == ["a", "b", "c"]
    assert loaded.pending == ["ml/first", "default/second", "ml/line-0", "ml/line-1", "ml/yaml"]
    assert loaded.pods_on("b") == ["ml/running"]
    assert loaded.ignored == {"v1 ConfigMap": 1}


def test_load_reads_standard_input():
    code = "import schedfw; print(schedfw.Cluster.load('-'))"
    done = run_python(code, text=json.dumps(NODES))
    assert (done.stdout, done.stderr) == ("<Cluster of 3 nodes, 0 pods, 0 waiting>\n", "")


def test_parse_takes_dicts_and_text(small):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": NODES["items"]})
    assert schedfw.Cluster.parse(text).nodes == small.nodes
    assert schedfw.Cluster.parse(NODES).nodes == small.nodes
    assert schedfw.Cluster.parse("kind: Node\napiVersion: v1\nmetadata: {name: x}").nodes == ["x"]


def test_parse_takes_numpy_numbers():
    one = node("a")
    one["status"]["allocatable"] = {"cpu": np.int64(3), "memory": np.float64(1024.0)}
    assert cluster(one).allocatable("cpu").tolist() == [3000]
    one["status"]["allocatable"]["cpu"] = {1}
    with pytest.raises(TypeError, match=r"^set \{1\} can't be part of a Kubernetes object$"):
        cluster(one)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: the file is empty"),
        ("[1, 2", "f:1: the text ends in the middle of a list"),
        ("cluster.json", 'f:1: expected a Kubernetes object, got a string "cluster.json"'),
        ('{"kind": "Pod"}', "f:1: apiVersion: must be given (allowed for a Pod: v1)"),
        (
            '{"apiVersion": "v1",\n"kind": "Node",\n"metadata": {"name": 1}}',
            "f:3: Node: metadata.name: expected a string, got a number 1 (put it in quotes)",
        ),
        (
            json.dumps(pod("x", cpu="1x")),
            'f:1: Pod ml/x: spec.containers[0].resources.requests.cpu: "1x" is not a quantity: '
            'unknown suffix "x" (allowed: a number and one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, '
            "or an exponent like e3)",
        ),
        (
            json.dumps([node("n", cpu="-1")]),
            "Node n: status.allocatable.cpu: -1 is negative (allowed: zero or more)",
        ),
        (json.dumps([node("n"), node("n")]), "Node n exists already"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(schedfw.Error) as error:
        schedfw.Cluster.parse(text, "f")
    assert str(error.value) == message


def test_load_errors(tmp_path):
    with pytest.raises(schedfw.ParseError) as error:
        schedfw.Cluster.load(tmp_path / "none.json")
    assert str(error.value) == f"{tmp_path}/none.json: No such file or directory"
    with pytest.raises(schedfw.ParseError) as error:
        schedfw.Cluster.load(tmp_path)
    assert str(error.value) == f"{tmp_path}: is a directory, not a file"
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    with pytest.raises(schedfw.ParseError) as error:
        schedfw.Cluster.load(broken)
    assert str(error.value) == f"{broken}: truncated gzip data"
    with pytest.raises(schedfw.Error) as error:
        schedfw.Cluster.load()
    assert str(error.value) == "load: give at least one file"


def test_columns(small):
    assert len(small) == 3
    assert small.nodes == ["a", "b", "c"]
    assert small.allocatable("cpu").tolist() == [2500, 4000, 4000]
    assert small.requested("cpu").tolist() == [0, 1000, 0]
    assert small.requested("memory").tolist() == [0, 2**30, 0]
    assert small.allocatable(GPU).tolist() == [0, 4, 0]
    assert small.requested(GPU).tolist() == [0, 2, 0]
    assert small.requested("pods").tolist() == [0, 1, 0]
    assert small.allocatable("pods").tolist() == [10, 10, 10]
    assert small.allocatable("no/such").tolist() == [0, 0, 0]
    assert small.allocatable("cpu").dtype == small.requested("pods").dtype == np.int64
    assert small.label(ZONE) == ["z2", "z1", None]
    assert small.label("disk") == ["ssd", None, None]
    assert small.label("none") == [None, None, None]


def test_columns_are_copies(small):
    column = small.requested("cpu")
    column[:] = 7
    assert small.requested("cpu").tolist() == [0, 1000, 0]


def test_pods(small):
    assert small.pod_count == 3
    assert small.pending == ["ml/first", "default/second"]
    assert small.node_of("ml/running") == "b"
    assert small.node_of("second") is None
    assert small.pods_on("a") == []
    first = small.pod("ml/first")
    assert (first.name, first.namespace, first.full_name) == ("first", "ml", "ml/first")
    assert (first.priority, first.scheduler_name) == (0, "default-scheduler")
    assert (first.labels, first.annotations) == ({}, {})
    assert first.requests == {"cpu": 100, GPU: 1}
    assert (first.request("cpu"), first.request("memory"), first.request("no/such")) == (100, 0, 0)
    assert repr(first) == "<Pod ml/first>"


def test_pod_outlives_cluster(small):
    first = small.pod("ml/first")
    small.delete_pod("ml/first")
    del small
    assert first.requests == {"cpu": 100, GPU: 1}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda c: c.pod("ml/none"), "there is no Pod ml/none"),
        (lambda c: c.pod("none"), "there is no Pod default/none"),
        (lambda c: c.node_of("ml/none"), "there is no Pod ml/none"),
        (lambda c: c.pods_on("none"), "there is no Node none"),
        (lambda c: c.delete_pod("ml/none"), "there is no Pod ml/none"),
        (lambda c: c.delete_node("none"), "there is no Node none"),
        (lambda c: c.bind("ml/none", "a"), "there is no Pod ml/none"),
        (lambda c: c.bind("ml/first", "none"), "there is no Node none"),
        (lambda c: c.bind("ml/running", "a"), "Pod ml/running has a node already"),
    ],
)
def test_errors_change_nothing(small, act, message):
    before = state(small)
    with pytest.raises(schedfw.Error) as error:
        act(small)
    assert str(error.value) == message
    assert type(error.value) is schedfw.Error
    assert state(small) == before


def test_bind_and_delete(small):
    generation = small.generation
    small.bind("ml/first", "b")
    assert small.generation > generation
    assert small.pending == ["default/second"]
    assert small.pods_on("b") == ["ml/first", "ml/running"]
    assert small.requested(GPU).tolist() == [0, 3, 0]
    small.delete_pod("ml/running")
    assert small.requested(GPU).tolist() == [0, 1, 0]
    small.delete_pod("second")
    assert (small.pending, small.pod_count) == ([], 1)


def test_delete_node_and_its_return(small):
    small.delete_node("b")
    assert small.nodes == ["a", "c"]
    assert (small.orphan_count, small.pod_count) == (1, 3)
    assert small.node_of("ml/running") is None
    assert small.requested(GPU).tolist() == [0, 0]
    small.apply(node("b", gpu=8))
    assert small.orphan_count == 0
    assert small.node_of("ml/running") == "b"
    assert dict(zip(small.nodes, small.requested(GPU).tolist(), strict=True))["b"] == 2


def test_apply_replaces_or_adds(small):
    small.apply({"apiVersion": "v1", "kind": "List", "items": [node("c", cpu=8), pod("third")]})
    assert small.allocatable("cpu").tolist() == [2500, 4000, 8000]
    assert small.pending == ["ml/first", "default/second", "ml/third"]
    small.apply(json.dumps(pod("third", on="c", cpu=2)))
    assert small.requested("cpu").tolist() == [0, 1000, 2000]


def test_apply_is_all_or_nothing(small):
    before = state(small)
    bad = [node("d"), pod("x", spec={"priorityClassName": "none"})]
    with pytest.raises(schedfw.Error):
        small.apply({"apiVersion": "v1", "kind": "List", "items": bad})
    with pytest.raises(schedfw.ParseError) as error:
        small.apply("{", "change")
    assert str(error.value).startswith("change:1: ")
    assert state(small) == before


def test_forks_are_independent(small):
    before = state(small)
    fork = small.fork()
    assert state(fork) == before
    other = fork.fork()
    fork.bind("ml/first", "b")
    fork.apply(node("z"))
    fork.delete_node("a")
    assert state(small) == state(other) == before
    small.delete_pod("ml/running")
    assert fork.pods_on("b") == ["ml/first", "ml/running"]
    assert other.pods_on("b") == ["ml/running"]
    assert fork.ignored == small.ignored


def test_copies_are_forks(small):
    before = state(small)
    for twin in (copy.copy(small), copy.deepcopy(small)):
        assert state(twin) == before
        twin.bind("ml/first", "b")
        assert state(small) == before
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(small)


def test_deleting_pods_do_not_wait():
    going = pod("going")
    going["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    some = cluster(node("a"), going, pod("lost", on="nowhere"))
    assert (some.pending, some.deleting) == ([], ["ml/going"])
    assert (some.pod_count, some.orphan_count) == (2, 1)


def test_to_pandas(small):
    frame = small.to_pandas()
    assert list(frame.columns) == [
        "cpu allocatable",
        "cpu requested",
        "memory allocatable",
        "memory requested",
    ]
    assert frame.index.name == "node"
    assert frame.loc["b", "cpu requested"] == 1000
    frame = small.to_pandas(GPU, labels=[ZONE])
    assert list(frame.columns) == [f"{GPU} allocatable", f"{GPU} requested", ZONE]
    assert frame.loc["b"].tolist() == [4, 2, "z1"]
    assert list(small.to_pandas("pods", labels="disk").columns)[2:] == ["disk"]


def test_empty():
    empty = schedfw.Cluster()
    assert (len(empty), empty.nodes, empty.pending, empty.pod_count) == (0, [], [], 0)
    assert empty.allocatable("cpu").shape == (0,)
    assert empty.to_pandas().shape == (0, 4)
    assert repr(empty) == "<Cluster of 0 nodes, 0 pods, 0 waiting>"
    empty.apply(node("a"))
    assert len(empty) == 1


def test_repr(small):
    assert repr(small) == "<Cluster of 3 nodes, 3 pods, 2 waiting>"


def test_gpus_one_by_one():
    def pod(name, annotations, gpus, node=None):
        requests = {"nvidia.com/gpu": str(gpus)} if gpus else {}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
            }
            | ({"nodeName": node} if node else {}),
        }

    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"capacity": {"cpu": "8", "pods": "9", "nvidia.com/gpu": "3"}},
    }
    share = {"alibabacloud.com/gpu-milli": "300"}
    items = [node, pod("whole", {}, 1, "n1"), pod("share", share, 0), pod("none", {}, 0, "n1")]
    cluster = schedfw.Cluster.parse({"apiVersion": "v1", "kind": "List", "items": items})
    assert cluster.gpu_milli_left.shape == (1, 16)
    assert cluster.gpu_milli_left[0, :4].tolist() == [0, 1000, 1000, -1]
    assert cluster.gpus_of("default/whole") == [0]
    assert cluster.gpus_of("default/share") == cluster.gpus_of("default/none") == []
    seen = []

    class Watch(schedfw.Plugin):
        name = "Watch"

        def score_nodes(self, cycle, nodes):
            seen.append(nodes.gpu_milli_left[0, :4].tolist())
            return [0] * len(nodes)

    scheduler = schedfw.Scheduler(plugins=[Watch()])
    scheduler.explain(cluster, "default/share")
    assert seen == [[0, 1000, 1000, -1]]
    scheduler.place(cluster)
    assert cluster.gpus_of("default/share") == [1]
    assert cluster.gpu_milli_left[0, :4].tolist() == [0, 700, 1000, -1]
