"""Packing: how well policies use the GPUs of a trace."""

from __future__ import annotations

import csv
import errno
import math
import numbers
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from schedfw import _core
from schedfw.scheduler import _MAX_64, _MAX_THREADS, ProgressCallback, _integer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    Table: TypeAlias = str | os.PathLike[str] | pd.DataFrame

Measure = Literal["allocation", "frag_ratio"]

# Of arrived GPU requests: 0 to 130.
PERCENTAGES = 131

_POLICIES = dict(_core.pack_policies())
_LABELS = {
    "allocation": "allocated GPUs [% of all]",
    "frag_ratio": "fragmented GPUs [% of the idle]",
}


@dataclass(frozen=True, eq=False)
class PackRun:
    """One policy with one order of arrivals.

    Attributes
    ----------
    workload
        The name of the list of pods.
    policy
        As `pack` takes it.
    published_policy
        As the published tables call it.
    tune, seed
        What the order was made with.
    result
        The curves, and what became of each pod.
    """

    workload: str
    policy: str
    published_policy: str
    tune: float
    seed: int
    result: _core.PackResult

    def idle_gpus(self) -> dict[str, float]:
        """Return the GPUs that are idle at the end, by what typical pods could do with them."""
        idle = self.result.idle
        last = idle[-1] / 1000 if len(idle) else np.zeros(len(_core.GPU_CLASSES))
        return dict(zip(_core.GPU_CLASSES, last.tolist(), strict=True))

    def used_gpus(self) -> float:
        """Return the GPUs that are allocated at the end."""
        used = self.result.used_milli
        return float(used[-1]) / 1000 if len(used) else 0.0

    def __repr__(self) -> str:
        return f"<PackRun of {self.workload} by {self.policy}, seed {self.seed}: {self.result!r}>"


class Packing:
    """The runs of several policies and seeds on one trace.

    Attributes
    ----------
    runs
        A PackRun for each policy and seed, policy by policy.
    """

    def __init__(self, runs: Sequence[PackRun], trace: _core.GpuTrace) -> None:
        self.runs = tuple(runs)
        self._trace = trace

    @property
    def policies(self) -> list[str]:
        """The policies, in the order in which they ran."""
        return list(dict.fromkeys(run.policy for run in self.runs))

    @property
    def seeds(self) -> list[int]:
        """The seeds."""
        return list(dict.fromkeys(run.seed for run in self.runs))

    @property
    def total_gpus(self) -> int:
        """All GPUs of the trace."""
        return self._trace.total_milli // 1000

    @property
    def workload(self) -> str:
        """The name of the list of pods."""
        return self.runs[0].workload

    @property
    def node_count(self) -> int:
        """How many nodes the trace has."""
        return self._trace.node_count

    @property
    def pod_count(self) -> int:
        """How many pods the list has; more or fewer arrive."""
        return self._trace.pod_count

    def curves(self, policy: str, measure: Measure = "allocation") -> npt.NDArray[np.float64]:
        """Return the curves of a policy.

        Parameters
        ----------
        policy
            One of `policies`.
        measure
            "allocation": allocated GPUs in percent of all; "frag_ratio": fragmented GPUs in
            percent of the idle ones.

        Returns
        -------
        numpy.ndarray
            Of shape (seeds, 131): a column for each percent of arrived GPU requests. NaN where no
            pod arrived near it.
        """
        _check_measure(measure)
        curves = [getattr(run.result, measure) for run in self.runs if run.policy == policy]
        if not curves:
            raise _core.Error(
                f'policy: "{policy}" was not run (allowed: {", ".join(self.policies)})'
            )
        return np.array(curves, dtype=np.float64)

    def mean(
        self, policy: str, measure: Measure = "allocation"
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the mean of `curves` over the seeds, and their sample deviation.

        Both are of shape (131,); NaN where they aren't known.
        """
        curves = self.curves(policy, measure)
        known = ~np.isnan(curves)
        count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
        mean = np.where(known, curves, 0).sum(axis=0) / count
        squares = np.where(known, curves - mean, 0) ** 2
        deviation = np.sqrt(squares.sum(axis=0) / np.where(count > 1, count - 1, np.nan))
        return mean, deviation

    def end_means(self) -> dict[str, dict[str, float]]:
        """Return policy → how its runs end, on average over the seeds.

        That is: pods that failed, GPUs and cores in use, and idle GPUs by class.
        """
        out = {}
        for policy in self.policies:
            ends = [
                {
                    "failed": float(run.result.failed),
                    "used_gpus": run.used_gpus(),
                    "used_cores": run.result.used_cpu_milli / 1000,
                    **run.idle_gpus(),
                }
                for run in self.runs
                if run.policy == policy
            ]
            out[policy] = {key: sum(end[key] for end in ends) / len(ends) for key in ends[0]}
        return out

    def to_pandas(self) -> pd.DataFrame:
        """Return the allocation as a DataFrame, a row a run, with the published columns.

        These are workload, sc_policy, tune, seed, total_gpus, and "0" to "130", the percentage of
        GPU requests that had arrived. Needs pandas.
        """
        return self._frame("allocation")

    def frag_ratio(self) -> pd.DataFrame:
        """Return the fragmentation as a DataFrame, a row a run, with the published columns.

        They are those of `to_pandas` without total_gpus. Needs pandas.
        """
        return self._frame("frag_ratio")

    def summary(self, at: Sequence[int] = (90, 100, 110, 120, 130)) -> pd.DataFrame:
        """Return means over the seeds as a DataFrame, a row a policy; needs pandas.

        Parameters
        ----------
        at
            Percentages of arrived GPU requests, 0 to 130.

        Returns
        -------
        pandas.DataFrame
            With columns (measure, percentage).
        """
        import pandas as pd

        measures: tuple[Measure, ...] = ("allocation", "frag_ratio")
        columns = pd.MultiIndex.from_product([measures, at], names=["measure", "arrived"])
        rows = [
            [self.mean(policy, measure)[0][percent] for measure in measures for percent in at]
            for policy in self.policies
        ]
        index = pd.Index([_POLICIES[policy] for policy in self.policies], name="sc_policy")
        return pd.DataFrame(rows, index=index, columns=columns)

    def end_state(self) -> pd.DataFrame:
        """Return how the runs end as a DataFrame, means over the seeds; needs pandas.

        Returns
        -------
        pandas.DataFrame
            A row a policy: pods that failed, GPUs and cores that are allocated, and idle GPUs by
            class.
        """
        import pandas as pd

        rows = self.end_means()
        index = pd.Index([_POLICIES[policy] for policy in rows], name="sc_policy")
        return pd.DataFrame(list(rows.values()), index=index)

    def plot(self, ax: Axes | None = None, measure: Measure = "allocation") -> Axes:
        """Draw the curve of each policy, and return the axes.

        The line is the mean over the seeds, the band around it their standard deviation. Needs
        matplotlib (the extra `plot`).

        Parameters
        ----------
        ax
            Where to draw; axes of its own if none are given.
        measure
            "allocation" or "frag_ratio".
        """
        _check_measure(measure)
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        if measure == "allocation":
            ax.plot([0, 100], [0, 100], color="0.7", linestyle=":", label="all that arrived")
        for policy in self.policies:
            mean, deviation = self.mean(policy, measure)
            arrived = np.arange(len(mean))
            (line,) = ax.plot(arrived, mean, label=_POLICIES[policy])
            if not np.isnan(deviation).all():
                low, high = mean - deviation, mean + deviation
                ax.fill_between(arrived, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set_xlim(0, 130)
        ax.set_ylim(0, 100)
        ax.set_xlabel("arrived GPU requests [% of all GPUs]")
        ax.set_ylabel(_LABELS[measure])
        ax.legend()
        return ax

    def save(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Write the runs to a folder: allocation.csv, frag_ratio.csv and curves.png.

        The tables have the published columns, a row a run; the picture is drawn if matplotlib is
        there. Files appear when they are complete, and replace older ones.

        Returns
        -------
        list
            The paths.

        Raises
        ------
        OSError
            When the folder or a file in it can't be written; then no older file has changed.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pack-", dir=folder) as temporary:
            new = Path(temporary)
            self._write_csv(new / "allocation.csv", "allocation")
            self._write_csv(new / "frag_ratio.csv", "frag_ratio")
            self._draw(new / "curves.png")
            paths = [folder / path.name for path in sorted(new.iterdir())]
            for path in paths:
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "is a directory, not a file", str(path))
            for path in paths:
                (new / path.name).replace(path)
        return paths

    def _table(self, measure: Measure) -> tuple[list[str], list[list[object]]]:
        """Return heading and rows of a published table; None where there is no value."""
        names = ["workload", "sc_policy", "tune", "seed"]
        if measure == "allocation":
            names.append("total_gpus")
        rows = []
        for run in self.runs:
            curve = getattr(run.result, measure).tolist()
            row: list[object] = [run.workload, run.published_policy, run.tune, run.seed]
            if measure == "allocation":
                row.append(self.total_gpus)
            rows.append(row + [None if math.isnan(value) else value for value in curve])
        return names + [str(percent) for percent in range(PERCENTAGES)], rows

    def _frame(self, measure: Measure) -> pd.DataFrame:
        import pandas as pd

        names, rows = self._table(measure)
        first = 5 if measure == "allocation" else 4
        frame = pd.DataFrame(rows, columns=names)
        return frame.astype(dict.fromkeys(names[first:], np.float64))

    def _write_csv(self, path: Path, measure: Measure) -> None:
        names, rows = self._table(measure)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows(rows)

    def _draw(self, path: Path) -> None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            return
        # A figure without pyplot: it needs no display and leaves nothing behind.
        figure = Figure(figsize=(11, 4.5), layout="constrained")
        left, right = figure.subplots(1, 2)
        self.plot(left)
        self.plot(right, "frag_ratio")
        figure.savefig(path, dpi=120)

    def __repr__(self) -> str:
        trace = self._trace
        return (
            f"<Packing of {trace.pod_count} pods on {self.total_gpus} GPUs: "
            f"{len(self.policies)} policies × {len(self.seeds)} seeds>"
        )


def pack(
    nodes: Table,
    pods: Table,
    policy: str | Iterable[str] = "fgd",
    *,
    tune: float = 1.3,
    seed: int | Iterable[int] = 42,
    order: str | os.PathLike[str] | None = None,
    ranks: str | os.PathLike[str] | None = None,
    threads: int = 1,
    progress: ProgressCallback | None = None,
) -> Packing:
    """Place the pods of a GPU trace one after another, and measure how well GPUs are used.

    Pods that fit nowhere are given up, and none ever leaves.

    Parameters
    ----------
    nodes
        The path of a CSV file with columns sn, cpu_milli, memory_mib, gpu, model, gzip or not; or
        such a DataFrame.
    pods
        The same with columns name, cpu_milli, memory_mib, num_gpu, gpu_milli and, if pods ask for
        models, gpu_spec.
    policy
        How nodes are chosen: "random", "dotprod", "clustering", "packing", "bestfit" or "fgd"
        (fragmentation gradient descent); several of them; or "all".
    tune
        The GPUs that the arriving pods ask for, relative to all GPUs: pods are drawn again or left
        out until that is so. 0: each pod arrives once.
    seed
        What the order is drawn with, and what "random" draws with; or several, each of which is a
        run.
    order, ranks
        Files that hold the order in which pods arrive and the ranks of the nodes, a column a seed,
        instead of drawing them. Then `tune` only says what the files were made with.
    threads
        Runs at a time; one run alone has them all. 0: all cores. Results are the same.
    progress
        Called with (done, total) pods about every 50 ms and at the end. Ctrl-C works.

    Raises
    ------
    ParseError
        When a file can't be read: with file, line, column and value.
    ConfigError
        When an argument isn't allowed.

    Examples
    --------
    >>> packing = schedfw.pack("nodes.csv", "pods.csv", "all", seed=range(42, 52), threads=0)
    >>> packing.summary()
    >>> packing.plot()
    """
    policies = _policies(policy)
    seeds = _seeds(seed)
    threads = _integer("threads", threads, 0, _MAX_THREADS)
    if not isinstance(tune, numbers.Real):
        raise TypeError(f"tune must be a number, not {tune!r}")
    if (order is None) != (ranks is None):
        missing, given = ("ranks", "order") if ranks is None else ("order", "ranks")
        raise _core.ConfigError(f"{missing}: must be given with {given}")
    trace = _trace(nodes, pods)
    orders = {}
    for one in seeds:
        if order is None or ranks is None:
            orders[one] = trace.draw_order(float(tune), one)
        else:
            orders[one] = _core.read_gpu_trace_order(
                os.fspath(order), os.fspath(ranks), str(one), trace
            )
    jobs = [(name, one) for name in policies for one in seeds]
    results = _run(
        [(len(orders[one]), _job(trace, orders[one], name, one)) for name, one in jobs],
        threads,
        progress,
    )
    workload = _workload(pods)
    runs = [
        PackRun(workload, name, _POLICIES[name], float(tune), one, result)
        for (name, one), result in zip(jobs, results, strict=True)
    ]
    return Packing(runs, trace)


_Job = Callable[[int, ProgressCallback | None], _core.PackResult]


class _StoppedError(Exception):
    """Ends a run because another one failed."""


def _job(trace: _core.GpuTrace, order: _core.GpuTraceOrder, policy: str, seed: int) -> _Job:
    return lambda threads, report: _core.pack(trace, order, policy, seed, threads, report)


def _run(
    jobs: Sequence[tuple[int, _Job]], threads: int, progress: ProgressCallback | None
) -> list[_core.PackResult]:
    """Run jobs, each given with the number of its events; `progress` is called here only."""
    total = sum(events for events, _ in jobs)
    workers = min(threads or len(os.sched_getaffinity(0)), len(jobs))
    if workers == 1:
        results = []
        before = 0
        for events, job in jobs:
            report = None if progress is None else _shifted(progress, before, total)
            results.append(job(threads if len(jobs) == 1 else 1, report))
            before += events
        return results

    stop = threading.Event()
    done = [0] * len(jobs)

    def work(index: int) -> _core.PackResult:
        def report(events: int, _total: int) -> None:
            if stop.is_set():
                raise _StoppedError
            done[index] = events

        return jobs[index][1](1, report)

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, index) for index in range(len(jobs))]
        try:
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, timeout=0.05)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(sum(done), total)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _shifted(progress: ProgressCallback, before: int, total: int) -> ProgressCallback:
    return lambda done, _: progress(before + done, total)


def _trace(nodes: Table, pods: Table) -> _core.GpuTrace:
    if isinstance(nodes, str | os.PathLike) and isinstance(pods, str | os.PathLike):
        return _core.GpuTrace.load(os.fspath(nodes), os.fspath(pods))
    return _core.GpuTrace.parse(*_text(nodes, "nodes"), *_text(pods, "pods"))


def _text(table: Table, name: str) -> tuple[str | bytes, str]:
    """Return a table as CSV, and its name in errors."""
    if isinstance(table, str | os.PathLike):
        path = os.fspath(table)
        return _core.read_text(path), path
    if not hasattr(table, "to_csv"):
        raise TypeError(f"{name} must be a path or a DataFrame, not {table!r}")
    return table.to_csv(index=False), name


def _workload(pods: Table) -> str:
    """Return the name of a list of pods: that of its file, without endings."""
    if not isinstance(pods, str | os.PathLike):
        return "pods"
    return Path(pods).name.removesuffix(".gz").removesuffix(".csv")


def _policies(policy: str | Iterable[str]) -> list[str]:
    names = [policy] if isinstance(policy, str) else list(policy)
    out: dict[str, None] = {}
    for name in names:
        check_policy(name)
        out.update(dict.fromkeys(_POLICIES if name == "all" else [name]))
    if not out:
        raise _core.ConfigError("policy: at least one must be given")
    return list(out)


def _seeds(seed: int | Iterable[int]) -> list[int]:
    seeds: Iterable[int] = seed if isinstance(seed, Iterable) else [seed]
    out = list(dict.fromkeys(_integer("seed", one, 0, _MAX_64) for one in seeds))
    if not out:
        raise _core.ConfigError("seed: at least one must be given")
    return out


def check_policy(name: str) -> None:
    """Raise ConfigError unless a policy, or all of them, has this name."""
    if name != "all" and name not in _POLICIES:
        allowed = ", ".join([*_POLICIES, "all"])
        raise _core.ConfigError(f'policy: "{name}" is not allowed (allowed: {allowed})')


def _check_measure(measure: str) -> None:
    if measure not in _LABELS:
        raise _core.Error(f'measure: "{measure}" is not allowed (allowed: {", ".join(_LABELS)})')
