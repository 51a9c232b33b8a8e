"""Six policies on a GPU trace: how much of the GPUs they allocate as pods arrive.

    python openb_policies.py                          # a small trace, in a second
    python openb_policies.py NODES.csv PODS.csv --threads 0 --png policies.png

With the lists openb_node_list_gpu_node.csv and openb_pod_list_default.csv of the openb trace this
is the table of the published comparison; other traces in its format do as well. The picture needs
matplotlib.
"""

import argparse
from pathlib import Path

import schedfw

DATA = Path(__file__).resolve().parents[1] / "data"
ARRIVED = (90, 100, 110, 120, 130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodes", nargs="?", default=DATA / "small_nodes.csv")
    parser.add_argument("pods", nargs="?", default=DATA / "small_pods.csv")
    parser.add_argument("--seeds", metavar="N", type=int, default=10, help="from 42 on")
    parser.add_argument("--threads", metavar="N", type=int, default=1, help="0: all cores")
    parser.add_argument("--png", metavar="FILE", type=Path, help="draw the curves")
    args = parser.parse_args()

    seeds = range(42, 42 + args.seeds)
    try:
        packing = schedfw.pack(args.nodes, args.pods, "all", seed=seeds, threads=args.threads)
    except schedfw.Error as error:
        parser.error(str(error))

    print("allocated GPUs, % of all: mean ± standard deviation")
    print("arrived   " + "".join(f"{percent:>13} %" for percent in ARRIVED))
    for policy in packing.policies:
        mean, deviation = packing.mean(policy)
        spreads = [f" ± {deviation[i]:.2f}" if args.seeds > 1 else "" for i in ARRIVED]
        cells = [f"{mean[i]:.2f}{spread}" for i, spread in zip(ARRIVED, spreads, strict=True)]
        print(f"{policy:10}" + "".join(f"{cell:>15}" for cell in cells))

    if args.png is None:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    axes = packing.plot()
    axes.set_title(packing.workload)
    axes.figure.savefig(args.png, dpi=120)
    print(args.png)


if __name__ == "__main__":
    main()
