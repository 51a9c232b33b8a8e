"""LeastAllocated against MostAllocated: how full a cluster gets, and how evenly, as load grows.

    python compare_profiles.py
    python compare_profiles.py --nodes 128 --plot compare.png

The plot needs matplotlib.
"""

import argparse
from pathlib import Path

import numpy as np

import schedfw
from schedfw.workloads import training_cluster

GPU = "nvidia.com/gpu"


def profile(strategy):
    """Return the default profile with another strategy, which looks at GPUs."""
    resources = [{"name": GPU, "weight": 5}, {"name": "cpu", "weight": 1}]
    scoring = {"type": strategy, "resources": resources}
    return schedfw.Profile().args("NodeResourcesFit", scoringStrategy=scoring)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--steps", type=int, default=5, help="loads between 0 and 1")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw the empty nodes")
    args = parser.parse_args()

    loads = np.linspace(0, 1, args.steps + 1)[1:]
    strategies = ("LeastAllocated", "MostAllocated")
    empty = {strategy: [] for strategy in strategies}
    print("load   strategy        placed  empty nodes  deviation of use")
    for load in loads:
        pods = int(load * args.nodes * 8 / 2)
        cluster = schedfw.Cluster.parse(training_cluster(args.nodes, pods, gpus=2, spread=False))
        for strategy in strategies:
            fork = cluster.fork()
            placed = schedfw.Scheduler(profile(strategy)).place(fork).placed
            used = fork.requested(GPU) / fork.allocatable(GPU)
            nodes = int((used == 0).sum())
            empty[strategy].append(nodes)
            print(f"{load:4.0%}   {strategy:15} {placed:6} {nodes:12} {used.std():17.2f}")

    if args.plot is None:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(layout="constrained")
    for strategy in strategies:
        axes.plot(loads * 100, empty[strategy], marker="o", label=strategy)
    axes.set_xlabel("load [% of the GPUs]")
    axes.set_ylabel("empty nodes")
    axes.legend()
    figure.savefig(args.plot, dpi=120)
    print(args.plot)


if __name__ == "__main__":
    main()
