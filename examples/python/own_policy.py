"""A scheduling policy in ten lines of numpy, compared with the default one.

Small jobs of 2 GPUs fill half of a cluster of 8-GPU nodes. The default policy spreads them, so that
soon no node has 8 free GPUs for a big job. PackGpus prefers the nodes with the fewest free GPUs.

    python own_policy.py
    python own_policy.py --nodes 512 --load 0.3
"""

import argparse

import numpy as np

import schedfw
from schedfw.workloads import training_cluster

GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
BIG_JOB = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "big", "namespace": "ml"},
    "spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: 8}}}]},
}


class PackGpus(schedfw.Plugin):
    """Prefers nodes with few free GPUs."""

    name = "PackGpus"
    weight = 10

    def score_nodes(self, cycle, nodes):
        free = nodes.free(GPU)
        return 100 - 100 * free / np.maximum(nodes.allocatable(GPU), 1)


def measure(cluster, scheduler):
    """Place all pods; return figures of the cluster that is left."""
    placements = scheduler.place(cluster)
    free = cluster.allocatable(GPU) - cluster.requested(GPU)
    per_zone = [cluster.requested(GPU)[zone].sum() for zone in by_zone(cluster)]
    return {
        "pods placed": placements.placed,
        "GPUs in use": int(cluster.requested(GPU).sum()),
        "nodes with 1 to 7 free GPUs": int(((free > 0) & (free < 8)).sum()),
        "8-GPU jobs that still fit": scheduler.fit(cluster, BIG_JOB).count,
        "GPUs in use per zone": f"{min(per_zone)} to {max(per_zone)}",
    }


def by_zone(cluster):
    """Return a mask of nodes for each zone."""
    zones = np.array(cluster.label(ZONE))
    return [zones == zone for zone in sorted(set(zones))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--load", type=float, default=0.5, help="share of GPUs that is asked for")
    args = parser.parse_args()

    pods = int(args.load * args.nodes * 8 / 2)
    cluster = schedfw.Cluster.parse(training_cluster(args.nodes, pods, gpus=2, spread=False))
    default = measure(cluster.fork(), schedfw.Scheduler())
    packed = measure(cluster.fork(), schedfw.Scheduler(plugins=[PackGpus()]))

    print(f"{'':30}{'default':>12}{'PackGpus':>12}")
    for figure, value in default.items():
        print(f"{figure:30}{value:>12}{packed[figure]:>12}")


if __name__ == "__main__":
    main()
