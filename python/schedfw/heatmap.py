"""LatencyHeatmap: how latencies change over time."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LatencyHeatmap:
    """Counts of attempts by time and latency.

    Parameters
    ----------
    start_ms
        When each attempt started, in ms since any origin.
    latency_ms
        How long each took, in ms.
    time_bucket_ms, latency_bin_ms
        The size of a column and of a row, in ms.

    Attributes
    ----------
    counts
        int64 array of shape (latency bins, time buckets); time begins with the first attempt.

    Raises
    ------
    ValueError
        When the arrays differ in length, or hold what is no time.

    Examples
    --------
    >>> heatmap = LatencyHeatmap([0.0, 4.0, 11.0], [20.0, 70.0, 20.0])
    >>> heatmap.counts.tolist()
    [[1, 1], [1, 0]]
    """

    def __init__(
        self,
        start_ms: Sequence[float] | npt.NDArray[np.float64],
        latency_ms: Sequence[float] | npt.NDArray[np.float64],
        time_bucket_ms: float = 10.0,
        latency_bin_ms: float = 50.0,
    ) -> None:
        starts = np.asarray(start_ms, dtype=np.float64)
        latencies = np.asarray(latency_ms, dtype=np.float64)
        if starts.shape != latencies.shape or starts.ndim != 1:
            raise ValueError(
                f"start_ms and latency_ms must be of one length, not {starts.shape} "
                f"and {latencies.shape}"
            )
        if not (time_bucket_ms > 0 and latency_bin_ms > 0):
            raise ValueError("time_bucket_ms and latency_bin_ms must be above zero")
        if not (np.isfinite(starts).all() and np.isfinite(latencies).all()):
            raise ValueError("start_ms and latency_ms must be finite numbers")
        if (latencies < 0).any():
            raise ValueError("latency_ms must not be below zero")
        self.time_bucket_ms = time_bucket_ms
        self.latency_bin_ms = latency_bin_ms
        column = ((starts - starts.min(initial=np.inf)) / time_bucket_ms).astype(np.int64)
        row = (latencies / latency_bin_ms).astype(np.int64)
        shape = (int(row.max(initial=0)) + 1, int(column.max(initial=0)) + 1)
        self.counts: npt.NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        np.add.at(self.counts, (row, column), 1)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write a matrix as Grafana's heat map panel reads it: a row a time bucket.

        The first column is the time in ms; the others are counts, named by the upper bound of the
        latency in ms. Returns the path.
        """
        out = Path(path)
        bounds = [f"{(i + 1) * self.latency_bin_ms:g}" for i in range(self.counts.shape[0])]
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["time_ms", *bounds])
            for i, column in enumerate(self.counts.T):
                writer.writerow([f"{i * self.time_bucket_ms:g}", *column.tolist()])
        return out

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the heat map, on axes of its own if none are given, and return the axes.

        Needs matplotlib (the extra `plot`).
        """
        import matplotlib.pyplot as plt
        from matplotlib.colors import LogNorm

        if ax is None:
            _, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
        rows, columns = self.counts.shape
        unit, scale = ("µs", 1000.0) if rows * self.latency_bin_ms < 10 else ("ms", 1.0)
        mesh = ax.imshow(
            np.ma.masked_equal(self.counts, 0),
            origin="lower",
            aspect="auto",
            interpolation="nearest",
            cmap="viridis",
            norm=LogNorm(vmin=1, vmax=max(2, int(self.counts.max()))),
            extent=(
                0,
                columns * self.time_bucket_ms,
                0,
                rows * self.latency_bin_ms * scale,
            ),
        )
        ax.set_xlabel("time since the first attempt [ms]")
        ax.set_ylabel(f"latency of a scheduling attempt [{unit}]")
        figure = ax.figure
        figure.colorbar(mesh, ax=ax, label="attempts")
        return ax

    def __repr__(self) -> str:
        bins, buckets = self.counts.shape
        return f"<LatencyHeatmap of {self.counts.sum()} attempts: {bins} × {buckets}>"
