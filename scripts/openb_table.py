"""Compare schedfw.pack with the published results on the openb trace: openb_table.py DATA.

DATA is a folder with the trace's node and pod lists, analysis_allo_discrete.csv and
analysis_frag_ratio_discrete.csv, gzip or not, and, for the comparison cell by cell, a folder
derived with the orders of arrivals and the ranks of nodes that the published runs had.

Prints the tables and the worst deviations; the exit status is 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import multiprocessing
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import schedfw

ROOT = Path(__file__).resolve().parents[1]
MEASURES = ("allocation", "frag_ratio")
POLICIES = ("random", "dotprod", "clustering", "packing", "bestfit", "fgd")
SEEDS = range(42, 52)
ARRIVED = (90, 100, 110, 120, 130)
WIDE = range(50, 131)  # where the curves of policies part

# The lists whose pods, totals and draws are those of the default one: its orders hold for them.
GIVEN = ("default", "gpuspec10", "gpuspec20", "gpuspec25", "gpuspec33")

# With given orders: the last digit of a mean, which may round the other way, and noise.
CELL = {"allocation": 0.011, "frag_ratio": 0.001}
# What Random draws is its own in every implementation, so only means can be compared.
RANDOM_MEAN = 0.45
# Means of n runs of one distribution differ by less than 3·sd·√(2/n) nearly always: with a
# deviation that is estimated from ten runs, but for 1.5 % of the cells (Student's t, 9 degrees of
# freedom). Cells of one list come together, so more of them may be beyond in one run.
MOST_BEYOND = 0.05
WORST_BEYOND = 3.0
SIGMAS = 3 * np.sqrt(2 / len(SEEDS))
# Published means have two decimals: where all runs agree, the last one may still differ.
LAST_DIGIT = 0.01

BEGIN, END = "<!-- openb: begin -->\n", "<!-- openb: end -->"


@dataclass(frozen=True)
class Job:
    """The runs of one policy on one list."""

    data: Path
    workload: str
    policy: str
    given: bool
    first_seed: int


def run(job: Job) -> dict[str, np.ndarray]:
    """Return measure → curves, a row a seed."""
    derived = job.data / "derived"
    order = ranks = None
    if job.given:
        order = find(derived, "arrival_rows_default.csv")
        ranks = find(derived, "node_rank_default.csv")
    packing = schedfw.pack(
        find(job.data, "openb_node_list_gpu_node.csv"),
        find(job.data, f"openb_pod_list_{job.workload}.csv"),
        job.policy,
        seed=SEEDS if job.given else range(job.first_seed, job.first_seed + len(SEEDS)),
        order=order,
        ranks=ranks,
    )
    return {measure: packing.curves(job.policy, measure) for measure in MEASURES}


def find(folder: Path, name: str) -> Path:
    """Return a file's path, gzip or not."""
    path = folder / name
    zipped = folder / f"{name}.gz"
    return zipped if zipped.exists() and not path.exists() else path


def published(data: Path) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Return (list, policy) → measure → curves, a row a seed."""
    names = dict(zip(("01", "02", "03", "04", "05", "06"), POLICIES, strict=True))
    files = {
        "allocation": "analysis_allo_discrete.csv",
        "frag_ratio": "analysis_frag_ratio_discrete.csv",
    }
    out: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    for measure, name in files.items():
        path = find(data, name)
        rows: dict[tuple[str, str], dict[int, list[float]]] = {}
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        for row in csv.DictReader(text.splitlines()):
            workload = row["workload"].removeprefix("openb_pod_list_")
            curve = [float(row[str(percent)] or "nan") for percent in range(131)]
            key = (workload, names[row["sc_policy"][:2]])
            rows.setdefault(key, {})[int(row["seed"])] = curve
        for key, curves in rows.items():
            out.setdefault(key, {})[measure] = np.array([curves[seed] for seed in SEEDS])
    return out


Curves = dict[tuple[str, str], dict[str, np.ndarray]]


def run_all(jobs: list[Job], processes: int) -> list[dict[str, np.ndarray]]:
    """Run jobs, each in a process of its own; the order is that of `jobs`."""
    # Not forked: a child has none of the threads that the parent's libraries count on.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        futures = {pool.submit(run, job): i for i, job in enumerate(jobs)}
        results: list[dict[str, np.ndarray]] = [{} for _ in jobs]
        for done, future in enumerate(as_completed(futures), 1):
            results[futures[future]] = future.result()
            if sys.stderr.isatty():
                print(f"\r{done} of {len(jobs)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    return results


def furthest(difference: np.ndarray) -> float:
    """Return the largest difference; infinite where only one side has a value."""
    return float(np.nan_to_num(np.abs(difference), nan=np.inf).max())


def cells(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return the differences; 0 where neither side has a value."""
    return np.where(np.isnan(ours) & np.isnan(theirs), 0.0, ours - theirs)


def compare_given(ours: Curves, theirs: Curves) -> tuple[list[str], list[str]]:
    """Return the table of the largest differences, and the bounds that are broken."""
    lines = ["| list | | " + " | ".join(POLICIES) + " |", "|---|---|" + "---:|" * len(POLICIES)]
    broken = []
    for workload in dict.fromkeys(workload for workload, _ in ours):
        for measure in MEASURES:
            row = []
            for policy in POLICIES:
                a, b = ours[workload, policy][measure], theirs[workload, policy][measure]
                where = f"{workload}, {policy}, {measure}, given order"
                if policy == "random":
                    means = (cells(a, b).mean(axis=0))[list(ARRIVED)]
                    worst, bound = furthest(means), RANDOM_MEAN
                else:
                    worst, bound = furthest(cells(a, b)), CELL[measure]
                row.append(f"{worst:.2f}" if policy == "random" else f"{worst:.4f}")
                if not worst <= bound and (policy != "random" or measure == "allocation"):
                    broken.append(f"{where}: {worst:.4f} is above {bound}")
            name = {"allocation": "allocation", "frag_ratio": "frag ratio"}[measure]
            lines.append(f"| {workload} | {name} | " + " | ".join(row) + " |")
    return lines, broken


def relative(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Return by column how far means differ, in units of what they may."""
    bound = np.fmax(SIGMAS * theirs.std(axis=0, ddof=1), LAST_DIGIT)
    return np.abs(cells(ours.mean(axis=0), theirs.mean(axis=0))) / bound


def compare_means(ours: Curves, theirs: Curves) -> tuple[list[str], list[str]]:
    """Return the table of the largest differences of means, and the bounds that are broken."""
    lines = [
        "| policy | | worst of 90–130 % | list | at | within, 90–130 % | within, 50–130 % |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    broken = []
    beyond: dict[str, list[str]] = {measure: [] for measure in MEASURES}
    worst, where = 0.0, ""
    workloads = list(dict.fromkeys(workload for workload, _ in ours))
    for policy in POLICIES:
        for measure in MEASURES:
            table = np.array(
                [
                    relative(ours[workload, policy][measure], theirs[workload, policy][measure])
                    for workload in workloads
                ]
            )
            table = np.nan_to_num(table, nan=np.inf)
            narrow, wide = table[:, list(ARRIVED)], table[:, list(WIDE)]
            i, j = np.unravel_index(narrow.argmax(), narrow.shape)
            name = {"allocation": "allocation", "frag_ratio": "frag ratio"}[measure]
            lines.append(
                f"| {policy} | {name} | {narrow.max():.2f} | {workloads[i]} | {ARRIVED[j]} % | "
                f"{(narrow <= 1).sum():,} of {narrow.size:,} | "
                f"{(wide <= 1).sum():,} of {wide.size:,} |"
            )
            beyond[measure] += [
                f"{workloads[i]} {policy} at {ARRIVED[j]} %: {narrow[i, j]:.2f}"
                for i, j in zip(*np.nonzero(narrow > 1), strict=True)
            ]
            if narrow.max() > worst:
                worst = float(narrow.max())
                i, j = np.unravel_index(narrow.argmax(), narrow.shape)
                where = f"{workloads[i]}, {policy}, {measure} at {ARRIVED[j]} %"
    cell_count = len(workloads) * len(POLICIES) * len(ARRIVED)
    for measure, cells_beyond in beyond.items():
        counted = f"{len(cells_beyond)} of {cell_count} cells"
        named = ": " + "; ".join(cells_beyond) if cells_beyond else ""
        lines += ["", f"Beyond one, {measure.replace('_', ' ')}, {counted}{named}."]
        if len(cells_beyond) > MOST_BEYOND * cell_count:
            broken.append(
                f"{measure}, own order: {len(cells_beyond)} of {cell_count} cells are beyond what "
                f"means may differ (allowed: {MOST_BEYOND:.0%})"
            )
    if worst > WORST_BEYOND:
        broken.append(
            f"{where}, own order: {worst:.2f} of what means may differ (allowed: {WORST_BEYOND})"
        )
    return lines, broken


def means_table(ours: Curves, theirs: Curves, percent: int) -> list[str]:
    """Return the mean allocation of each list and policy, and the published one."""
    lines = ["| list | " + " | ".join(POLICIES) + " |", "|---|" + "---:|" * len(POLICIES)]
    for workload in dict.fromkeys(workload for workload, _ in ours):
        row = []
        for policy in POLICIES:
            pair = (curves[workload, policy]["allocation"] for curves in (ours, theirs))
            a, b = (curves[:, percent].mean() for curves in pair)
            row.append(f"{a:.2f} ({b:.2f})")
        lines.append(f"| {workload} | " + " | ".join(row) + " |")
    return lines


def policy_table(ours: Curves, theirs: Curves, workload: str) -> list[str]:
    """Return mean and deviation of the allocation on one list, and the published ones."""
    heading = " | ".join(f"{percent} %" for percent in ARRIVED)
    lines = [f"| policy | | {heading} |", "|---|---|" + "---:|" * len(ARRIVED)]
    for policy in POLICIES:
        for whose, of in ((ours, "schedfw"), (theirs, "published")):
            curves = whose[workload, policy]["allocation"][:, list(ARRIVED)]
            pairs = zip(curves.mean(axis=0), curves.std(axis=0, ddof=1), strict=True)
            row = " | ".join(f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in pairs)
            lines.append(f"| {policy} | {of} | {row} |")
    return lines


def draw(ours: Curves, theirs: Curves, workload: str, path: Path) -> None:
    """Draw the curves of one list, and the published means as dots."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    labels = ("allocated GPUs [% of all]", "fragmented GPUs [% of the idle]")
    for axes, measure, label in zip(figure.subplots(1, 2), MEASURES, labels, strict=True):
        for policy in POLICIES:
            curves = ours[workload, policy][measure]
            mean, deviation = curves.mean(axis=0), curves.std(axis=0, ddof=1)
            (line,) = axes.plot(np.arange(131), mean, label=policy)
            axes.fill_between(
                np.arange(131),
                mean - deviation,
                mean + deviation,
                color=line.get_color(),
                alpha=0.2,
                linewidth=0,
            )
            dots = np.arange(0, 131, 5)
            known = theirs[workload, policy][measure].mean(axis=0)[dots]
            axes.plot(dots, known, ".", color=line.get_color())
        axes.set_xlabel("arrived GPU requests [% of all GPUs]")
        axes.set_ylabel(label)
    left, right = figure.axes
    left.set_xlim(70, 130)
    left.set_ylim(65, 100)
    right.set_xlim(0, 130)
    right.legend()
    figure.suptitle(f"{workload}: means of {len(SEEDS)} orders; dots: as published")
    figure.savefig(path, dpi=100)


def circumstances() -> str:
    """Return date, machine and commit."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    done = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
    )
    cores = len(os.sched_getaffinity(0))
    today = datetime.datetime.now(datetime.timezone.utc).date()
    cpu = found[1].strip() if found else "unknown processor"
    return f"{today}, {done.stdout.strip() or 'unknown commit'}, {cpu}, {cores} cores."


def replace_marked(text: str, inner: str, name: object) -> str:
    """Return a text with what is between the markers replaced."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.find(END) < text.find(BEGIN):
        raise ValueError(
            f"{name}: the tables go between the lines {BEGIN.strip()} and {END}, once in that order"
        )
    return text[: text.find(BEGIN) + len(BEGIN)] + inner + text[text.find(END) :]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", metavar="DATA", type=Path, help="the trace and its results")
    parser.add_argument("--list", metavar="NAME", action="append", help="only this list of pods")
    parser.add_argument("--seed", metavar="N", type=int, default=42, help="first own seed of ten")
    parser.add_argument("--processes", metavar="N", type=int, default=os.cpu_count())
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="put the tables there")
    parser.add_argument("--png", metavar="FILE", type=Path, help="draw the curves of default")
    args = parser.parse_args()
    try:
        theirs = published(args.data)
        page = args.markdown and args.markdown.read_text(encoding="utf-8")
        if page:
            replace_marked(page, "", args.markdown)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    workloads = list(dict.fromkeys(workload for workload, _ in theirs))
    workloads.sort(key=lambda name: (name != "default", name.rstrip("0123456789"), len(name), name))
    if args.list:
        if unknown := set(args.list) - set(workloads):
            parser.error(
                f"--list: {', '.join(sorted(unknown))}: no published results (there are: "
                f"{', '.join(workloads)})"
            )
        workloads = [name for name in workloads if name in args.list]
    jobs = [
        Job(args.data, workload, policy, given, args.seed)
        for given, lists in ((True, GIVEN), (False, workloads))
        for workload in lists
        for policy in POLICIES
        if workload in workloads and (not given or (args.data / "derived").is_dir())
    ]
    try:
        results = run_all(jobs, args.processes)
    except schedfw.Error as error:
        parser.error(str(error))
    given: Curves = {}
    own: Curves = {}
    for job, result in zip(jobs, results, strict=True):
        (given if job.given else own)[job.workload, job.policy] = result

    last = args.seed + len(SEEDS) - 1
    parts = [circumstances()]
    broken = []
    if "default" in workloads:
        parts += [
            f"The default list, allocated GPUs in % of all, orders drawn with seeds {args.seed} to "
            f"{last}, mean ± standard deviation:",
            "\n".join(policy_table(own, theirs, "default")),
        ]
    for percent in (100, 130):
        parts += [
            f"All lists, mean allocation when {percent} % had arrived, and in parentheses the "
            "published mean:",
            "\n".join(means_table(own, theirs, percent)),
        ]
    lines, wrong = compare_means(own, theirs)
    broken += wrong
    parts += [
        "How far the means are from the published ones, in units of 3·sd·√(2/10):",
        "\n".join(lines),
    ]
    if given:
        lines, wrong = compare_given(given, theirs)
        broken += wrong
        parts += [
            "Given orders: the largest difference from a published cell (10 seeds × 131 columns); "
            "for random, of the mean of ten seeds at 90 to 130 %:",
            "\n".join(lines),
        ]
    text = "\n\n".join(parts) + "\n"
    print(text)
    for line in broken:
        print(f"broken: {line}", file=sys.stderr)
    if args.png and "default" in workloads:
        draw(own, theirs, "default", args.png)
    if page:
        args.markdown.write_text(replace_marked(page, text, args.markdown), encoding="utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
