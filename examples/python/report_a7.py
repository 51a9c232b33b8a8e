"""Does spreading over zones hide the topology of GPUs, and what does GPU-aware spread bring?

python report_a7.py
python report_a7.py --nodes 12 --pods 12 --png a7.png

A job's pods of 2 GPUs spread over zones (maxSkew, whenUnsatisfiable) on nodes of 8 GPUs in bridged
pairs, some of which are in use. PodTopologySpread sees nodes and zones; which GPUs a pod gets, and
whether these can talk to each other, it doesn't see. The same job is placed three times: with
zone-level spread alone, and with GpuTopologySpread by NUMA node and by NVLink island.
"""

import argparse
import random

import numpy as np

import schedfw
from schedfw.bandwidth import BandwidthModel
from schedfw.topology import NodeTopology

PRESET = "a100-pcie-8"
GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"


def items(nodes, pods, gpus, seed):
    """Return nodes in three zones, small pods on some of their GPUs, and the pods of a job."""
    draw = random.Random(seed)
    out = []
    for i in range(nodes):
        name = f"node-{i:03d}"
        amounts = {"cpu": "128", "memory": "1000Gi", "pods": "110", GPU: "8"}
        metadata = {
            "name": name,
            "labels": {ZONE: f"zone-{i % 3}"},
            "annotations": {"device-plugin.nvidia.com/gpu-topology": PRESET},
        }
        out.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": metadata,
                "status": {"capacity": amounts},
            }
        )
        for gpu in draw.sample(range(8), draw.randrange(4)):
            out.append(pod(f"old-{i:03d}-{gpu}", 1, {}, {"nodeName": name}, str(gpu)))
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"job": "train"}},
    }
    spec = {"topologySpreadConstraints": [constraint]}
    out += [pod(f"train-{i:03d}", gpus, {"job": "train"}, spec) for i in range(pods)]
    return out


def pod(name, gpus, labels, spec, index=None):
    """Return a pod that asks for GPUs; `index` says which one it has."""
    limits = {"cpu": "4", "memory": "32Gi", GPU: str(gpus)}
    metadata = {"name": name, "labels": labels}
    if index is not None:
        metadata["annotations"] = {"alibabacloud.com/gpu-index": index}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}], **spec},
    }


def place(objects, pods, profile):
    """Place the job; return the zone, the node and the GPUs of each of its pods."""
    cluster = schedfw.Cluster.parse({"apiVersion": "v1", "kind": "List", "items": objects})
    schedfw.Scheduler(profile).place(cluster)
    zones = {
        o["metadata"]["name"]: o["metadata"]["labels"][ZONE] for o in objects if o["kind"] == "Node"
    }
    out = []
    for i in range(pods):
        name = f"default/train-{i:03d}"
        node = cluster.node_of(name)
        if node is not None:
            out.append((zones[node], node, cluster.gpus_of(name)))
    return out


def main():
    """Place the job three times and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=24, help="default: 24")
    parser.add_argument("--pods", type=int, default=36, help="of the job (default: 36)")
    parser.add_argument("--gpus", type=int, default=2, help="a pod (default: 2)")
    parser.add_argument("--seed", type=int, default=1, help="of which GPUs are in use")
    parser.add_argument("--png", help="draw the bandwidths")
    args = parser.parse_args()

    topology = NodeTopology.preset(PRESET)
    model = BandwidthModel(topology)
    objects = items(args.nodes, args.pods, args.gpus, args.seed)
    base = schedfw.Profile().enable("DeviceShare")
    variants = {
        "zone spread alone": base,
        "GPU-aware, NUMA node": base.enable("GpuTopologySpread", weight=5).args(
            "GpuTopologySpread", domain="NUMANode"
        ),
        "GPU-aware, NVLink island": base.enable("GpuTopologySpread", weight=5).args(
            "GpuTopologySpread", domain="NVLinkIsland"
        ),
    }
    rows, results = [], {}
    for name, profile in variants.items():
        placed = place(objects, args.pods, profile)
        rings = [model.ring(gpus) for _, _, gpus in placed]
        zones = [sum(zone == f"zone-{z}" for zone, _, _ in placed) for z in range(3)]
        one_island = np.mean(
            [len({topology.island_of[g] for g in gpus}) == 1 for *_, gpus in placed]
        )
        one_numa = np.mean([ring.cross_numa_share == 0 for ring in rings])
        results[name] = np.array([ring.busbw for ring in rings])
        p10, p50 = np.percentile(results[name], (10, 50))
        rows += [
            (name, "pods placed", "-", "-", f"{len(placed)} of {args.pods}"),
            ("", "skew over zones", "-", "-", f"{max(zones) - min(zones)}"),
            ("", "pods on one NUMA node", "-", "-", f"{one_numa:.0%}"),
            ("", "pods on one NVLink island", "-", "-", f"{one_island:.0%}"),
            ("", "AllReduce GB/s, p10 / p50", "-", f"{p10:.0f} / {p50:.0f}", "-"),
        ]
    heading = ("PLACEMENT", "FIGURE", "ARTICLE", "MODEL", "MEASURED HERE")
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    for row in [heading, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    print()
    print("The article gives no figure here, only the constraint's maxSkew and whenUnsatisfiable.")
    print("Placements are measured by placing; bandwidths are those of the model for these GPUs.")
    if args.png:
        draw(results, args.png)
        print(args.png)


def draw(results, path):
    """Draw how many pods get how much."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    levels = sorted({round(float(value)) for values in results.values() for value in values})
    left = np.zeros(len(results))
    for i, level in enumerate(levels):
        share = np.array([np.mean(np.round(values) == level) * 100 for values in results.values()])
        shade = 0.25 + 0.6 * i / max(len(levels) - 1, 1)
        axes.barh(list(results), share, left=left, color=plt.cm.viridis(shade), label=f"{level}")
        left += share
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("pods of the job, %")
    axes.legend(title="GB/s (model)", frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
