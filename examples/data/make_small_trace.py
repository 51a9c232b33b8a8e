"""Write small_nodes.csv and small_pods.csv: a small GPU trace in the format of openb.

    python make_small_trace.py          # beside this file
    python make_small_trace.py FOLDER

All of it is drawn, none of it is from a real cluster. It is small, so that examples run in a
second, and mixed, so that policies differ: shares of GPUs, whole ones, jobs of 8, and pods that ask
for models.
"""

import argparse
import csv
import random
from pathlib import Path

# nodes, cores, memory in GiB, GPUs
MODELS = {
    "P100": (10, 64, 256, 2),
    "T4": (12, 96, 384, 4),
    "V100M16": (10, 96, 384, 8),
    "G2": (8, 128, 768, 8),
}
PODS = 300
NODE_COLUMNS = ["sn", "cpu_milli", "memory_mib", "gpu", "model"]
POD_COLUMNS = [
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec",
    "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time",
]  # fmt: skip

# How often: GPUs, thousandths of each, thousandths of a core for each GPU.
KINDS = [
    (12, 0, 0, (2000, 4000, 8000, 16000)),
    (12, 1, 250, (2000, 3150)),
    (10, 1, 460, (3150, 6000)),
    (9, 1, 500, (4000, 8000)),
    (10, 1, 810, (3150, 7000)),
    (38, 1, 1000, (4000, 8000, 11400, 16000)),
    (4, 2, 1000, (8000, 11400)),
    (2, 4, 1000, (8000, 12000)),
    (2, 8, 1000, (8000, 11000)),
]
SPECS = ["V100M16|G2", "T4", "P100|T4"]


def nodes():
    """Return the rows of the nodes."""
    rows = []
    for model, (count, cores, memory, gpus) in MODELS.items():
        for _ in range(count):
            rows.append([f"small-node-{len(rows):02}", cores * 1000, memory * 1024, gpus, model])
    return rows


def pods():
    """Return the rows of the pods."""
    # Only random(): what else a generator offers may change from one Python to the next.
    draw = random.Random(7).random

    def choose(values):
        return values[int(draw() * len(values))]

    kinds = [kind for kind in KINDS for _ in range(kind[0])]
    rows = []
    time = 0
    for i in range(PODS):
        _, gpus, milli, cpus = choose(kinds)
        cpu = choose(cpus) * max(gpus, 1)
        spec = choose(SPECS) if gpus == 1 and draw() < 0.12 else ""
        time += int(draw() * 600)
        runs = 600 + int(draw() * 86_400)
        qos = "LS" if gpus else choose(["LS", "BE", "Burstable"])
        times = (time, time + 30 + runs, time + 30)
        name = f"small-pod-{i:03}"
        rows.append([name, cpu, cpu * 3, gpus, milli, spec, qos, "Succeeded", *times])
    return rows


def write(path, columns, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    folder = parser.parse_args().folder
    write(folder / "small_nodes.csv", NODE_COLUMNS, nodes())
    write(folder / "small_pods.csv", POD_COLUMNS, pods())


if __name__ == "__main__":
    main()
