"""Compares schedfw with the real kube-scheduler on random cases."""

import datetime
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from . import answer, compare, coverage, generate, log, shrink

SHOWN = 5  # differences that are reduced and printed
MANY = 2000  # how often a preemption is asked for before it counts as different


class Tally:
    """What a run has seen."""

    def __init__(self):
        self.by_kind = {}
        self.statuses = Counter()
        self.ties = 0
        self.refused = 0

    def add(self, case, want):
        """Counts a case and the statuses of its answer."""
        cases, pods, nodes = self.by_kind.get(case["kind"], (0, 0, 0))
        number = sum(item["kind"] == "Node" for item in case["cluster"]["items"])
        if isinstance(want, dict):
            self.refused += 1
            want = []
        self.by_kind[case["kind"]] = (cases + 1, pods + len(want), nodes + number)
        if case["mode"] in ("explain", "preempt"):
            coverage.count(want, self.statuses)
            self.ties += sum(compare.is_tie(pod) for pod in want)

    def total(self):
        """The numbers of cases, pods and nodes."""
        return tuple(map(sum, zip(*self.by_kind.values(), strict=True)))

    def lines(self):
        """The table by kind."""
        out = [f"{'kind':<20} {'cases':>7} {'pods':>7} {'nodes':>8}"]
        rows = [*sorted(self.by_kind.items()), ("total", self.total())]
        out.extend(f"{kind:<20} {c:>7} {p:>7} {n:>8}" for kind, (c, p, n) in rows)
        return out


def compare_all(cases, work, sides, tally):
    """Answers and compares cases; returns {name: differences}."""
    answer.write_cases(cases, work / "cases")
    for side in ("want", "got"):
        start = time.monotonic()
        sides.run(side, work / "cases", answer.fresh(work / side))
        print(f"{side}: {time.monotonic() - start:.0f} s", flush=True)
    found = {}
    for case in cases:
        want = answer.read(work / "want", case["name"])
        tally.add(case, want)
        got = answer.read(work / "got", case["name"])
        different = compare.differences(case["mode"], want, got)
        if different and case["mode"] == "preempt":
            different = compare.differences("preempt", ask_again(case, work, sides), got)
        if different:
            found[case["name"]] = different
    return found


def ask_again(case, work, sides):
    """Asks the real scheduler often enough that ties which seldom show are known."""
    answer.write_cases([case], work / "again")
    sides.run("want", work / "again", answer.fresh(work / "again-want"), MANY, 1)
    return answer.read(work / "again-want", case["name"])


def show(case, different, work, sides):
    """Prints a difference, reduced as far as it goes, and both answers."""
    first = different[0]
    print(f"\n--- {case['name']}: {first.pod}: {first.field}, {len(different)} different")
    small = shrink.reduce(case, first.field, work / "shrink", sides)
    print(f"mode: {small['mode']}")
    for item in small["cluster"]["items"]:
        print(json.dumps(item))
    if small["config"] is not None:
        print("configuration: " + json.dumps(small["config"]))
    for side in ("want", "got"):
        sides.run(side, work / "shrink" / "cases", work / "shrink" / side, MANY, 1)
    for side, who in (("want", "kube-scheduler"), ("got", "schedfw")):
        print(f"{who}: {json.dumps(answer.read(work / 'shrink' / side, small['name']))}")
    sys.stdout.flush()


def log_row(seed, tally, rare, number):
    """Makes a row of the log in docs/conformance.md."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    cases, pods, nodes = tally.total()
    today = datetime.datetime.now(datetime.timezone.utc).date()
    plugins = Counter()
    for (plugin, _, _), count in tally.statuses.items():
        plugins[plugin or "-"] += count
    counts = ", ".join(f"{plugin} {count}" for plugin, count in sorted(plugins.items()))
    return (today, commit, "1.37.2", seed, cases, pods, nodes, counts, rare, number)


def run(options, sides):
    """Runs the comparison; returns the exit status."""
    work = Path(options.work)
    cases = list(generate.cases(options.pods, options.seed, options.kinds))
    tally = Tally()
    found = compare_all(cases, work, sides, tally)
    for case in cases:
        if case["name"] in found:
            show(case, found[case["name"]], work, sides)
            options.show -= 1
            if options.show <= 0:
                break
    table, rare = coverage.report(tally.statuses, tally.total()[1])
    print("\n" + "\n".join(table))
    print("\n" + "\n".join(tally.lines()))
    print(f"cases that both refuse or that only one does: {tally.refused}")
    print(f"preemptions that upstream answers at random: {tally.ties}")
    print(f"declared statuses that came up too rarely: {rare}")
    by_field = Counter()
    for different in found.values():
        by_field.update((d.field or "?").split(".")[0] for d in different)
    for field, count in by_field.most_common():
        print(f"differences in {field}: {count}")
    number = sum(map(len, found.values()))
    _, pods, nodes = tally.total()
    if options.log:
        log.append_row(options.log, log_row(options.seed, tally, rare, number))
    print(f"pods={pods} nodes={nodes} differences={number}")
    if options.kinds is None and options.pods >= coverage.PODS and rare:
        print("coverage: too rare statuses", file=sys.stderr)
        return 1
    return 1 if number else 0
