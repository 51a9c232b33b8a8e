import csv

import numpy as np
import pytest

from schedfw import LatencyHeatmap


def test_counts():
    heatmap = LatencyHeatmap([100, 104, 109.9, 110, 135], [0, 49.9, 50, 10, 120])
    assert heatmap.counts.tolist() == [[2, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert heatmap.counts.dtype == np.int64
    assert repr(heatmap) == "<LatencyHeatmap of 5 attempts: 3 × 4>"


def test_sizes_of_buckets():
    heatmap = LatencyHeatmap(np.arange(10), np.full(10, 0.25), time_bucket_ms=5, latency_bin_ms=0.1)
    assert heatmap.counts.tolist() == [[0, 0], [0, 0], [5, 5]]


def test_order_does_not_matter():
    starts, latencies = [9, 1, 25], [10, 60, 10]
    first = LatencyHeatmap(starts, latencies)
    second = LatencyHeatmap(starts[::-1], latencies[::-1])
    assert (first.counts == second.counts).all()


def test_nothing():
    assert LatencyHeatmap([], []).counts.tolist() == [[0]]


def test_csv(tmp_path):
    path = LatencyHeatmap([0, 4, 11], [20, 70, 20]).to_csv(tmp_path / "out.csv")
    assert path == tmp_path / "out.csv"
    with path.open() as file:
        assert list(csv.reader(file)) == [
            ["time_ms", "50", "100"],
            ["0", "1", "1"],
            ["10", "1", "0"],
        ]
    small = LatencyHeatmap([0], [0.05], latency_bin_ms=0.02)
    assert small.to_csv(tmp_path / "out.csv").read_text() == "time_ms,0.02,0.04,0.06\n0,0,0,1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([1, 2], [1]),
            r"start_ms and latency_ms must be of one length, not \(2,\) and \(1,\)",
        ),
        (
            ([[1]], [[1]]),
            r"start_ms and latency_ms must be of one length, not \(1, 1\) and \(1, 1\)",
        ),
        (([1], [1], 0), "time_bucket_ms and latency_bin_ms must be above zero"),
        (([1], [1], 1, -1), "time_bucket_ms and latency_bin_ms must be above zero"),
        (([1], [1], float("nan")), "time_bucket_ms and latency_bin_ms must be above zero"),
        (([np.nan], [1]), "start_ms and latency_ms must be finite numbers"),
        (([1], [np.inf]), "start_ms and latency_ms must be finite numbers"),
        (([1], [-1]), "latency_ms must not be below zero"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        LatencyHeatmap(*arguments)


def test_plot():
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    heatmap = LatencyHeatmap([0, 4, 11], [20, 70, 20])
    axes = heatmap.plot()
    assert axes.get_ylabel() == "latency of a scheduling attempt [ms]"
    assert axes.images[0].get_extent() == [0, 20, 0, 100]
    other = plt.figure().add_subplot()
    assert LatencyHeatmap([0], [0.05], 10, 0.02).plot(other) is other
    assert other.get_ylabel() == "latency of a scheduling attempt [µs]"
    LatencyHeatmap([], []).plot(other)
    plt.close("all")
