"""The demonstration: a training cluster, scheduled and measured."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from schedfw import _core
from schedfw.cluster import Cluster
from schedfw.heatmap import LatencyHeatmap
from schedfw.scheduler import Scheduler
from schedfw.workloads import training_cluster

_ZONE = "topology.kubernetes.io/zone"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed (allowed: 1 or more)")
    return int(text)


def main() -> int:
    """Schedule the cluster, print a table, and write the latency heat map."""
    parser = argparse.ArgumentParser(prog="python -m schedfw.demo", description=__doc__)
    parser.add_argument("--nodes", type=_positive, default=512, help="default: 512")
    parser.add_argument("--pods", type=_positive, default=1000, help="default: 1000")
    parser.add_argument(
        "--gpus", type=_positive, default=4, help="GPUs a pod; a node has 8 (default: 4)"
    )
    parser.add_argument("--threads", type=int, default=1, help="0: all cores (default: 1)")
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="folder for the files (default: out)"
    )
    args = parser.parse_args()
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        scheduler = Scheduler(threads=args.threads)
    except (_core.Error, OSError) as error:
        parser.error(str(error))

    start = time.perf_counter()
    cluster = Cluster.parse(training_cluster(args.nodes, args.pods, gpus=args.gpus))
    built = time.perf_counter()
    attempts = scheduler.place_timed(cluster)
    done = time.perf_counter()

    took = np.array([nanoseconds for _, _, nanoseconds in attempts], dtype=np.float64)
    zones = dict(zip(cluster.nodes, cluster.label(_ZONE), strict=True))
    per_zone = Counter(zones[node] for _, node, _ in attempts if node)
    counts = [per_zone[zone] for zone in sorted({zone for zone in zones.values() if zone})]
    placed = sum(counts)
    total_s = took.sum() / 1e9
    gpus = int(cluster.allocatable("nvidia.com/gpu").sum())
    used = int(cluster.requested("nvidia.com/gpu").sum())

    print(f"{args.nodes} nodes × 8 GPUs, {args.pods} pods × {args.gpus} GPUs, spread over zones")
    rows = [
        ("cluster built in", f"{(built - start) * 1e3:.0f} ms"),
        ("placed", f"{placed} of {args.pods} pods"),
        ("GPUs in use", f"{used} of {gpus} ({used / max(gpus, 1):.0%})"),
        ("scheduled in", f"{(done - built) * 1e3:.1f} ms"),
        ("throughput", f"{len(attempts) / total_s:,.0f} pods/s"),
        ("cycle, mean", f"{took.mean() / 1e3:.1f} µs"),
        ("cycle, p50", f"{np.percentile(took, 50) / 1e3:.1f} µs"),
        ("cycle, p99", f"{np.percentile(took, 99) / 1e3:.1f} µs"),
        ("pods per zone", f"{min(counts)} to {max(counts)} in {len(counts)} zones"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name.ljust(width)}  {value}")

    # Cycles take microseconds: 2 ms of time a column and 20 µs of latency a row show them.
    starts_ms = (np.cumsum(took) - took) / 1e6
    heatmap = LatencyHeatmap(starts_ms, took / 1e6, time_bucket_ms=2, latency_bin_ms=0.02)
    print(f"heat map: {heatmap.to_csv(args.out / 'latency_heatmap.csv')}")
    try:
        import matplotlib as mpl
    except ImportError:
        print("for the picture: pip install 'schedfw[plot]'", file=sys.stderr)
        return 0
    mpl.use("Agg")
    axes = heatmap.plot()
    axes.set_title(f"{args.pods} pods on {args.nodes} nodes")
    picture = args.out / "latency_heatmap.png"
    axes.figure.savefig(picture, dpi=120)  # type: ignore[union-attr]
    print(f"heat map: {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
