"""The command `schedfw`."""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from schedfw import _core
from schedfw.bandwidth import BandwidthModel
from schedfw.cluster import Cluster
from schedfw.packing import Measure, Packing, check_policy, pack
from schedfw.plugin import describe_plugins
from schedfw.scheduler import Scheduler
from schedfw.topology import NodeTopology, ranges


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {_one_line(message)} (see {self.prog} --help)\n")


def _one_line(message: object) -> str:
    return " ".join(str(message).split("\n"))


def _count(text: str) -> int:
    """Read an argument that counts something."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed (allowed: 0 or more)")
    return int(text)


# More runs than these are a slip of the hand.
_MOST_SEEDS = 10_000


def _policies(text: str) -> list[str]:
    """Read policies with commas between them."""
    names = text.split(",")
    for name in names:
        try:
            check_policy(name)
        except _core.Error as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix("policy: ")) from None
    return names


def _seeds(text: str) -> list[int]:
    """Read seeds and ranges of seeds with commas between them."""
    out: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not allowed (allowed: a number, or a range as in 42-51)"
            )
        low, high = int(first), int(last if dash else first)
        if not 0 <= high - low < _MOST_SEEDS - len(out):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not allowed (allowed: from low to high, {_MOST_SEEDS} seeds in all)"
            )
        out += range(low, high + 1)
    return out


def _tune(text: str) -> float:
    """Read the argument that says how much arrives."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed (allowed: a number, 0 or more)")
    return value


def _table(rows: Sequence[Sequence[object]], indent: int = 0) -> str:
    """Lay out rows in columns; the first row is the heading. Numbers are set to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    right = [all(isinstance(row[i], int | float) for row in rows[1:]) for i in range(len(widths))]
    limit = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 10_000
    lines = []
    for row in cells:
        columns = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        line = " " * indent + "  ".join(columns).rstrip()
        lines.append(line if len(line) <= limit else line[: limit - 1] + "…")
    return "\n".join(lines)


def _problems(cluster: Cluster, scheduler: Scheduler) -> None:
    """Say on standard error what of the nodes plugins can't make sense of."""
    for problem in scheduler.check_nodes(cluster):
        print(_one_line(problem), file=sys.stderr)


def _default_config(cluster: Cluster, *, groups: bool = False) -> tuple[Any, list[str]]:
    """Return the configuration for a cluster when none is given, and notes on what it enables.

    Beside the default plugins those whose objects the files have: who gives a node's zones wants
    pods to be aligned. `groups`: PodGroups of scheduling.x-k8s.io count.
    """
    plugins: dict[str, Any] = {}
    enabled: list[dict[str, str]] = []
    notes: list[str] = []
    if groups and (count := cluster._core.coscheduling_group_count):
        enabled.append({"name": "Coscheduling"})
        # As its own manifests enable it.
        plugins["queueSort"] = {
            "enabled": [{"name": "Coscheduling"}],
            "disabled": [{"name": "*"}],
        }
        noun = "PodGroup" if count == 1 else "PodGroups"
        notes.append(f"enabled: Coscheduling, for {count} {noun} of scheduling.x-k8s.io")
    if count := cluster._core.node_resource_topology_count:
        enabled.append({"name": "NodeResourceTopologyMatch"})
        noun = "object" if count == 1 else "objects"
        notes.append(f"enabled: NodeResourceTopologyMatch, for {count} NodeResourceTopology {noun}")
    if not enabled:
        return None, []
    plugins["multiPoint"] = {"enabled": enabled}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}],
    }
    return config, notes


def _scheduler(
    args: argparse.Namespace, cluster: Cluster, *, groups: bool = False, **options: Any
) -> tuple[Scheduler, list[str]]:
    """Return the scheduler that the arguments ask for, and notes on what it has enabled."""
    if args.config:
        return Scheduler(args.config, **options), []
    config, notes = _default_config(cluster, groups=groups)
    return Scheduler(config, **options), notes


def _notes(cluster: Cluster, scheduler: Scheduler, enabled: Sequence[str] = ()) -> None:
    """Say on standard error what is enabled, and what of the files doesn't count."""
    for note in enabled:
        print(note, file=sys.stderr)
    if extenders := _extenders(scheduler):
        print(extenders, file=sys.stderr)
    for kind, count in cluster.ignored.items():
        print(f"ignored: {count} {kind}", file=sys.stderr)
    if cluster.deleting:
        count = len(cluster.deleting)
        print(f"not scheduled: {count} waiting pods that are being deleted", file=sys.stderr)
    if cluster.orphan_count:
        count = cluster.orphan_count
        print(f"not counted: {count} pods on nodes that are not there", file=sys.stderr)


def _extenders(scheduler: Scheduler) -> str:
    """Return a line that names the configuration's extenders, or nothing without any."""
    if not scheduler.extenders:
        return ""
    names = (extender.get("urlPrefix") or "(no urlPrefix)" for extender in scheduler.extenders)
    return f"extenders, understood but not called: {', '.join(names)}"


def _reasons(diagnosis: _core.Diagnosis) -> list[tuple[str, str, str, int]]:
    """Count nodes by reason, most frequent first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for _, code, plugin, reasons in diagnosis.table():
        for reason in reasons:
            counts[reason, plugin, code] += 1
    return [(*key, n) for key, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _gpus(cluster: Cluster, scheduler: Scheduler, pod: str, node: str) -> list[str]:
    """Say which GPUs a pod gets on its node and what they are worth, in a line.

    Nothing where it isn't known how they are linked.
    """
    topology = cluster.topology_of(node)
    if topology is None:
        return []
    fork = cluster.fork()
    scheduler.schedule_one(fork, pod)
    gpus = fork.gpus_of(pod)
    if not gpus:
        return []
    line = f"  gets {'GPU' if len(gpus) == 1 else 'GPUs'} {', '.join(map(str, gpus))}"
    if len(gpus) > 1:
        ring = BandwidthModel(topology).ring(gpus)
        line += f": AllReduce {ring.busbw:.1f} GB/s by the model, limited by {ring.bottleneck}"
        if ring.cross_numa_share:
            line += f"; {ring.cross_numa_share:.0%} of the ring crosses NUMA nodes"
    return [line]


def _explain_pod(
    explanation: _core.Explanation, cluster: Cluster, scheduler: Scheduler, top: int
) -> str:
    status = explanation.status
    lines = []
    if status:
        scores = explanation.scores
        lines.append(
            f"{explanation.pod}: fits on {len(explanation.feasible)} of {len(cluster)} nodes; "
            f"goes to {explanation.best[0]}"
        )
        lines += _gpus(cluster, scheduler, explanation.pod, explanation.best[0])
        order = sorted(range(len(scores.nodes)), key=lambda i: (-scores.total[i], scores.nodes[i]))
        rows: list[list[object]] = [["NODE", "TOTAL", *scores.plugins]]
        for i in order[:top]:
            values = [int(scores.weighted[p, i]) for p in range(len(scores.plugins))]
            rows.append([scores.nodes[i], int(scores.total[i]), *values])
        if top:
            lines.append(_table(rows, indent=4))
        if 0 < top < len(order):
            lines.append(f"    … and {len(order) - top} more nodes")
        reasons = _reasons(explanation.diagnosis)
        if reasons:
            lines.append("  nodes that don't fit:")
    else:
        lines.append(f"{explanation.pod}: pends: {status.message}")
        reasons = _reasons(explanation.diagnosis)
    if reasons:
        heading = ("REASON", "PLUGIN", "CODE", "NODES")
        lines.append(_table([heading, *reasons], indent=4))
    if explanation.preemption is not None:
        lines += _preemption(explanation.preemption)
    return "\n".join(lines)


def _preemption(preemption: _core.Preemption) -> list[str]:
    if not preemption.status:
        return [f"  evicting pods doesn't help: {preemption.status.message}"]
    count = len(preemption.victims)
    lines = [
        f"  evicting {count} {'pod' if count == 1 else 'pods'} on {preemption.nominated_node} "
        "makes room:"
    ]
    rows: list[tuple[object, ...]] = [("VICTIM", "PRIORITY", "BREAKS BUDGET", "WHY")]
    rows += [(v.pod, v.priority, v.violated_budget or "-", v.reason) for v in preemption.victims]
    lines.append(_table(rows, indent=4))
    return lines


def _explain(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    scheduler, enabled = _scheduler(args, cluster)
    _problems(cluster, scheduler)
    if args.output == "json" and args.pod is None:
        print(scheduler._core.explain_json(cluster._core, 0, args.preempt))
        return
    pods = cluster.pending if args.pod is None else [args.pod]
    explanations = [scheduler.explain(cluster, pod, preempt=args.preempt) for pod in pods]
    if args.output == "json":
        print(json.dumps([json.loads(e.to_json()) for e in explanations]))
        return
    _notes(cluster, scheduler, enabled)
    if not explanations:
        print("no pod waits for a node")
        return
    fits = sum(bool(e.status) for e in explanations)
    if args.pod is None:
        noun = "pod waits" if len(explanations) == 1 else "pods wait"
        print(f"{len(explanations)} {noun}: {fits} fit, {len(explanations) - fits} pend\n")
    print("\n\n".join(_explain_pod(e, cluster, scheduler, args.top) for e in explanations))


def _place(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    scheduler, enabled = _scheduler(args, cluster, threads=args.threads)
    _problems(cluster, scheduler)
    placements = scheduler.place(cluster)
    if args.output == "json":
        print(json.dumps([[p.pod, p.node or ""] for p in placements]))
        return
    _notes(cluster, scheduler, enabled)
    if not placements:
        print("no pod waits for a node")
        return
    gpus = [",".join(map(str, cluster.gpus_of(p.pod))) for p in placements]
    rows = [["POD", "NODE", "WHY NOT"]]
    rows += [[p.pod, p.node or "-", "" if p.status else p.status.message] for p in placements]
    if any(gpus):
        for row, cell in zip(rows, ["GPUS", *gpus], strict=True):
            row.insert(2, cell or "-")
    print(_table(rows))
    print(f"\nplaced {placements.placed} of {len(placements)} pods")


def _run(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    scheduler, enabled = _scheduler(
        args, cluster, groups=True, threads=args.threads, pod_groups=True
    )
    _problems(cluster, scheduler)
    result = scheduler.run(cluster, status_updates=args.status_updates.replace("-", "_"))
    nodes = {pod: cluster.node_of(pod) for pod in result.bound}
    if args.output == "json":
        pods = {"bound": result.bound, "deleted": result.deleted, "pending": list(result.pending)}
        print(json.dumps(pods | {"nodes": nodes, "reasons": result.pending}))
        return
    _notes(cluster, scheduler, enabled)
    rows = [("POD", "STATE", "NODE", "WHY")]
    rows += [(pod, "bound", nodes[pod] or "-", "") for pod in result.bound]
    rows += [(pod, "evicted", "-", "") for pod in result.deleted]
    rows += [(pod, "pending", "-", why) for pod, why in result.pending.items()]
    if len(rows) > 1:
        print(_table(rows), end="\n\n")
    print(
        f"bound {len(result.bound)}, evicted {len(result.deleted)}, pending "
        f"{len(result.pending)} pods after {result.attempts} attempts in "
        f"{result.duration_s:.0f} s of virtual time"
    )


def _cycle(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    scheduler, enabled = _scheduler(args, cluster, nodes_to_score="configured")
    placements = [scheduler.schedule(cluster, pod) for pod in cluster.pending]
    if args.output == "json":
        rows = [
            {"pod": p.pod, "evaluated": p.evaluated, "feasible": p.feasible} for p in placements
        ]
        print(json.dumps(rows))
        return
    _notes(cluster, scheduler, enabled)
    if not placements:
        print("no pod waits for a node")
        return
    heading = ("POD", "EVALUATED", "FEASIBLE", "NODE", "WHY NOT")
    print(
        _table(
            [
                heading,
                *[
                    (p.pod, p.evaluated, p.feasible, p.node or "-", p.status.message)
                    for p in placements
                ],
            ]
        )
    )


def _config(args: argparse.Namespace) -> None:
    scheduler = Scheduler(args.config)
    if args.output == "json":
        print(scheduler._core.config_json(0))
        return
    without_effect = {p["name"] for p in describe_plugins() if not p["effect"]}
    blocks = []
    for profile in scheduler.profiles:
        rows: list[tuple[str, str]] = [("POINT", "PLUGINS")]
        for point, plugins in scheduler.plugins(profile).items():
            names = [
                f"{name}:{weight}" if weight else name
                for name, weight in plugins
                if name not in without_effect
            ]
            rows.append((point, " ".join(names) or "-"))
        block = f"profile {profile}\n{_table(rows, indent=2)}"
        enabled = {name for plugins in scheduler.plugins(profile).values() for name, _ in plugins}
        if idle := sorted(enabled & without_effect):
            block += f"\n  enabled, but without effect here: {', '.join(idle)}"
        blocks.append(block)
    if extenders := _extenders(scheduler):
        blocks.append(extenders)
    print("\n\n".join(blocks))


def _fit(args: argparse.Namespace) -> None:
    cluster = Cluster.load(args.cluster)
    scheduler, enabled = _scheduler(args, cluster)
    is_file = args.pod == "-" or os.path.exists(args.pod)  # noqa: PTH110 - "-" is no path
    if is_file:
        name = "<stdin>" if args.pod == "-" else args.pod
        fit = scheduler._fit(cluster, _core.read_text(args.pod), name, args.limit)
    else:
        try:
            cluster.pod(args.pod)
        except _core.Error as error:
            raise _core.Error(f"{args.pod}: there is no such file, and {error}") from None
        fit = scheduler.fit(cluster, args.pod, args.limit)
    if args.output == "json":
        print(
            json.dumps(
                {
                    "count": fit.count,
                    "limited": fit.limited,
                    "nodes": fit.nodes,
                    "next": {
                        "code": fit.status.code,
                        "plugin": fit.status.plugin,
                        "reasons": fit.status.reasons,
                    },
                }
            )
        )
        return
    _notes(cluster, scheduler, enabled)
    more = " or more (the limit)" if fit.limited else ""
    print(f"{fit.count}{more} of this pod fit")
    if fit.nodes:
        print(_table([("NODE", "PODS"), *fit.nodes.items()], indent=4))
    if not fit.status:
        print(f"the next one pends: {fit.status.message}")
    if fit.diagnosis is not None:
        heading = ("REASON", "PLUGIN", "CODE", "NODES")
        print(_table([heading, *_reasons(fit.diagnosis)], indent=4))


def _plugins(args: argparse.Namespace) -> None:
    plugins = describe_plugins()
    if args.output == "json":
        print(json.dumps(plugins))
        return
    blocks = []
    for plugin in plugins:
        points = ", ".join(plugin["points"]) or "-"
        lines = [f"{plugin['name']}: {plugin['help']}", f"  points: {points}"]
        if plugin["args"]:
            rows = [("ARGUMENT", "TYPE", "DEFAULT", "ALLOWED", "HELP")]
            rows += [
                (a["name"], a["type"], a["default"] or "-", a["allowed"] or "-", a["help"])
                for a in plugin["args"]
            ]
            lines.append(_table(rows, indent=2))
        blocks.append("\n".join(lines))
    print("\n\n".join(blocks))


class _Bar:
    """A line on the terminal that says how far the work is; nothing elsewhere."""

    _WIDTH = 40

    def __init__(self) -> None:
        self._shown = False
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        if not self._is_terminal:
            return
        filled = self._WIDTH * done // max(total, 1)
        bar = ("#" * filled).ljust(self._WIDTH)
        sys.stderr.write(f"\r[{bar}] {100 * done // max(total, 1):3} %")
        sys.stderr.flush()
        self._shown = True

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:  # the line goes, also when the work failed
            sys.stderr.write(f"\r{' ' * (self._WIDTH + 8)}\r")
            sys.stderr.flush()


class _Figure(float):
    """A number with two decimals, and a deviation if it is the mean of several."""

    deviation: float

    def __new__(cls, value: float, deviation: float = math.nan) -> _Figure:
        out = super().__new__(cls, value)
        out.deviation = deviation
        return out

    def __str__(self) -> str:
        if math.isnan(self):
            return "-"
        value = round(float(self), 2) + 0.0  # no -0.00
        spread = "" if math.isnan(self.deviation) else f" ±{self.deviation:.2f}"
        return f"{value:.2f}{spread}"


_ARRIVED = (90, 100, 110, 120, 130)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _curve_table(packing: Packing, measure: Measure) -> str:
    rows: list[list[object]] = [["POLICY", *(f"{percent} %" for percent in _ARRIVED)]]
    for policy in packing.policies:
        mean, deviation = packing.mean(policy, measure)
        rows.append([policy, *(_Figure(mean[i], deviation[i]) for i in _ARRIVED)])
    return _table(rows, indent=2)


def _pack_text(packing: Packing) -> str:
    seeds = packing.seeds
    of = f"seed {seeds[0]}"
    if len(seeds) > 1:
        of = f"means of {len(seeds)} seeds from {min(seeds)} to {max(seeds)} ± their deviation"
    ends = packing.end_means()
    heading = [key.upper() for key in next(iter(ends.values()))]
    rows: list[list[object]] = [["POLICY", *heading]]
    for policy, end in ends.items():
        figures = [_Figure(value) for value in end.values()]
        failed = int(end["failed"]) if len(seeds) == 1 else figures[0]
        rows.append([policy, failed, *figures[1:]])
    return "\n".join(
        [
            f"{packing.workload}: {_many(packing.pod_count, 'pod')}; "
            f"{_many(packing.node_count, 'node')}, {_many(packing.total_gpus, 'GPU')}; {of}",
            "",
            "allocated GPUs, % of all, when pods had asked for so many % of all GPUs",
            _curve_table(packing, "allocation"),
            "",
            "fragmented GPUs, % of the idle ones",
            _curve_table(packing, "frag_ratio"),
            "",
            "at the end: pods that failed; GPUs and cores in use; idle GPUs by what typical pods "
            "could do with them",
            _table(rows, indent=2),
        ]
    )


def _pack_json(packing: Packing, files: Sequence[Path]) -> str:
    def numbers(values: Any) -> list[float | None]:
        return [None if math.isnan(value) else value for value in values.tolist()]

    runs = [
        {
            "policy": run.policy,
            "sc_policy": run.published_policy,
            "tune": run.tune,
            "seed": run.seed,
            "events": len(run.result.node),
            "failed": run.result.failed,
            "used_gpus": run.used_gpus(),
            "used_cores": run.result.used_cpu_milli / 1000,
            "idle_gpus": run.idle_gpus(),
            "allocation": numbers(run.result.allocation),
            "frag_ratio": numbers(run.result.frag_ratio),
        }
        for run in packing.runs
    ]
    of = {
        "workload": packing.workload,
        "nodes": packing.node_count,
        "gpus": packing.total_gpus,
        "pods": packing.pod_count,
    }
    return json.dumps(of | {"runs": runs, "files": [str(path) for path in files]})


def _pack(args: argparse.Namespace) -> None:
    if args.output_dir is not None and args.output_dir.exists() and not args.output_dir.is_dir():
        raise _core.Error(f"{args.output_dir}: is a file, not a directory")
    with _Bar() as bar:
        packing = pack(
            args.nodes,
            args.pods,
            args.policy or "fgd",
            tune=args.tune,
            seed=args.seed or 42,
            order=args.order,
            ranks=args.ranks,
            threads=args.threads,
            progress=bar,
        )
    files: list[Path] = []
    if args.output_dir is not None:
        try:
            files = packing.save(args.output_dir)
        except OSError as error:
            raise _core.Error(f"{error.filename}: {error.strerror}") from None
        if not any(path.suffix == ".png" for path in files):
            print("for the picture: pip install 'schedfw[plot]'", file=sys.stderr)
    if args.format == "json":
        print(_pack_json(packing, files))
        return
    print(_pack_text(packing))
    if files:
        print("\n" + "\n".join(map(str, files)))


def _topo_text(topology: NodeTopology) -> str:
    counts = [_many(len(topology.gpus), "GPU"), _many(len(topology.nics), "NIC")]
    if topology.gpu_model:
        counts[0] += f" ({topology.gpu_model})"
    if topology.numa_nodes:
        counts.append(_many(len(topology.numa_nodes), "NUMA node"))
    lines = [f"{topology.source}: {', '.join(counts)}", ""]

    island_of: dict[str, int] = {}
    rows: list[list[object]] = [["ISLAND", "LINKS", "GPUS"]]
    for number, island in enumerate(topology.islands):
        island_of |= dict.fromkeys(island, number)
        links = {
            link
            for i, a in enumerate(island)
            for b in island[:i]
            if (link := topology.link(a, b)).startswith(("NV", "XGMI"))
        }
        order = sorted(links, key=lambda link: (len(link), link))
        rows.append([number, " ".join(order) or "-", " ".join(island)])
    lines += [_table(rows), ""]

    rows = [["DEVICE", "NUMA", "CPUS", "ISLAND", "NEAREST_NICS"]]
    for device in topology.devices:
        is_gpu = device.kind == "GPU"
        nearest, nics = topology.nearest_nics(device.name) if is_gpu else (None, [])
        rows.append(
            [
                device.name if device.alias is None else f"{device.name} ({device.alias})",
                ranges(device.cpu_numa or device.numa) or "-",
                device.cpus or "-",
                str(island_of[device.name]) if is_gpu else "-",
                f"{nearest}: {' '.join(nics)}" if nearest else "-",
            ]
        )
    memory = {d.name: d.gpu_numa_id for d in topology.devices if d.gpu_numa_id is not None}
    if memory:
        rows[0].insert(2, "GPU_NUMA_ID")
        for cells, device in zip(rows[1:], topology.devices, strict=True):
            cells.insert(2, str(memory.get(device.name, "-")))
    lines += [_table(rows), ""]

    if topology.numa_nodes:
        rows = [["NUMA", "CPUS", "MEMORY", "DISTANCES"]]
        distances = topology.numa_distances.tolist() or [[]] * len(topology.numa_nodes)
        for node, row in zip(topology.numa_nodes, distances, strict=True):
            size = f"{node.memory_bytes / 2**30:.1f} GiB" if node.memory_bytes else "-"
            rows.append([str(node.id), node.cpus or "-", size, " ".join(map(str, row)) or "-"])
        lines += [_table(rows), ""]

    names = [device.name for device in topology.devices]
    matrix = [[name, *row] for name, row in zip(names, topology.links.tolist(), strict=True)]
    lines.append(_table([["", *names], *matrix]))
    return "\n".join(lines)


def _topo(args: argparse.Namespace) -> None:
    if args.list:
        presets = _core.topology_presets()
        if args.output == "json":
            keys = ("name", "about", "source")
            print(json.dumps([dict(zip(keys, item, strict=True)) for item in presets]))
        else:
            print(_table([("PRESET", "WHAT IT IS"), *(item[:2] for item in presets)]))
        return
    if args.topology is None:
        raise _core.Error("a file or a preset must be given (schedfw topo --list names presets)")
    if args.topology == args.numactl == "-":
        raise _core.Error("--numactl: standard input is the topology (allowed: a file)")
    topology = NodeTopology(_core.NodeTopology.read(args.topology, True, args.node))
    if args.numactl is not None:
        topology = topology.with_numactl(args.numactl)
    if args.png is not None:
        _save_png(topology, args.png)
    if args.output == "json":
        print(topology.to_json())
        return
    print(_topo_text(topology))
    if args.png is not None:
        print(f"\n{args.png}")


def _save_png(topology: NodeTopology, path: Path) -> None:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise _core.Error(
            "--png: matplotlib is not installed (pip install 'schedfw[plot]')"
        ) from None
    # A figure without pyplot: it needs no display and leaves nothing behind.
    size = min(max(4.5, 1.6 + 0.42 * len(topology.devices)), 40)
    figure = Figure(figsize=(size + 1.6, size), layout="constrained")
    topology.plot(figure.subplots())
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise _core.Error(f"{path}: {error.strerror}") from None


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="schedfw",
        description="Kubernetes scheduling without Kubernetes: ask a cluster file what "
        "kube-scheduler would do.",
    )
    parser.add_argument("--version", action="version", version=f"schedfw {_core.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        name: str, run: Any, text: str, cluster: str | None, *, output: bool = True
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        command.set_defaults(run=run)
        files = (
            "files that kubectl get nodes,pods,… -o json (or yaml) printed; gzip or not; "
            "- is standard input"
        )
        if cluster == "+":
            command.add_argument("cluster", metavar="CLUSTER", nargs="+", help=files)
        elif cluster == "1":
            command.add_argument("cluster", metavar="CLUSTER", help=files)
        if cluster is not None:
            command.add_argument(
                "--config", metavar="F", help="a KubeSchedulerConfiguration; the default profile"
            )
        if output:
            command.add_argument(
                "-o", "--output", choices=("table", "json"), default="table", help="default: table"
            )
        return command

    explain = add("explain", _explain, "why each waiting pod pends or fits, node by node", "+")
    explain.add_argument("--pod", metavar="NS/NAME", help="only this pod")
    explain.add_argument(
        "--top", metavar="N", type=_count, default=3, help="nodes to show with scores (default: 3)"
    )
    explain.add_argument(
        "--preempt",
        action="store_true",
        help="also say which pods would be evicted where no node fits (JSON: in place of scores)",
    )
    add(
        "cycle",
        _cycle,
        "how many nodes a cycle of each waiting pod looks at, sampling as kube-scheduler does; "
        "nothing is placed",
        "+",
    )
    place = add("place", _place, "where all waiting pods go, one after another", "+")
    place.add_argument(
        "--threads", metavar="N", type=_count, default=1, help="0: all cores (default: 1)"
    )
    run = add(
        "run",
        _run,
        "run the whole scheduler in virtual time until nothing more changes: queue, preemption, "
        "groups of pods",
        "+",
    )
    run.add_argument(
        "--threads", metavar="N", type=_count, default=1, help="0: all cores (default: 1)"
    )
    run.add_argument(
        "--status-updates",
        choices=("on-failure", "at-once"),
        default="on-failure",
        help="when a waiting pod's nomination is seen by the queue: at its next failure, as where "
        "kube-scheduler's answers were recorded, or at once, as with an API server",
    )
    config = add("config", _config, "the effective plugins of a configuration", None)
    config.add_argument("config", metavar="F", help="a KubeSchedulerConfiguration")
    fit = add("fit", _fit, "how many more of a pod fit, and what stops the next one", "1")
    fit.add_argument("pod", metavar="POD", help="a file with one Pod, or NS/NAME of the cluster")
    fit.add_argument(
        "--limit",
        metavar="N",
        type=_count,
        default=100_000,
        help="place at most N (default: 100000)",
    )
    packing = add(
        "pack",
        _pack,
        "how well policies use the GPUs of a trace: pods are placed one after another, and those "
        "that fit nowhere are given up",
        None,
        output=False,
    )
    packing.add_argument(
        "nodes", metavar="NODES", help="a CSV file with columns sn,cpu_milli,memory_mib,gpu,model"
    )
    packing.add_argument(
        "pods",
        metavar="PODS",
        help="a CSV file with columns name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec",
    )
    packing.add_argument(
        "--policy",
        metavar="NAME",
        action="extend",
        type=_policies,
        help="random, dotprod, clustering, packing, bestfit, fgd, several with commas between "
        "them, or all (default: fgd)",
    )
    packing.add_argument(
        "--tune",
        metavar="X",
        type=_tune,
        default=1.3,
        help="GPUs that arriving pods ask for, relative to all GPUs: pods come again or stay out "
        "until that is so; 0: each pod comes once (default: 1.3)",
    )
    packing.add_argument(
        "--seed",
        metavar="N",
        action="extend",
        type=_seeds,
        help="what the order is drawn with; several as in 42-51 or 1,5 (default: 42)",
    )
    packing.add_argument(
        "--order",
        metavar="FILE",
        help="arrivals from a CSV file, event,SEED,…, instead of drawing them; needs --ranks",
    )
    packing.add_argument(
        "--ranks", metavar="FILE", help="ranks of the nodes from a CSV file, sn,SEED,…"
    )
    packing.add_argument(
        "--threads",
        metavar="N",
        type=_count,
        default=1,
        help="runs at a time; 0: all cores (default: 1)",
    )
    packing.add_argument(
        "-o",
        "--output-dir",
        metavar="DIR",
        type=Path,
        help="write allocation.csv, frag_ratio.csv and, with matplotlib, curves.png",
    )
    packing.add_argument(
        "--format", choices=("table", "json"), default="table", help="default: table"
    )
    topo = add("topo", _topo, "the GPUs and NICs of a node, and what lies between them", None)
    topo.add_argument(
        "topology",
        metavar="FILE|PRESET",
        nargs="?",
        help="what nvidia-smi topo -m, lstopo --of xml or schedfw topo -o json printed, gzip or "
        "not; or Kubernetes objects that tell (Nodes by their annotation, "
        "NodeResourceTopologies); - is standard input; or a preset, as dgx-a100",
    )
    topo.add_argument(
        "--node", metavar="NAME", default="", help="whose, when objects tell of several nodes"
    )
    topo.add_argument(
        "--numactl", metavar="FILE", help="what numactl -H printed on the same node, in addition"
    )
    topo.add_argument(
        "--png", metavar="FILE", type=Path, help="draw the links into a PNG; needs matplotlib"
    )
    topo.add_argument("--list", action="store_true", help="name the presets instead")
    add("plugins", _plugins, "the plugins, their extension points and arguments", None)
    return parser


def _fail(message: object) -> int:
    print(f"schedfw: error: {_one_line(message)}", file=sys.stderr)
    return 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0, or 2 with one line on standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where "…" can't be written
    try:
        args = _build_parser().parse_args(argv)
        args.run(args)
        sys.stdout.flush()
    except _core.Error as error:
        return _fail(error)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # Nothing more can be written, also not what is left when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has had enough (| head)
            return 0
        return _fail(f"standard output: {error.strerror}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
