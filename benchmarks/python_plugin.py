#!/usr/bin/env python3
"""Times one policy as a built-in plugin and written in Python, in both shapes."""

import argparse
import os
import statistics
import time

import numpy as np
import numpy.typing as npt

import schedfw
from schedfw import _core
from schedfw.workloads import training_cluster

GPU = "nvidia.com/gpu"
RESOURCES = ("cpu", "memory", GPU)


class Batch(schedfw.Plugin):
    """Fits, and packs GPUs: a call for many nodes."""

    name = "Batch"

    def filter_nodes(self, cycle: _core.Cycle, nodes: _core.Nodes) -> npt.NDArray[np.bool_]:
        fits = np.ones(len(nodes), dtype=bool)
        for resource in RESOURCES:
            fits &= nodes.free(resource) >= cycle.pod.request(resource)
        return fits

    def score_nodes(self, cycle: _core.Cycle, nodes: _core.Nodes) -> npt.NDArray[np.int64]:
        used = nodes.requested(GPU) + cycle.pod.request(GPU)
        return 100 * used // nodes.allocatable(GPU)


class Simple(schedfw.Plugin):
    """The same: a call a node."""

    name = "Simple"

    def filter(self, cycle: _core.Cycle, node: _core.Node) -> bool:
        return all(node.free(resource) >= cycle.pod.request(resource) for resource in RESOURCES)

    def score(self, cycle: _core.Cycle, node: _core.Node) -> int:
        return 100 * (node.requested(GPU) + cycle.pod.request(GPU)) // node.allocatable(GPU)


class WholePipeline(schedfw.Plugin):
    """Makes a profile of built-in plugins look at all nodes in each cycle, as the others do."""

    name = "WholePipeline"

    def pre_score(self, cycle: _core.Cycle, nodes: _core.Nodes) -> bool:
        return False


def schedulers() -> dict[str, schedfw.Scheduler]:
    packing = {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 1}]}
    fit = schedfw.Profile.only("NodeResourcesFit").args("NodeResourcesFit", scoringStrategy=packing)
    none = schedfw.Profile.only()
    return {
        "built-in": schedfw.Scheduler(fit, plugins=[WholePipeline()]),
        "Python, batch": schedfw.Scheduler(none, plugins=[Batch()]),
        "Python, simple": schedfw.Scheduler(none, plugins=[Simple()]),
    }


def cluster_of(nodes: int) -> schedfw.Cluster:
    """Return GPU nodes of which every other one is half full, and a pod that waits."""
    cluster = schedfw.Cluster.parse(training_cluster(nodes, nodes // 2 + 1, spread=False))
    names = cluster.nodes
    for i, pod in enumerate(cluster.pending[:-1]):
        cluster.bind(pod, names[2 * i + 1])
    return cluster


def cycle_us(scheduler: schedfw.Scheduler, cluster: schedfw.Cluster, seconds: float) -> float:
    """Return the median time of a cycle in microseconds."""
    pod = cluster.pending[0]
    scheduler.schedule(cluster, pod)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        scheduler.schedule(cluster, pod)
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="*", default=[100, 1000, 10000], help="how many")
    parser.add_argument("--seconds", type=float, default=1, help="for each figure (default: 1)")
    options = parser.parse_args()

    print(
        f"median time of a cycle on one thread, schedfw {_core.__version__}, {os.cpu_count()} cores"
    )
    print(f"{'nodes':>8} {'plugin':<16} {'µs':>10} {'µs a node':>10} {'× built-in':>11}")
    for nodes in options.nodes:
        cluster = cluster_of(nodes)
        base, chosen = 0.0, None
        for name, scheduler in schedulers().items():
            node = scheduler.schedule(cluster, cluster.pending[0]).node
            if node is None or node != (chosen or node):
                raise SystemExit(f"{name} chooses {node}, not {chosen}")
            chosen = node
            took = cycle_us(scheduler, cluster, options.seconds)
            base = base or took
            print(
                f"{nodes:>8,} {name:<16} {took:>10,.1f} {took / nodes:>10.3f} {took / base:>11.1f}"
            )


if __name__ == "__main__":
    main()
