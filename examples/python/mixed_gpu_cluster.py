"""What do the topology plugins bring on a cluster of mixed GPU nodes?

python mixed_gpu_cluster.py
python mixed_gpu_cluster.py --nodes 64 --jobs 120 --png mixed.png

Jobs of 4 GPUs come and go among pods of 1 and 2 GPUs on nodes of three kinds: DGX A100, PCIe A100
with bridged pairs, and 4 GPUs on two sockets. The same arrivals are placed with the default plugins
and with NvLinkAffinity and NumaAffinity; for each job the GPUs that it got are looked at.
"""

import argparse
import random

import numpy as np

import schedfw
from schedfw.bandwidth import BandwidthModel
from schedfw.topology import NodeTopology

# Preset, GPUs, how many of 16 nodes.
KINDS = (("dgx-a100", 8, 8), ("a100-pcie-8", 8, 4), ("split-socket-4", 4, 4))
GPU = "nvidia.com/gpu"
TOPOLOGY = "device-plugin.nvidia.com/gpu-topology"


def nodes(count):
    """Return nodes of all kinds in turn, and the preset of each by name."""
    kinds = [kind for kind in KINDS for _ in range(kind[2])]
    order = [kinds[i * 7 % len(kinds)] for i in range(len(kinds))]
    items, presets = [], {}
    for i in range(count):
        preset, gpus, _ = order[i % len(order)]
        name = f"gpu-{i:04d}"
        presets[name] = preset
        amounts = {"cpu": "128", "memory": "1000Gi", "pods": "110", GPU: str(gpus)}
        metadata = {"name": name, "annotations": {TOPOLOGY: preset}}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": metadata,
                "status": {"capacity": amounts},
            }
        )
    return items, presets


def pod(name, gpus):
    """Return a pod that asks for so many GPUs."""
    limits = {"cpu": str(2 * gpus), "memory": f"{16 * gpus}Gi", GPU: str(gpus)}
    containers = [{"name": "main", "resources": {"limits": limits}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers},
    }


def arrivals(jobs, gpus, load, seed):
    """Return (pod, GPUs, pods that leave before), so that about `load` of the GPUs are in use."""
    draw = random.Random(seed)
    out, running, used, number = [], [], 0, 0
    while number < jobs:
        size = draw.choices((1, 2, 4), (3, 2, 5))[0]
        name = f"{'job' if size == 4 else 'small'}-{len(out):05d}"
        number += size == 4
        leave = []
        while used + size > load * gpus:
            index = draw.randrange(len(running))
            running[index], running[-1] = running[-1], running[index]
            gone, gone_size = running.pop()
            leave.append(gone)
            used -= gone_size
        running.append((name, size))
        used += size
        out.append((name, size, leave))
    return out


def place(items, events, presets, profile, models):
    """Place all arrivals; return island (0 or 1), GB/s and cross-NUMA share of each job placed."""
    cluster = schedfw.Cluster.parse({"apiVersion": "v1", "kind": "List", "items": items})
    scheduler = schedfw.Scheduler(profile)
    rows = []
    for name, size, leave in events:
        for gone in leave:
            cluster.delete_pod(f"default/{gone}")
        cluster.apply(pod(name, size))
        placement = scheduler.schedule_one(cluster, f"default/{name}")
        if size != 4 or placement.node is None:
            continue
        island_of, model = models[presets[placement.node]]
        gpus = cluster.gpus_of(f"default/{name}")
        ring = model.ring(gpus)
        islands = {island_of[gpu] for gpu in gpus}
        rows.append((len(islands) == 1, ring.busbw, ring.cross_numa_share))
    return np.array(rows, float)


def main():
    """Place the same jobs with and without the plugins and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=512, help="default: 512")
    parser.add_argument("--jobs", type=int, default=1000, help="of 4 GPUs (default: 1000)")
    parser.add_argument(
        "--load",
        type=float,
        nargs="+",
        default=[0.7, 0.9],
        help="shares of the GPUs that are in use (default: 0.7 0.9)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of arrivals and departures")
    parser.add_argument("--png", help="draw the bandwidths")
    args = parser.parse_args()

    models = {}
    for preset, _, _ in KINDS:
        topology = NodeTopology.preset(preset)
        models[preset] = (topology.island_of, BandwidthModel(topology))
    items, presets = nodes(args.nodes)
    gpus = sum(int(item["status"]["capacity"][GPU]) for item in items)
    base = schedfw.Profile().enable("DeviceShare")
    profiles = {
        "off": base,
        "on": base.enable("NvLinkAffinity", weight=10).enable("NumaAffinity"),
    }
    print(f"{args.nodes} nodes, {gpus} GPUs, {args.jobs} jobs of 4 GPUs")
    print()
    print("in use  plugins  placed  one island  AllReduce GB/s p10    p50    p90  cross-NUMA")
    results = {}
    for load in args.load:
        events = arrivals(args.jobs, gpus, load, args.seed)
        for name, profile in profiles.items():
            rows = place(items, events, presets, profile, models)
            results[f"{load:.0%} in use, plugins {name}"] = rows[:, 1]
            p10, p50, p90 = np.percentile(rows[:, 1], (10, 50, 90))
            print(
                f"{load:6.0%}  {name:7}  {len(rows):6}  {rows[:, 0].mean():10.1%}  {p10:18.1f} "
                f"{p50:6.1f} {p90:6.1f}  {rows[:, 2].mean():10.1%}"
            )
    print()
    print("GPUs are those that jobs got by placing; bandwidths are those of the model for these.")
    if args.png:
        draw(results, args.png)
        print(args.png)


def draw(results, path):
    """Draw the share of jobs that get at least so much."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for name, values in results.items():
        share = 1 - np.arange(len(values)) / len(values)
        style = {"color": "tab:blue" if name.endswith("on") else "tab:orange"}
        style["linestyle"] = "-" if name.startswith(next(iter(results))[:4]) else "--"
        axes.step(np.sort(values), share * 100, where="post", label=name, **style)
    axes.set_xlabel("AllReduce bus bandwidth of a job's 4 GPUs, GB/s (model)")
    axes.set_ylabel("jobs that get at least so much, %")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 102)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
