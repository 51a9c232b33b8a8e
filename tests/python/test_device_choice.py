"""GPUs chosen by topology, from Python and from the command line."""

import json

import pytest

import schedfw
import schedfw.cli
from support import cluster, node, pod

TOPOLOGY = "device-plugin.nvidia.com/gpu-topology"
HINT = "nccl.nvidia.com/topology-hint"


def gpu_node(name, gpus, topology=None, **annotations):
    out = node(name, cpu="64", memory="64Gi", gpu=gpus)
    out["metadata"]["annotations"] = dict(annotations)
    if topology:
        out["metadata"]["annotations"][TOPOLOGY] = topology
    return out


def config(tmp_path, *plugins):
    path = tmp_path / "config.yaml"
    enabled = ", ".join(f"{{name: {plugin}}}" for plugin in plugins)
    path.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"profiles: [{{plugins: {{multiPoint: {{enabled: [{enabled}]}}}}}}]\n"
    )
    return str(path)


def run(capsys, *args):
    status = schedfw.cli.main([str(arg) for arg in args])
    out, err = capsys.readouterr()
    return status, out, err


def test_topology_of():
    c = cluster(gpu_node("a", 8, "dgx-a100"), gpu_node("b", 2), gpu_node("c", 8, "split-socket-4"))
    topology = c.topology_of("a")
    assert topology is not None
    assert topology.link("GPU0", "GPU7") == "NV12"
    assert c.topology_of("b") is None
    assert c.topology_of("c") is None
    with pytest.raises(schedfw.Error, match="there is no Node d"):
        c.topology_of("d")
    (problem,) = schedfw.Scheduler(schedfw.Profile().enable("NvLinkAffinity")).check_nodes(c)
    assert problem == (
        "c",
        "NvLinkAffinity",
        f'metadata.annotations."{TOPOLOGY}": has 4 GPUs, but 8 are allocatable',
    )
    assert schedfw.Scheduler().check_nodes(c) == []


def test_topology_of_zones():
    zone = {
        "type": "Node",
        "resources": [
            {"name": "nvidia.com/gpu", "capacity": "2", "allocatable": "2", "available": "2"}
        ],
    }
    zones = [zone | {"name": f"node-{i}"} for i in range(2)]
    report = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "a"},
        "zones": zones,
    }
    for objects in ([gpu_node("a", 4), report], [report, gpu_node("a", 4)]):
        topology = cluster(*objects).topology_of("a")
        assert topology is not None
        assert topology.source == "NodeResourceTopology"
        assert [device.numa for device in topology.devices] == [(0,), (0,), (1,), (1,)]
        assert topology.link("GPU0", "GPU1") == "NODE"
        assert topology.link("GPU1", "GPU2") == "SYS"
    # What the node itself says goes first, and a node with other GPUs isn't the one reported.
    own = cluster(gpu_node("a", 4, "split-socket-4"), report).topology_of("a")
    assert own is not None
    assert own.source != "NodeResourceTopology"
    assert cluster(gpu_node("a", 8), report).topology_of("a") is None
    later = cluster(gpu_node("a", 4))
    later.apply(report)
    assert later.topology_of("a") is not None


def test_place_gives_gpus_on_one_island(tmp_path, capsys):
    old = pod("old", on="pcie", gpu=1)
    path = tmp_path / "cluster.json"
    items = [gpu_node("pcie", 8, "a100-pcie-8"), old, pod("two", gpu=2), pod("none")]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status, out, err = run(
        capsys, "place", path, "--config", config(tmp_path, "DeviceShare", "NvLinkAffinity")
    )
    assert (status, err) == (0, "")
    assert [line.split() for line in out.splitlines()[:3]] == [
        ["POD", "NODE", "GPUS", "WHY", "NOT"],
        ["ml/two", "pcie", "2,3"],
        ["ml/none", "pcie", "-"],
    ]
    status, out, err = run(
        capsys, "explain", path, "--config", config(tmp_path, "DeviceShare", "NvLinkAffinity")
    )
    assert out.splitlines()[2:4] == [
        "ml/two: fits on 1 of 1 nodes; goes to pcie",
        "  gets GPUs 2, 3: AllReduce 234.0 GB/s by the model, limited by NV12",
    ]
    status, out, err = run(capsys, "explain", path)
    assert "  gets GPUs 1, 2: AllReduce 24.0 GB/s by the model, limited by NODE\n" in out
    # Without the plugin a pod gets the first ones that are free.
    status, out, _ = run(capsys, "place", path)
    assert "1,2" in out


# Row A15 of the reference article.
def test_a15_hint_out_of_range_harms_nobody(tmp_path, capsys):
    hints = {
        "best": '{"PCIProximity": 1, "NVLinkBandwidth": 1}',
        "over": '{"PCIProximity": 1.5, "NVLinkBandwidth": 1}',
        "torn": '{"PCIProximity": 1',
        "well": '{"PCIProximity": 0.9, "NVLinkBandwidth": 0.95}',
    }
    path = tmp_path / "cluster.json"
    items = [gpu_node(name, 8, **{HINT: hint}) for name, hint in hints.items()]
    items.append(pod("p", gpu=1))
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    status, out, err = run(
        capsys, "explain", path, "--config", config(tmp_path, "NcclTopologyHint"), "-o", "json"
    )
    assert status == 0
    assert len(json.loads(out)) == 1
    assert err.splitlines() == [
        f'Node over: metadata.annotations."{HINT}".PCIProximity: 1.5 is out of range '
        "(allowed: 0.7 to 1) (NcclTopologyHint goes on without)",
        f"Node torn: metadata.annotations.\"{HINT}\": invalid JSON at byte 18: expected ',' or "
        "'}' (NcclTopologyHint goes on without)",
    ]
    loaded = schedfw.Cluster.load(path)
    scheduler = schedfw.Scheduler(schedfw.Profile().enable("NcclTopologyHint"))
    matrix = scheduler.explain(loaded, "ml/p").scores
    row = matrix.raw[matrix.plugins.index("NcclTopologyHint")]
    assert dict(zip(matrix.nodes, row.tolist(), strict=True)) == {
        "best": 100,
        "over": 0,
        "torn": 0,
        "well": 93,
    }


def test_mig_slices():
    c = cluster(
        node("a", cpu="64", memory="64Gi", **{"nvidia.com/mig-1g.5gb": 14}),
        pod("p", **{"nvidia.com/mig-1g.5gb": 4}),
        pod("q", **{"nvidia.com/mig-1g.5gb": 5}),
    )
    assert schedfw.Scheduler().place(c).placed == 2
    assert c.gpus_of("ml/p") == [0]
    assert c.gpus_of("ml/q") == [1]
