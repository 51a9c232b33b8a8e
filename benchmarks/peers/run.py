#!/usr/bin/env python3
"""Compares the scheduling cycles of schedfw and of the real kube-scheduler.

Builds both, has both schedule the pods of the same cluster files in turn, and prints how many times
faster schedfw is: kube-scheduler's mean time per pod divided by schedfw's of the same round. A bar
chart of the ratios goes to out/peers.png. kube-scheduler looks at all nodes, as schedfw does; a
second table has it sample nodes as it does by default, while schedfw still looks at all.

A full run takes about 15 minutes, --quick less than one; building comes on top the first time.
Needs Go 1.26 or newer, what scripts/setup.sh installs, and for the picture matplotlib.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import clusters

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build/benchmark"

ROUNDS = 5
QUICK_ROUNDS = 2
ALL_NODES = 100  # percentageOfNodesToScore
ADAPTIVE = 0
PARALLELISM = 16  # upstream's default


class ComparisonError(Exception):
    """Why there is no comparison."""


@dataclass(frozen=True)
class Work:
    """A cluster whose pods are scheduled, and how."""

    name: str
    nodes: int
    pods: int  # kube-scheduler's time for them is what a run takes
    quick_pods: int
    cluster: dict[str, Any]  # options of clusters.cluster
    batching: bool = False  # with batching.yaml
    tensor: bool = False  # schedfw keeps all scores
    quick: bool = False  # part of --quick

    def objects(self, quick: bool) -> clusters.Object:
        """Return the cluster that both sides read."""
        return clusters.cluster(self.nodes, self.quick_pods if quick else self.pods, **self.cluster)


SHAPES_SPREAD = {"spread": True, "shapes": True, "apps": 10}
# Few pods would show what a run's first cycles cost, which look at every node for the first time.
WORKS = (
    Work("shapes-spread-5000", 5000, 400, 150, SHAPES_SPREAD, quick=True),
    Work("shapes-plain-5000", 5000, 400, 150, {"shapes": True}),
    Work("services-5000", 5000, 500, 150, {"services": True, "apps": 10}),
    Work("replicas-spread-5000", 5000, 1200, 300, {"spread": True}),
    Work("replicas-batching-5000", 5000, 2000, 1000, {}, batching=True, quick=True),
    Work("fill-batching-5000", 5000, 2000, 2000, {"gpus": 8}, batching=True, quick=True),
    Work("article-512", 512, 1000, 300, {"gpus": 4, "spread": True, "apps": 10}, quick=True),
    Work("tensor-5000", 5000, 200, 60, SHAPES_SPREAD, tensor=True),
)


def chosen_works(names: Sequence[str], quick: bool) -> list[Work]:
    """Return the works of these names or, if there are none, those of a full or quick run."""
    if names:
        return [work for work in WORKS if work.name in names]
    return [work for work in WORKS if work.quick or not quick]


@dataclass
class Series:
    """Times of both sides, a pair a round."""

    schedfw_us: list[float] = field(default_factory=list)
    kube_scheduler_us: list[float] = field(default_factory=list)

    def ratios(self) -> list[float]:
        """Return how many times faster schedfw was in each round."""
        pairs = zip(self.kube_scheduler_us, self.schedfw_us, strict=True)
        return [theirs / ours for theirs, ours in pairs]

    def summary(self) -> dict[str, float]:
        """Return the figures of tables and of the JSON file."""
        ratios = self.ratios()
        return {
            "ratio_min": min(ratios),
            "ratio_median": statistics.median(ratios),
            "ratio_max": max(ratios),
            "schedfw_us": statistics.median(self.schedfw_us),
            "kube_scheduler_us": statistics.median(self.kube_scheduler_us),
        }


@dataclass
class Measured:
    """What all rounds of a work have shown."""

    work: Work
    pods: int
    bound: int | None = None  # in every run
    compiler: str = "unknown compiler"  # that built schedfw
    all_nodes: Series = field(default_factory=Series)
    adaptive: Series = field(default_factory=Series)
    simd: dict[str, Series] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the JSON file."""
        out: dict[str, Any] = {"work": self.work.name, "nodes": self.work.nodes}
        out |= {"pods": self.pods, "bound": self.bound, **self.all_nodes.summary()}
        out["adaptive"] = self.adaptive.summary()
        if self.simd:
            out["simd"] = {level: series.summary() for level, series in self.simd.items()}
        return out


# Programs.


@dataclass(frozen=True)
class Programs:
    """Both sides' programs, and how schedfw runs."""

    kube_scheduler: Path
    schedfw: Path
    threads: int = 1

    def run_kube_scheduler(self, work: Work, file: Path, percentage: int) -> dict[str, Any]:
        """Return what kube-scheduler says of a run."""
        command = [str(self.kube_scheduler), "-mode", "bench", "-in", str(file)]
        command += ["-pct", str(percentage), "-parallelism", str(PARALLELISM)]
        if work.batching:
            command += ["-config", str(HERE / "batching.yaml")]
        return run_for_json(command)

    def run_schedfw(self, work: Work, file: Path, simd: str, verify: bool) -> dict[str, Any]:
        """Return what schedfw says of a run."""
        command = [str(self.schedfw), "--in", str(file), "--threads", str(self.threads)]
        command += ["--simd", simd]
        if work.batching:
            command += ["--config", str(HERE / "batching.yaml")]
        if work.tensor:
            command.append("--tensor")
        if verify:
            command.append("--verify")
        return run_for_json(command)


def run_for_json(command: list[str]) -> dict[str, Any]:
    """Run a program that prints a JSON object."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ComparisonError(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        what = done.stderr.strip() or f"exit status {done.returncode}"
        raise ComparisonError(f"{' '.join(command)}\n{what}")
    try:
        out = json.loads(done.stdout)
        if out["mean_us"] > 0 and {"pods", "bound", "nodes"} <= out.keys():
            return dict(out)
    except (ValueError, KeyError, TypeError):
        pass
    raise ComparisonError(f"{' '.join(command)}\nunexpected output: {done.stdout[:200]!r}")


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


def run_logged(name: str, command: Sequence[str | Path], **env: str) -> None:
    """Run a command with its output in build/logs, which is shown only if it fails."""
    log = ROOT / f"build/logs/{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **env},
            check=False,
        )
    if done.returncode != 0:
        say(log.read_text(encoding="utf-8", errors="replace"))
        raise ComparisonError(f"failed: {' '.join(map(str, command))}")


def output_of(*command: str | Path) -> str:
    """Return what a command prints; nothing if it fails or doesn't exist."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def build_kube_scheduler() -> Path:
    """Build the real scheduler from the Go modules that go.sum names."""
    needed = "1.26 or newer is needed to build the real kube-scheduler"
    if not shutil.which("go"):
        raise ComparisonError(
            f"Go is missing: {needed}\n(see benchmarks/peers/kube_scheduler/README.md; "
            "--kube-scheduler FILE takes one that is built already)"
        )
    version = output_of("go", "env", "GOVERSION")
    found = re.match(r"go(\d+)\.(\d+)", version)
    if not found or (int(found[1]), int(found[2])) < (1, 26):
        raise ComparisonError(f"Go is too old: {version}; {needed}")
    say("building kube-scheduler (the first time this takes minutes)")
    out = BUILD / "kube_scheduler"
    source = str(HERE / "kube_scheduler")
    run_logged("peers-go", ["go", "-C", source, "build", "-buildvcs=false", "-o", out, "."])
    return out


def build_schedfw() -> Path:
    """Build schedfw's program, Release, where scripts/benchmark.sh builds too."""
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise ComparisonError(
                f"{tool} is missing: scripts/setup.sh installs what building needs"
            )
    say("building schedfw (the first time this takes minutes)")
    env = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    if shutil.which("ccache"):
        env["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    configure: list[str | Path] = [
        "cmake",
        "-S",
        ROOT,
        "-B",
        BUILD,
        "-G",
        "Ninja",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    configure += ["-DSCHEDFW_BUILD_TESTS=OFF", "-DSCHEDFW_BUILD_BENCHMARKS=ON"]
    run_logged("peers-configure", configure, **env)
    run_logged("peers-build", ["cmake", "--build", BUILD, "--target", "schedfw_peer"], **env)
    return BUILD / "benchmarks/schedfw_peer"


# Measuring.


def check(measured: Measured, who: str, told: dict[str, Any]) -> None:
    """Demand that a run did the same work as the runs before it."""
    work = measured.work
    if (told["pods"], told["nodes"]) != (measured.pods, work.nodes):
        raise ComparisonError(
            f"{work.name}: {who} saw {told['pods']} waiting pods and {told['nodes']} nodes; "
            f"the file has {measured.pods} and {work.nodes}"
        )
    if told["bound"] != measured.bound:
        raise ComparisonError(
            f"{work.name}: schedfw bound {measured.bound} of {measured.pods} pods, but {who} "
            f"{told['bound']}: their times can't be compared"
        )


def measure(
    work: Work,
    programs: Programs,
    rounds: int,
    levels: Sequence[str],
    quick: bool,
    progress: Callable[[str], None],
) -> Measured:
    """Have both sides schedule the same file, in turn; who begins alternates too."""
    objects = work.objects(quick)
    pods = sum(item["kind"] == "Pod" for item in objects["items"])
    out = Measured(work, pods, simd={level: Series() for level in levels})
    with tempfile.TemporaryDirectory(prefix="schedfw-peers-") as folder:
        file = Path(folder) / f"{work.name}.json"
        file.write_text(json.dumps(objects), encoding="utf-8")
        for number in range(rounds):
            measure_round(out, file, programs, number)
            ours, theirs = out.all_nodes.schedfw_us[-1], out.all_nodes.kube_scheduler_us[-1]
            progress(
                f"{work.name}, round {number + 1} of {rounds}: schedfw {figure(ours)} µs, "
                f"kube-scheduler {figure(theirs)} µs a pod, {figure(theirs / ours)}×"
            )
    if out.bound is not None and out.bound < pods:
        progress(f"{work.name}: only {out.bound} of {pods} pods found a node, on both sides")
    return out


def measure_round(out: Measured, file: Path, programs: Programs, number: int) -> None:
    """Run each variant once and keep the times."""
    work = out.work
    ours: dict[str, float] = {}
    theirs: dict[int, float] = {}

    def run_ours(level: str) -> None:
        told = programs.run_schedfw(work, file, level, verify=number == 0)
        if out.bound is None:
            out.bound = told["bound"]
            out.compiler = told.get("compiler", out.compiler)
        check(out, f"schedfw (--simd {level})", told)
        ours[level] = told["mean_us"]

    def run_theirs(percentage: int) -> None:
        told = programs.run_kube_scheduler(work, file, percentage)
        check(out, f"kube-scheduler (-pct {percentage})", told)
        theirs[percentage] = told["mean_us"]

    turns = [
        partial(run_ours, "auto"),
        partial(run_theirs, ALL_NODES),
        *(partial(run_ours, level) for level in out.simd),
        partial(run_theirs, ADAPTIVE),
    ]
    for turn in turns if number % 2 == 0 else reversed(turns):
        turn()
    out.all_nodes.schedfw_us.append(ours["auto"])
    out.all_nodes.kube_scheduler_us.append(theirs[ALL_NODES])
    out.adaptive.schedfw_us.append(ours["auto"])
    out.adaptive.kube_scheduler_us.append(theirs[ADAPTIVE])
    for level, series in out.simd.items():
        series.schedfw_us.append(ours[level])
        series.kube_scheduler_us.append(theirs[ALL_NODES])


# Tables.


def figure(value: float) -> str:
    """Return a number with three digits or, from a thousand on, as a whole one."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}"


HEADER = ("work", "nodes", "pods", "schedfw, µs", "kube-scheduler, µs", "ratio", "min", "max")


@dataclass(frozen=True)
class Table:
    """A table of texts with what it shows."""

    title: str
    rows: list[tuple[str, ...]]

    def text(self) -> str:
        """Return the table with aligned columns."""
        lines = [HEADER, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        out = [f"{self.title}:"]
        for line in lines:
            cells = [line[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            out.append("  ".join(cells))
        return "\n".join(out)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [HEADER, ("---",) + ("---:",) * (len(HEADER) - 1), *self.rows]
        rows = ["| " + " | ".join(line) + " |" for line in lines]
        rows[1] = rows[1].replace(" ", "")
        return "\n".join([f"{self.title}:", "", *rows])


def table(title: str, named: Iterable[tuple[Measured, Series]]) -> Table:
    """Return the table of one series of each work."""
    rows = []
    for measured, series in named:
        work, values = measured.work, series.summary()
        numbers = ("schedfw_us", "kube_scheduler_us", "ratio_median", "ratio_min", "ratio_max")
        cells = [f"{work.nodes:,}", f"{measured.pods:,}", *(figure(values[n]) for n in numbers)]
        rows.append((work.name, *cells))
    return Table(title, rows)


def tables(results: Sequence[Measured]) -> list[Table]:
    """Return all tables of a run."""
    out = [
        table("Both look at all nodes", ((m, m.all_nodes) for m in results)),
        table(
            "kube-scheduler samples nodes, schedfw looks at all", ((m, m.adaptive) for m in results)
        ),
    ]
    for level in results[0].simd:
        title = f"Both look at all nodes, schedfw with {level} forced"
        out.append(table(title, ((m, m.simd[level]) for m in results)))
    return out


# Where and how a run was taken.


def cpu_name() -> str:
    """Return the processor's name."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def upstream_version() -> str:
    """Return the version of kube-scheduler that is built."""
    text = (HERE / "kube_scheduler/go.mod").read_text(encoding="utf-8")
    found = re.search(r"^\s*(?:require )?k8s\.io/kubernetes (v\S+)", text, re.MULTILINE)
    return found[1] if found else "of unknown version"


def circumstances(programs: Programs, compiler: str, rounds: int) -> str:
    """Return what must be known about a run to understand its figures."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    commit = output_of("git", "-C", ROOT, "describe", "--always", "--dirty", "--exclude=*")
    built = output_of("go", "version", programs.kube_scheduler).rpartition(": ")[2]
    threads = f"{programs.threads} thread{'' if programs.threads == 1 else 's'}"
    if programs.threads == 0:
        threads = "all cores"
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return (
        f"{today}, {commit or 'unknown commit'}, {cpu_name()}, {cores} cores, {rounds} rounds. "
        f"schedfw: {compiler}, Release, {threads}. kube-scheduler {upstream_version()}: "
        f"{built or 'unknown Go version'}, parallelism {PARALLELISM} on all cores."
    )


# Files.

BEGIN = "<!-- peers -->\n"
END = "<!-- end of peers -->"


def replace_marked(text: str, inner: str, name: str) -> str:
    """Return a text with what is between the markers replaced; `name` is for the error."""
    begin, end = text.find(BEGIN), text.find(END)
    if min(begin, end) < 0 or end < begin or text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ComparisonError(
            f"{name}: the tables go between the lines {BEGIN.strip()} and {END}, once in that order"
        )
    return text[: begin + len(BEGIN)] + inner + text[end:]


def marked_text(file: Path) -> str:
    """Return a file's text, or only markers if there is no such file."""
    return file.read_text(encoding="utf-8") if file.exists() else f"{BEGIN}{END}\n"


def write_markdown(file: Path, results: Sequence[Measured], about: str) -> None:
    """Put the tables between the markers of a file."""
    parts = [about, *(table.markdown() for table in tables(results))]
    inner = "\n\n".join(parts) + "\n"
    file.write_text(replace_marked(marked_text(file), inner, str(file)), encoding="utf-8")


def write_json(file: Path, results: Sequence[Measured]) -> None:
    """Write the ratios, an entry a work."""
    entries = [measured.to_json() for measured in results]
    file.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def write_png(file: Path, results: Sequence[Measured], about: str) -> bool:
    """Draw the ratios; says how to get matplotlib if it is missing."""
    try:
        import matplotlib  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        say(
            "no picture: matplotlib is missing. Install it with\n"
            f"  {sys.executable} -m pip install matplotlib\n"
            "or run scripts/setup.sh, which makes .venv, and then .venv/bin/python "
            "benchmarks/peers/run.py"
        )
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, NullFormatter

    drawn = [
        ("both look at all nodes", [m.all_nodes for m in results]),
        ("kube-scheduler samples nodes, schedfw looks at all", [m.adaptive for m in results]),
        *(
            (f"all nodes, schedfw with {level} forced", [m.simd[level] for m in results])
            for level in results[0].simd
        ),
    ]
    colours = ("#1f5f99", "#e69f3c", "#4c9f70", "#9467bd", "#8c564b", "#7f7f7f")
    thick = 0.8 / len(drawn)
    height = 1.9 + len(results) * (0.3 + 0.27 * len(drawn))
    picture, axes = pyplot.subplots(figsize=(10, height), layout="constrained")
    summaries = [[one.summary() for one in series] for _, series in drawn]
    for number, (label, _) in enumerate(drawn):
        values = summaries[number]
        places = [row - 0.4 + thick * (number + 0.5) for row in range(len(results))]
        middle = [value["ratio_median"] for value in values]
        low = [value["ratio_median"] - value["ratio_min"] for value in values]
        high = [value["ratio_max"] - value["ratio_median"] for value in values]
        colour = colours[number % len(colours)]
        # From 1 on, so that a ratio below it shows as a bar to the left.
        axes.barh(
            places,
            [m - 1 for m in middle],
            thick * 0.9,
            left=1,
            color=colour,
            label=label,
            zorder=2,
        )
        axes.errorbar(
            middle,
            places,
            xerr=[low, high],
            fmt="none",
            ecolor="#202020",
            elinewidth=1.1,
            capsize=3,
            zorder=3,
        )
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                f"{figure(value['ratio_median'])}×",
                (max(value["ratio_max"], 1), place),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
    axes.set_xscale("log")
    flat = list(itertools.chain.from_iterable(summaries))
    least, most = min(v["ratio_min"] for v in flat), max(v["ratio_max"] for v in flat)
    axes.set_xlim(min(1.0, least / 1.3), max(10.0, most) * 1.7)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", which="major", color="#c0c0c0", linewidth=0.8, zorder=0)
    axes.grid(axis="x", which="minor", color="#ececec", linewidth=0.6, zorder=0)
    axes.axvline(1, color="#202020", linewidth=1, zorder=4)
    axes.set_yticks(range(len(results)), [m.work.name for m in results])
    axes.set_ylim(len(results) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel("kube-scheduler's mean time per pod ÷ schedfw's (median; lines: least to most)")
    first, _, rest = about.partition(". ")
    title = f"schedfw compared with kube-scheduler {upstream_version()}"
    axes.set_title(title, fontsize=14, pad=34)
    axes.annotate(
        f"{first}\n{rest}",
        (0.5, 1),
        (0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8,
        color="#505050",
    )
    picture.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(file, dpi=120)
    pyplot.close(picture)
    return True


# The command line.


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options."""
    names = [work.name for work in WORKS]
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="works: " + ", ".join(names),
    )
    parser.add_argument("--quick", action="store_true", help="fewer works, pods and rounds")
    parser.add_argument(
        "--rounds",
        type=clusters.number_from(1),
        metavar="N",
        help=f"how often each side runs (default: {ROUNDS}; with --quick {QUICK_ROUNDS})",
    )
    parser.add_argument(
        "--work",
        action="append",
        default=[],
        choices=names,
        metavar="NAME",
        help="only this work; may be given several times",
    )
    parser.add_argument(
        "--threads",
        type=clusters.number_from(0),
        default=1,
        metavar="N",
        help="threads of schedfw; 0: as many as there are cores (default: 1)",
    )
    parser.add_argument(
        "--simd",
        action="append",
        default=[],
        metavar="LEVEL",
        help="also run schedfw with these instructions forced, e.g. avx2; may be given several "
        "times",
    )
    parser.add_argument(
        "--png", type=Path, default=ROOT / "out/peers.png", metavar="FILE", help="the bar chart"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the ratios as JSON")
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="FILE",
        help="write the tables between the markers of this file, such as docs/performance.md; "
        "a file that doesn't exist is made",
    )
    parser.add_argument(
        "--kube-scheduler", type=Path, metavar="FILE", help="use this program, don't build it"
    )
    parser.add_argument(
        "--schedfw", type=Path, metavar="FILE", help="use this schedfw_peer, don't build it"
    )
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    options.simd = [level for level in dict.fromkeys(options.simd) if level != "auto"]
    return options


def check_files(options: argparse.Namespace) -> None:
    """Demand before the long run that its results can be written."""
    for file in (options.json, options.markdown):
        if file is not None and not file.parent.is_dir():
            raise ComparisonError(f"{file}: there is no folder {file.parent}")
    if options.markdown is not None:
        replace_marked(marked_text(options.markdown), "", str(options.markdown))


def run(options: argparse.Namespace) -> None:
    """Build, measure, and write the results."""
    check_files(options)
    programs = Programs(
        options.kube_scheduler or build_kube_scheduler(),
        options.schedfw or build_schedfw(),
        options.threads,
    )
    works = chosen_works(options.work, options.quick)
    results = []
    for number, work in enumerate(works, start=1):

        def progress(text: str, number: int = number) -> None:
            say(f"[{number}/{len(works)}] {text}")

        results.append(
            measure(work, programs, options.rounds, options.simd, options.quick, progress)
        )
    about = circumstances(programs, results[0].compiler, options.rounds)
    print(about)
    for one in tables(results):
        print(f"\n{one.text()}")
    if options.json is not None:
        write_json(options.json, results)
    if options.markdown is not None:
        write_markdown(options.markdown, results, about)
    if write_png(options.png, results, about):
        say(f"picture: {options.png}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    options = read_options(arguments)
    try:
        run(options)
    except ComparisonError as error:
        say(f"run.py: {error}")
        return 1
    except KeyboardInterrupt:
        say("run.py: interrupted")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
