"""The command `schedfw`."""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

from schedfw import _core
from schedfw.cluster import Cluster
from schedfw.plugin import describe_plugins
from schedfw.scheduler import Scheduler


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


def _notes(cluster: Cluster, scheduler: Scheduler) -> None:
    """Say on standard error what of the files doesn't count."""
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


def _explain_pod(explanation: _core.Explanation, nodes: int, top: int) -> str:
    status = explanation.status
    lines = []
    if status:
        scores = explanation.scores
        lines.append(
            f"{explanation.pod}: fits on {len(explanation.feasible)} of {nodes} nodes; "
            f"goes to {explanation.best[0]}"
        )
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
    scheduler = Scheduler(args.config)
    if args.output == "json" and args.pod is None:
        print(scheduler._core.explain_json(cluster._core, 0, args.preempt))
        return
    pods = cluster.pending if args.pod is None else [args.pod]
    explanations = [scheduler.explain(cluster, pod, preempt=args.preempt) for pod in pods]
    if args.output == "json":
        print(json.dumps([json.loads(e.to_json()) for e in explanations]))
        return
    _notes(cluster, scheduler)
    if not explanations:
        print("no pod waits for a node")
        return
    fits = sum(bool(e.status) for e in explanations)
    if args.pod is None:
        noun = "pod waits" if len(explanations) == 1 else "pods wait"
        print(f"{len(explanations)} {noun}: {fits} fit, {len(explanations) - fits} pend\n")
    print("\n\n".join(_explain_pod(e, len(cluster), args.top) for e in explanations))


def _place(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    scheduler = Scheduler(args.config, threads=args.threads)
    placements = scheduler.place(cluster)
    if args.output == "json":
        print(json.dumps([[p.pod, p.node or ""] for p in placements]))
        return
    _notes(cluster, scheduler)
    if not placements:
        print("no pod waits for a node")
        return
    rows = [("POD", "NODE", "WHY NOT")]
    rows += [(p.pod, p.node or "-", "" if p.status else p.status.message) for p in placements]
    print(_table(rows))
    print(f"\nplaced {placements.placed} of {len(placements)} pods")


# Coscheduling with the default plugins, as its own manifests enable it.
_COSCHEDULING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]},
            },
        }
    ],
}


def _run(args: argparse.Namespace) -> None:
    cluster = Cluster.load(*args.cluster)
    groups = 0 if args.config else cluster._core.coscheduling_group_count
    config = _COSCHEDULING if groups else args.config
    scheduler = Scheduler(config, threads=args.threads, pod_groups=True)
    result = scheduler.run(cluster, status_updates=args.status_updates.replace("-", "_"))
    nodes = {pod: cluster.node_of(pod) for pod in result.bound}
    if args.output == "json":
        pods = {"bound": result.bound, "deleted": result.deleted, "pending": list(result.pending)}
        print(json.dumps(pods | {"nodes": nodes, "reasons": result.pending}))
        return
    _notes(cluster, scheduler)
    if groups:
        kind = "PodGroup" if groups == 1 else "PodGroups"
        print(
            f"enabled: Coscheduling, for {groups} {kind} of scheduling.x-k8s.io", file=sys.stderr
        )
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
    scheduler = Scheduler(args.config, nodes_to_score="configured")
    placements = [scheduler.schedule(cluster, pod) for pod in cluster.pending]
    if args.output == "json":
        rows = [
            {"pod": p.pod, "evaluated": p.evaluated, "feasible": p.feasible} for p in placements
        ]
        print(json.dumps(rows))
        return
    _notes(cluster, scheduler)
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
    scheduler = Scheduler(args.config)
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
    _notes(cluster, scheduler)
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


def _build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="schedfw",
        description="Kubernetes scheduling without Kubernetes: ask a cluster file what "
        "kube-scheduler would do.",
    )
    parser.add_argument("--version", action="version", version=f"schedfw {_core.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Any, text: str, cluster: str | None) -> argparse.ArgumentParser:
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
