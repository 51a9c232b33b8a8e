"""Put the tables and pictures of the bandwidth model into a page: bandwidth_tables.py PAGE.

They go between the lines "<!-- bandwidth: begin -->" and "<!-- bandwidth: end -->"; pictures go to
the folder images beside the page.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from openb_table import circumstances

import schedfw

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- bandwidth: begin -->\n", "<!-- bandwidth: end -->"

MODELS = ("V100", "A100", "H100", "B200", "MI300X", "L40S")
# (preset, GPUs, published GB/s of bus bandwidth, where)
SETS = (
    ("dgx-1-v100", range(8), "–", "NCCL counts with 6 × 20"),
    ("dgx-1-v100", range(4), "–", ""),
    ("dgx-1-v100", (0, 1, 2, 3, 7), "–", "no ring of NVLinks; NVIDIA/nccl#301 asks for it"),
    ("dgx-a100", range(8), "232.5", "NVIDIA/nccl-tests#175"),
    ("a100-pcie-8", range(2), "208", "NVIDIA/nccl-tests#178"),
    ("a100-pcie-8", range(3), "20", "NVIDIA/nccl-tests#178"),
    ("a100-pcie-8", range(8), "–", ""),
    ("dgx-h100", range(8), "370", "NVIDIA/nccl-tests#212, rings; 480 with NVLink SHARP"),
    ("mi300x-8", range(8), "–", "AMD: 48 usable of a link's 64"),
    ("split-socket-4", range(4), "–", ""),
)
REPORTS = (
    ("mixed_gpu_cluster.py", "mixed_gpu_cluster.png", "Bandwidth of jobs with and without plugins"),
    ("report_a7.py", "gpu_spread.png", "Bandwidth of pods by how a job is spread"),
    ("report_a10.py", "allreduce_numa.png", "Bandwidth and p99 by binding"),
    ("report_a13.py", "cross_numa.png", "Bandwidth over the share of edges that cross NUMA nodes"),
)


def declared_table() -> list[str]:
    """Return what is declared for models of GPU."""
    lines = [
        "| model | NVLink, xGMI: a link × efficiency | links of a GPU | PIX to NODE | SYS | NIC |",
        "|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        b = schedfw.LinkBandwidths(model).to_dict()
        kind = "xgmi" if model.startswith("MI") else "nvlink"
        links = "7" if kind == "xgmi" else f"{b['nvlinks_per_gpu']:g}"
        direct = f"{b[kind]:g} × {b[kind + '_efficiency']:g}"
        if model == "L40S":
            direct = links = "–"
        lines.append(
            f"| {model} | {direct} | {links} | {b['pix']:g} | {b['sys']:g} | {b['nic']:g} |"
        )
    return lines


def rings_table() -> list[str]:
    """Return what the model says of sets of GPUs, and what was published."""
    lines = [
        "| machine | GPUs | model: ring | model: 1 GB | by | bottleneck | published | where |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, gpus, published, where in SETS:
        model = schedfw.BandwidthModel(schedfw.NodeTopology.preset(name))
        ring, result = model.ring(gpus), model.all_reduce(gpus, 1e9)
        numbers = ", ".join(map(str, gpus)) if isinstance(gpus, tuple) else f"0–{gpus[-1]}"
        lines.append(
            f"| {name} | {numbers} | {ring.busbw:.1f} | {result.busbw:.1f} | {result.algorithm} "
            f"| {ring.bottleneck} | {published} | {where} |"
        )
    return lines


def report(script: str, picture: Path) -> str:
    """Return what a report prints, and draw its picture."""
    done = subprocess.run(
        [sys.executable, ROOT / "examples/python" / script, "--png", picture],
        capture_output=True,
        text=True,
        check=True,
    )
    return "".join(
        f"{line.rstrip()}\n" for line in done.stdout.splitlines() if line != str(picture)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, metavar="PAGE")
    args = parser.parse_args()
    text = args.page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.find(END) < text.find(BEGIN):
        parser.error(f"{args.page}: needs the lines {BEGIN.strip()} and {END}, once in that order")
    parts = [
        circumstances(),
        "What is declared, GB/s in one direction:",
        "\n".join(declared_table()),
        "Bus bandwidth, GB/s; rings of large messages, and the faster of ring and tree with 1 GB:",
        "\n".join(rings_table()),
    ]
    for script, name, alt in REPORTS:
        out = report(script, args.page.parent / "images" / name)
        parts += [f"`examples/python/{script}`:", f"```text\n{out}```", f"![{alt}](images/{name})"]
    inner = "\n\n".join(parts) + "\n"
    head, tail = text[: text.find(BEGIN) + len(BEGIN)], text[text.find(END) :]
    args.page.write_text(head + inner + tail, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
