"""How does binding to NUMA nodes, and sharding, change an AllReduce through host memory?

    python report_a10.py
    python report_a10.py --png a10.png       # needs matplotlib

The article's figures, the model's with the parameters of examples/scenarios/allreduce_numa.yaml,
and what is between them. Nothing here is measured: that takes a machine with two NUMA nodes.
"""

import argparse
from pathlib import Path

import numpy as np

from schedfw.bandwidth import load_scenario, stage_all_reduce

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios/allreduce_numa.yaml"
NAMES = {
    "cpu_bind": "CPU bind",
    "cpu_and_memory_bind": "CPU + memory bind",
    "cpu_and_memory_bind_sharded": "+ sharding",
}


def stage(parameters, mode):
    """Return what the model says of a mode."""
    return stage_all_reduce(
        parameters["local_bandwidth"],
        parameters["remote_ratio"],
        parameters["message"],
        parameters["arrivals_per_s"],
        remote_share=mode["remote_share"],
        shards=mode["shards"],
        sharded_share=parameters["sharded_share"] if mode["shards"] > 1 else 0,
    )


def left_out(scenario, name):
    """Return the p99 of a mode, in ms, by a queue that fits the two other modes."""
    # p99 = ln 100 × S / (1 - λS) with S = message / bandwidth: ln 100 / p99 is linear in bandwidth.
    article = scenario["article"]
    first, second = (other for other in scenario["modes"] if other != name)
    x = [article[mode]["gib_per_s"] for mode in (first, second, name)]
    y = [1 / article[mode]["p99_ms"] for mode in (first, second)]
    return 1 / (y[0] + (y[1] - y[0]) * (x[2] - x[0]) / (x[1] - x[0]))


def draw(scenario, results, path):
    """Draw bandwidths as bars, and p99 over the bandwidth."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    article, parameters = scenario["article"], scenario["calibrated"]
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    at = np.arange(len(results))
    given = [article[name]["gib_per_s"] for name in results]
    left.bar(at - 0.2, given, 0.38, color="0.7", label="article")
    left.bar(at + 0.2, [r.bandwidth for r in results.values()], 0.38, label="model")
    left.set_xticks(at, [NAMES[name] for name in results])
    left.set_ylabel("bandwidth [GiB/s]")
    left.set_ylim(0, 1.2 * max(given))
    left.legend(loc="upper left")
    low, high = min(given) * 0.93, max(given) * 1.1
    line = [
        (b, stage_all_reduce(b, 1, parameters["message"], parameters["arrivals_per_s"]).p99_ms)
        for b in np.linspace(low, high, 100)
    ]
    right.plot(*zip(*line, strict=True), label="model: M/M/1 queue")
    tails = [article[name]["p99_ms"] for name in results]
    right.plot(given, tails, "o", color="0.4", label="article")
    for name, x, y in zip(results, given, tails, strict=True):
        right.annotate(NAMES[name], (x, y), xytext=(8, 6), textcoords="offset points")
    right.set_xlabel("bandwidth [GiB/s]")
    right.set_ylabel("p99 of an AllReduce [ms]")
    right.set_xlim(low, high)
    right.set_ylim(0)
    right.legend()
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENARIO)
    parser.add_argument("--png", metavar="FILE", type=Path, help="draw both")
    args = parser.parse_args()

    scenario = load_scenario(args.scenario)
    parameters = scenario["calibrated"]
    results = {name: stage(parameters, mode) for name, mode in scenario["modes"].items()}
    print("A10: AllReduce through host memory")
    print(f"{'':18}{'':7}{'article':>9}{'model':>9}{'residual':>10}{'measured here':>15}")
    for name, result in results.items():
        article = scenario["article"][name]
        rows = (
            ("GiB/s", article["gib_per_s"], result.bandwidth),
            ("p99 ms", article["p99_ms"], result.p99_ms),
        )
        for i, (unit, given, model) in enumerate(rows):
            label = "" if i else NAMES[name]
            residual = round(model - given, 2) + 0.0  # no minus before 0
            print(f"{label:18}{unit:7}{given:9.1f}{model:9.1f}{residual:+10.2f}{'-':>15}")
    print()
    print("calibrated: " + ", ".join(f"{key} {value:g}" for key, value in parameters.items()))
    print(
        "article: given. model: computed. Three bandwidths fix three parameters, so their residuals"
    )
    print(
        "are 0 whatever the model. Three p99 fit two parameters: they are the test. Left out of the"
    )
    print("fit of the queue, they are predicted as:")
    for name in results:
        given = scenario["article"][name]["p99_ms"]
        guess = left_out(scenario, name)
        print(f"  {NAMES[name]:18}{guess:6.1f} ms, article {given:.1f} ({guess / given - 1:+.0%})")
    if args.png is not None:
        draw(scenario, results, args.png)
        print(args.png)


if __name__ == "__main__":
    main()
