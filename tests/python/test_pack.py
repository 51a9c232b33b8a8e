"""Packing: schedfw.pack, the command, and the comparison with the published results."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import schedfw
from schedfw import _core
from support import ROOT, run_schedfw

NODES = ROOT / "examples/data/small_nodes.csv"
PODS = ROOT / "examples/data/small_pods.csv"
OPENB = ROOT.parent / "shared/data/openb"
POLICIES = ["random", "dotprod", "clustering", "packing", "bestfit", "fgd"]
PUBLISHED = [
    "01-Random",
    "02-DotProd",
    "03-GpuClustering",
    "04-GpuPacking",
    "05-BestFit",
    "06-FGD",
]
PERCENT = [str(percent) for percent in range(131)]
CLASSES = (
    "q1_lack_both",
    "q2_lack_gpu",
    "q3_satisfied",
    "q4_lack_cpu",
    "xl_satisfied",
    "xr_lack_cpu",
    "no_access",
)

needs_openb = pytest.mark.skipif(not OPENB.is_dir(), reason="the openb trace isn't there")


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def packing():
    return schedfw.pack(NODES, PODS, "all", seed=[42, 43])


def same(a, b):
    arrays = (
        "allocation",
        "frag_ratio",
        "arrived_milli",
        "used_milli",
        "idle",
        "node",
        "gpus",
    )
    return all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=name in arrays[:2])
        for name in arrays
    ) and (a.failed, a.total_milli, a.used_cpu_milli) == (b.failed, b.total_milli, b.used_cpu_milli)


def same_runs(a, b):
    return len(a.runs) == len(b.runs) and all(
        (x.policy, x.seed) == (y.policy, y.seed) and same(x.result, y.result)
        for x, y in zip(a.runs, b.runs, strict=True)
    )


# The library.


def test_the_small_trace_is_what_its_script_makes(tmp_path):
    script = ROOT / "examples/data/make_small_trace.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    for path in (NODES, PODS):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_runs(packing):
    assert [run.policy for run in packing.runs] == [name for name in POLICIES for _ in range(2)]
    assert [run.published_policy for run in packing.runs] == [n for n in PUBLISHED for _ in "42"]
    assert [run.seed for run in packing.runs] == [42, 43] * 6
    assert {(run.workload, run.tune) for run in packing.runs} == {("small_pods", 1.3)}
    assert (packing.policies, packing.seeds) == (POLICIES, [42, 43])
    assert (packing.node_count, packing.pod_count, packing.total_gpus) == (40, 300, 212)
    assert repr(packing) == "<Packing of 300 pods on 212 GPUs: 6 policies × 2 seeds>"
    assert re.fullmatch(
        r"<PackRun of small_pods by random, seed 42: <PackResult: \d+ of \d+ pods placed>>",
        repr(packing.runs[0]),
    )
    for run in packing.runs:
        result = run.result
        events = len(result.node)
        assert (result.allocation.shape, result.frag_ratio.shape) == ((131,), (131,))
        assert (result.allocation.dtype, result.idle.dtype) == (np.float64, np.float64)
        assert (result.arrived_milli.dtype, result.used_milli.dtype) == (np.int64, np.int64)
        assert (result.node.dtype, result.gpus.dtype) == (np.int32, np.uint16)
        assert result.arrived_milli.shape == result.used_milli.shape == (events,)
        assert (result.idle.shape, result.gpus.shape) == ((events, 7), (events,))
        with pytest.raises(ValueError, match="read-only"):
            result.allocation[0] = 1


def test_placements_fit(packing):
    """No GPU is given twice, and what the columns say follows from the placements."""
    nodes, pods = rows_of(NODES), rows_of(PODS)
    trace = _core.GpuTrace.load(str(NODES), str(PODS))
    for run in packing.runs:
        result = run.result
        order = trace.draw_order(1.3, run.seed)
        left = [[1000] * int(node["gpu"]) for node in nodes]
        cpu = [int(node["cpu_milli"]) for node in nodes]
        used = arrived = failed = used_cpu = 0
        for event, index in enumerate(order.pods):
            pod = pods[index]
            count, milli = int(pod["num_gpu"]), int(pod["gpu_milli"])
            arrived += count * milli
            node = result.node[event]
            taken = [g for g in range(16) if result.gpus[event] >> g & 1]
            if node < 0:
                failed += 1
                assert taken == []
            else:
                used += count * milli
                used_cpu += int(pod["cpu_milli"])
                cpu[node] -= int(pod["cpu_milli"])
                assert cpu[node] >= 0
                assert len(taken) == count
                specs = pod["gpu_spec"].split("|")
                assert not count or specs == [""] or nodes[node]["model"] in specs
                for gpu in taken:
                    left[node][gpu] -= milli
                    assert left[node][gpu] >= 0
            assert (result.arrived_milli[event], result.used_milli[event]) == (arrived, used)
            assert result.idle[event].sum() == pytest.approx(212_000 - used)
        assert (result.failed, result.used_cpu_milli) == (failed, used_cpu)
        assert run.used_gpus() == used / 1000
        assert tuple(run.idle_gpus()) == CLASSES
        assert sum(run.idle_gpus().values()) == pytest.approx(212 - used / 1000)


def test_curves_follow_from_the_events(packing):
    for run in packing.runs:
        result = run.result
        percent = np.rint(result.arrived_milli / 2120).astype(int)
        for column in range(131):
            near = percent == column
            if not near.any():
                near = abs(percent - column) <= 1
            if not near.any():
                assert np.isnan(result.allocation[column])
                continue
            used = np.round(result.used_milli[near] / 2120, 2).mean()
            assert result.allocation[column] == pytest.approx(used, abs=0.0051)
            idle = result.idle[near]
            total = idle.sum(axis=1)
            known = total > 0
            ratio = np.zeros(len(total))
            ratio[known] = 100 * (total - idle[:, 2])[known] / total[known]
            assert result.frag_ratio[column] == pytest.approx(ratio.mean(), abs=0.0051)


@pytest.mark.parametrize("threads", [0, 2, 5])
def test_threads_do_not_matter(packing, threads):
    assert same_runs(packing, schedfw.pack(NODES, PODS, "all", seed=[42, 43], threads=threads))
    one = schedfw.pack(NODES, PODS, threads=threads)
    assert same(one.runs[0].result, schedfw.pack(NODES, PODS).runs[0].result)


def test_seeds_and_policies(packing):
    again = schedfw.pack(NODES, PODS, ["fgd", "bestfit", "fgd"], seed=43)
    assert [run.policy for run in again.runs] == ["fgd", "bestfit"]
    of = {(run.policy, run.seed): run.result for run in packing.runs}
    for run in again.runs:
        assert same(run.result, of[run.policy, 43])
    assert not same(of["fgd", 42], of["fgd", 43])
    assert not same(of["fgd", 42], of["dotprod", 42])


def test_tune():
    each_once = schedfw.pack(NODES, PODS, tune=0).runs[0].result
    assert len(each_once.node) == 300
    fewer = schedfw.pack(NODES, PODS, tune=0.5).runs[0].result
    assert len(fewer.node) < 300
    assert 95_000 < fewer.arrived_milli[-1] <= 106_000
    assert np.isnan(fewer.allocation[60:]).all()


def test_curves(packing):
    curves = packing.curves("fgd")
    assert curves.shape == (2, 131)
    assert np.array_equal(curves[1], packing.runs[-1].result.allocation, equal_nan=True)
    mean, deviation = packing.mean("fgd", "frag_ratio")
    ratio = packing.curves("fgd", "frag_ratio")
    known = ~np.isnan(ratio).any(axis=0)
    np.testing.assert_allclose(mean[known], ratio.mean(axis=0)[known])
    np.testing.assert_allclose(deviation[known], ratio.std(axis=0, ddof=1)[known], atol=1e-9)
    single = schedfw.pack(NODES, PODS)
    assert np.isnan(single.mean("fgd")[1]).all()
    with pytest.raises(schedfw.Error, match=r'^policy: "bestfit" was not run \(allowed: fgd\)$'):
        single.curves("bestfit")
    message = r'^measure: "cpu" is not allowed \(allowed: allocation, frag_ratio\)$'
    with pytest.raises(schedfw.Error, match=message):
        single.curves("fgd", "cpu")


def test_data_frames(packing):
    pd = pytest.importorskip("pandas")
    frame = packing.to_pandas()
    names = ["workload", "sc_policy", "tune", "seed"]
    assert list(frame.columns) == [*names, "total_gpus", *PERCENT]
    assert list(frame.sc_policy) == [name for name in PUBLISHED for _ in "42"]
    assert set(frame.total_gpus) == {212}
    assert set(frame.dtypes[PERCENT]) == {np.dtype(np.float64)}
    ratio = packing.frag_ratio()
    assert list(ratio.columns) == [*names, *PERCENT]
    summary = packing.summary()
    assert list(summary.index) == PUBLISHED
    assert summary["allocation", 100]["06-FGD"] == pytest.approx(
        np.nanmean(packing.curves("fgd")[:, 100])
    )
    assert list(packing.summary(at=[0, 130]).columns.get_level_values("arrived")) == [0, 130] * 2
    end = packing.end_state()
    assert list(end.columns) == ["failed", "used_gpus", "used_cores", *CLASSES]
    # Tables instead of paths, and one of each.
    nodes, pods = pd.read_csv(NODES), pd.read_csv(PODS)
    one = schedfw.pack(NODES, PODS).runs[0]
    for tables in ((nodes, pods), (NODES, pods), (nodes, PODS)):
        other = schedfw.pack(*tables).runs[0]
        assert same(one.result, other.result)
    assert schedfw.pack(nodes, pods).workload == "pods"
    with pytest.raises(schedfw.ParseError, match=r"^pods:2: num_gpu: -1 is not allowed"):
        schedfw.pack(nodes, pods.assign(num_gpu=-1))


def test_save(packing, tmp_path):
    folder = tmp_path / "new/folder"
    paths = packing.save(folder)
    tables = ["allocation.csv", "frag_ratio.csv"]
    assert [path.name for path in paths if path.suffix == ".csv"] == tables
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in paths)
    text = (folder / "allocation.csv").read_text()
    names = ["workload", "sc_policy", "tune", "seed", "total_gpus", *PERCENT]
    assert text.splitlines()[0] == ",".join(names)
    assert text.splitlines()[1].startswith("small_pods,01-Random,1.3,42,212,")
    for row, run in zip(rows_of(folder / "frag_ratio.csv"), packing.runs, strict=True):
        curve = [float(row[percent] or "nan") for percent in PERCENT]
        assert np.array_equal(curve, run.result.frag_ratio, equal_nan=True)
    # Again, in place of the older ones.
    (folder / "allocation.csv").write_text("old")
    assert packing.save(str(folder)) == paths
    assert (folder / "allocation.csv").read_text() == text
    try:
        import matplotlib as _  # noqa: F401
    except ImportError:
        return
    assert (folder / "curves.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_tables_are_those_of_pandas(packing, tmp_path):
    pytest.importorskip("pandas")
    packing.save(tmp_path)
    assert (tmp_path / "allocation.csv").read_text() == packing.to_pandas().to_csv(index=False)
    assert (tmp_path / "frag_ratio.csv").read_text() == packing.frag_ratio().to_csv(index=False)


def test_a_save_that_fails_changes_nothing(packing, tmp_path, monkeypatch):
    (tmp_path / "frag_ratio.csv").mkdir()
    (tmp_path / "allocation.csv").write_text("old")
    with pytest.raises(IsADirectoryError, match=r"frag_ratio\.csv"):
        packing.save(tmp_path)
    assert (tmp_path / "allocation.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["allocation.csv", "frag_ratio.csv"]
    (tmp_path / "frag_ratio.csv").rmdir()

    def full(*_):
        raise OSError(28, "No space left on device", "curves.png")

    monkeypatch.setattr(packing, "_draw", full)
    with pytest.raises(OSError, match="No space left"):
        packing.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["allocation.csv"]
    with pytest.raises(FileExistsError):
        packing.save(tmp_path / "allocation.csv")


def test_plot(packing):
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    axes = packing.plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["all that arrived", *PUBLISHED]
    assert len(axes.collections) == 6  # bands
    assert axes.get_ylabel() == "allocated GPUs [% of all]"
    other = plt.figure().add_subplot()
    assert schedfw.pack(NODES, PODS).plot(other, "frag_ratio") is other
    assert len(other.collections) == 0
    assert other.get_ylabel() == "fragmented GPUs [% of the idle]"
    plt.close("all")


def write_orders(folder, seeds):
    """Write the orders that seeds draw; returns both paths."""
    trace = _core.GpuTrace.load(str(NODES), str(PODS))
    orders = [trace.draw_order(1.3, seed) for seed in seeds]
    order, ranks = folder / "order.csv", folder / "ranks.csv"
    with order.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["event", *seeds])
        for event in range(max(map(len, orders))):
            cells = [one.pods[event] if event < len(one) else "" for one in orders]
            writer.writerow([event, *cells])
    with ranks.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sn", *seeds])
        for i, name in enumerate(trace.nodes):
            writer.writerow([name, *(one.ranks[i] for one in orders)])
    return order, ranks


def test_given_orders(packing, tmp_path):
    order, ranks = write_orders(tmp_path, [42, 43])
    given = schedfw.pack(NODES, PODS, "all", seed=[42, 43], order=order, ranks=ranks)
    assert same_runs(packing, given)
    with pytest.raises(schedfw.ParseError, match=r"order\.csv:1: .*44"):
        schedfw.pack(NODES, PODS, seed=44, order=order, ranks=ranks)


def test_traces():
    trace = _core.GpuTrace.load(str(NODES), str(PODS))
    assert (trace.node_count, trace.pod_count, trace.total_milli) == (40, 300, 212_000)
    assert (len(trace.nodes), trace.pods[0]) == (40, "small-pod-000")
    assert repr(trace) == "<GpuTrace of 40 nodes, 212 GPUs, 300 pods>"
    order = trace.draw_order(1.3, 42)
    assert sorted(order.ranks) == list(range(40))
    assert order.pods.max() < 300
    requested = np.array([int(p["num_gpu"]) * int(p["gpu_milli"]) for p in rows_of(PODS)])
    assert trace.requested_milli == requested.sum()
    assert abs(requested[order.pods].sum() - 1.3 * 212_000) < 8_000
    assert repr(order) == f"<GpuTraceOrder of {len(order)} arrivals>"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"policy": "best"},
            schedfw.ConfigError,
            r'policy: "best" is not allowed '
            r"\(allowed: random, dotprod, clustering, packing, bestfit, fgd, all\)",
        ),
        ({"policy": []}, schedfw.ConfigError, "policy: at least one must be given"),
        ({"seed": []}, schedfw.ConfigError, "seed: at least one must be given"),
        (
            {"seed": -1},
            schedfw.ConfigError,
            r"seed: -1 is not allowed \(allowed: 0 to 18446744073709551615\)",
        ),
        ({"seed": "42"}, TypeError, "seed must be an integer, not '4'"),
        ({"seed": 1.5}, TypeError, "seed must be an integer, not 1.5"),
        ({"tune": "1"}, TypeError, "tune must be a number, not '1'"),
        ({"tune": -1}, schedfw.Error, r"tune: .*-1.* is not allowed .*"),
        ({"tune": float("nan")}, schedfw.Error, r"tune: .*nan.* is not allowed .*"),
        (
            {"threads": 5000},
            schedfw.ConfigError,
            r"threads: 5000 is not allowed \(allowed: 0 to 1024\)",
        ),
        ({"order": "x"}, schedfw.ConfigError, "ranks: must be given with order"),
        ({"ranks": "x"}, schedfw.ConfigError, "order: must be given with ranks"),
        (
            {"order": "none.csv", "ranks": "none.csv"},
            schedfw.ParseError,
            "none.csv: No such file or directory",
        ),
        ({"nodes": "none.csv"}, schedfw.ParseError, "none.csv: No such file or directory"),
        ({"nodes": 1}, TypeError, "nodes must be a path or a DataFrame, not 1"),
        ({"nodes": PODS}, schedfw.ParseError, r".*small_pods\.csv:1: sn: .*"),
    ],
    ids=str,
)
def test_errors(arguments, error, message):
    arguments = {"nodes": NODES, "pods": PODS, **arguments}
    with pytest.raises(error, match=f"^{message}$"):
        schedfw.pack(**arguments)


@pytest.mark.parametrize("threads", [1, 2])
def test_progress(threads):
    seen = []
    packing = schedfw.pack(
        NODES,
        PODS,
        ["fgd", "dotprod"],
        threads=threads,
        progress=lambda done, total: seen.append((done, total)),
    )
    events = sum(len(run.result.node) for run in packing.runs)
    assert seen[-1] == (events, events)
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {events}

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        schedfw.pack(NODES, PODS, ["fgd", "dotprod"], threads=threads, progress=stop)


# The command.


def good(*args):
    done = run_schedfw("pack", *args)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_command(packing, tmp_path):
    args = (NODES, PODS, "--policy", "all", "--seed", "42-43")
    lines = good(*args).splitlines()
    assert lines[0] == (
        "small_pods: 300 pods; 40 nodes, 212 GPUs; means of 2 seeds from 42 to 43 ± their deviation"
    )
    assert lines[3].split() == ["POLICY", "90", "%", "100", "%", "110", "%", "120", "%", "130", "%"]
    assert [line.split()[0] for line in lines[4:10]] == POLICIES
    mean, deviation = packing.mean("fgd")
    assert lines[9].split()[3:5] == [f"{mean[100]:.2f}", f"±{deviation[100]:.2f}"]
    assert lines[-7].split()[:3] == ["POLICY", "FAILED", "USED_GPUS"]
    one = good(NODES, PODS)
    assert one.splitlines()[0].endswith("212 GPUs; seed 42")
    assert "±" not in one


def test_command_is_the_library(packing, tmp_path):
    packing.save(tmp_path / "library")
    out = good(
        NODES, PODS, "--policy", "random,dotprod", "--policy", "all", "--seed", "42,43",
        "--threads", 2, "-o", tmp_path / "command", "--format", "json",
    )  # fmt: skip
    tree = json.loads(out)
    files = sorted((tmp_path / "command").iterdir())
    assert tree["files"] == [str(path) for path in files]
    for path in files:
        if path.suffix == ".csv":
            assert path.read_bytes() == (tmp_path / "library" / path.name).read_bytes()
    assert (tree["workload"], tree["nodes"], tree["gpus"]) == ("small_pods", 40, 212)
    for run, ours in zip(tree["runs"], packing.runs, strict=True):
        assert (run["policy"], run["seed"]) == (ours.policy, ours.seed)
        assert run["idle_gpus"] == ours.idle_gpus()
        curve = [np.nan if value is None else value for value in run["allocation"]]
        assert np.array_equal(curve, ours.result.allocation, equal_nan=True)


def test_command_with_given_orders(tmp_path):
    order, ranks = write_orders(tmp_path, [42])
    drawn = json.loads(good(NODES, PODS, "--format", "json"))
    given = json.loads(good(NODES, PODS, "--format", "json", "--order", order, "--ranks", ranks))
    assert given == drawn


def test_gzip(tmp_path):
    path = tmp_path / "small_pods.csv.gz"
    path.write_bytes(gzip.compress(PODS.read_bytes()))
    assert good(NODES, path) == good(NODES, PODS)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], r"the following arguments are required: NODES, PODS"),
        ([NODES, PODS, "--policy", "x"], r'argument --policy: "x" is not allowed \(allowed: .*'),
        (
            [NODES, PODS, "--seed", "x"],
            r"argument --seed: 'x' is not allowed \(allowed: a number, or a range as in 42-51\).*",
        ),
        ([NODES, PODS, "--seed", "5-1"], r"argument --seed: '5-1' is not allowed .*"),
        ([NODES, PODS, "--seed", f"0-{'9' * 15}"], r"argument --seed: '0-9+' is not allowed .*"),
        ([NODES, PODS, "--seed", "9" * 30], r"seed: 9+ is not allowed .*"),
        (
            [NODES, PODS, "--tune", "nan"],
            r"argument --tune: 'nan' is not allowed \(allowed: a number, 0 or more\).*",
        ),
        ([NODES, PODS, "--order", "x"], "ranks: must be given with order"),
        ([NODES, "none.csv"], r"none\.csv: No such file or directory"),
        ([NODES, NODES], r".*small_nodes\.csv:1: name: .*"),
        ([NODES, "broken.csv"], r"broken\.csv:3: num_gpu: \"x\" is not a whole number .*"),
        ([NODES, "empty.csv"], r"empty\.csv.*"),
        ([NODES, "."], r"\.: is a directory, not a file"),
    ],
    ids=str,
)
def test_command_errors(tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
    Path("broken.csv").write_text(f"{head}a,1,1,1,500\nb,1,1,x,500\n")
    Path("empty.csv").write_text("")
    done = run_schedfw("pack", *args, "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.match(rf"schedfw( pack)?: error: {message}", line), line
    assert not Path("out").exists()


def test_a_folder_that_is_a_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("kept")
    done = run_schedfw("pack", NODES, PODS, "-o", path)
    message = f"schedfw: error: {path}: is a file, not a directory\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert path.read_text() == "kept"


def big_trace(folder):
    """Write a trace that takes many seconds; returns its paths."""
    nodes = [f"n{i},96000,393216,8,G2" for i in range(3000)]
    pods = [f"p{i},1000,1000,1,{100 + i % 900}," for i in range(30_000)]
    head = ("sn,cpu_milli,memory_mib,gpu,model", "name,cpu_milli,memory_mib,num_gpu,gpu_milli")
    paths = folder / "nodes.csv", folder / "pods.csv"
    paths[0].write_text("\n".join([head[0], *nodes, ""]))
    paths[1].write_text("\n".join([f"{head[1]},gpu_spec", *pods, ""]))
    return paths


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt(tmp_path, threads):
    command = [Path(sys.executable).parent / "schedfw", "pack", *big_trace(tmp_path)]
    command += ["--policy", "all", "--threads", str(threads), "-o", tmp_path / "out"]
    with subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert time.monotonic() - start < 5
    assert not (tmp_path / "out").exists()


def test_bar_in_a_terminal():
    schedfw_command = Path(sys.executable).parent / "schedfw"
    script = subprocess.run(
        ["script", "-qec", f"{schedfw_command} pack {NODES} {PODS} >/dev/null", "/dev/null"],
        capture_output=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    if script.returncode != 0:
        pytest.skip("no terminal")
    assert f"[{'#' * 40}] 100 %".encode() in script.stdout
    *_, last, end = script.stdout.strip(b"\n").split(b"\r")
    assert (last.strip(), end) == (b"", b"")  # the line is gone


# The comparison with the published results.


def table_script(*args):
    return subprocess.run(
        [sys.executable, ROOT / "scripts/openb_table.py", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Make a folder like that of the openb trace, whose published results are our own."""
    folder = tmp_path_factory.mktemp("openb")
    (folder / "derived").mkdir()
    (folder / "openb_node_list_gpu_node.csv").write_bytes(NODES.read_bytes())
    tables = {"allocation": [], "frag_ratio": []}
    for workload in ("default", "cpu050"):
        path = folder / f"openb_pod_list_{workload}.csv"
        path.write_bytes(PODS.read_bytes())
        runs = schedfw.pack(NODES, path, "all", seed=range(42, 52), threads=0)
        runs.save(folder / workload)
        for name, lines in tables.items():
            text = (folder / workload / f"{name}.csv").read_text().splitlines(keepends=True)
            lines += text if not lines else text[1:]
    (folder / "analysis_allo_discrete.csv").write_text("".join(tables["allocation"]))
    ratio = "".join(tables["frag_ratio"]).encode()
    (folder / "analysis_frag_ratio_discrete.csv.gz").write_bytes(gzip.compress(ratio))
    order, ranks = write_orders(folder, range(42, 52))
    packed = gzip.compress(order.read_bytes())
    (folder / "derived/arrival_rows_default.csv.gz").write_bytes(packed)
    ranks.rename(folder / "derived/node_rank_default.csv")
    return folder


def test_table_script(data, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- openb: begin -->\nold\n<!-- openb: end -->\nafter\n")
    done = table_script(data, "--markdown", page)
    assert (done.returncode, done.stderr) == (0, "")
    text = page.read_text()
    assert text.startswith("before\n<!-- openb: begin -->\n")
    assert text.endswith("<!-- openb: end -->\nafter\n")
    assert done.stdout.rstrip("\n") in text
    assert "| fgd | allocation | 0.00 |" in text
    assert "| default | allocation | 0.00 | 0.0000 |" in text
    assert "old" not in text


def test_table_script_finds_differences(data, tmp_path):
    """A cell that differs by two of its last digits, and a mean that differs too much."""
    for path in data.iterdir():
        (tmp_path / path.name).symlink_to(path)
    path = tmp_path / "analysis_allo_discrete.csv"
    rows = [line.split(",") for line in path.read_text().splitlines()]
    path.unlink()
    for row in rows:
        if row[:4] == ["openb_pod_list_default", "06-FGD", "1.3", "45"]:
            row[5 + 60] = str(float(row[5 + 60]) + 0.02)
        if row[:2] == ["openb_pod_list_cpu050", "02-DotProd"]:
            row[5 + 100] = str(float(row[5 + 100] or "90") - 9)
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    done = table_script(tmp_path)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("broken: cpu050, dotprod, allocation at 100 %, own order: ")
    assert second == "broken: default, fgd, allocation, given order: 0.0200 is above 0.011"
    done = table_script(tmp_path, "--list", "nonesuch")
    assert done.returncode == 2
    assert "no published results (there are: default, cpu050)" in done.stderr


def published(name):
    path = OPENB / name
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.reader(text.splitlines()))


@needs_openb
def test_headers_are_the_published_ones(packing, tmp_path):
    packing.save(tmp_path)
    for ours, theirs in (
        ("allocation.csv", "analysis_allo_discrete.csv"),
        ("frag_ratio.csv", "analysis_frag_ratio_discrete.csv.gz"),
    ):
        header = (tmp_path / ours).read_text().splitlines()[0]
        assert header.split(",") == published(theirs)[0]


@needs_openb
@pytest.mark.parametrize("policy", POLICIES[1:])
def test_published_runs(policy):
    """One seed of the default list, cell by cell."""
    packing = schedfw.pack(
        OPENB / "openb_node_list_gpu_node.csv",
        OPENB / "openb_pod_list_default.csv",
        policy,
        order=OPENB / "derived/arrival_rows_default.csv.gz",
        ranks=OPENB / "derived/node_rank_default.csv",
    )
    (run,) = packing.runs
    key = ["openb_pod_list_default", run.published_policy, "1.3", "42"]
    assert [run.workload, run.published_policy, str(run.tune), str(run.seed)] == key
    (row,) = [row for row in published("analysis_allo_discrete.csv") if row[:4] == key]
    assert row[4] == str(packing.total_gpus)
    assert np.abs(run.result.allocation - np.array(row[5:], float)).max() <= 0.011
    (row,) = [row for row in published("analysis_frag_ratio_discrete.csv.gz") if row[:4] == key]
    assert np.abs(run.result.frag_ratio - np.array(row[4:], float)).max() <= 0.001
    failed = {"dotprod": 2874, "clustering": 2797, "packing": 2794, "bestfit": 2676, "fgd": 2532}
    assert run.result.failed == failed[policy]
    if policy == "fgd":
        assert (run.used_gpus(), run.result.used_cpu_milli) == (5919.41, 89_928_302)
        ends = (138.43, 85.86, 1.23, 27.28, 6.06, 33.73, 0)
        assert [round(gpus, 2) for gpus in run.idle_gpus().values()] == pytest.approx(ends)
