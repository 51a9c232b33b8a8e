"""Compares schedfw with the real kube-scheduler on random cases."""

import datetime
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from . import answer, compare, coverage, generate, shrink

SHOWN = 5  # differences that are reduced and printed
MANY = 2000  # how often a preemption is asked for before it counts as different


def lacks(case, features):
    """Names a feature of the list that the case needs, or None."""
    for feature in features:
        if case["mode"] == feature:
            return feature
        if feature == "affinity" and needs_affinity(case):
            return feature
        if feature == "nominated" and any(
            (item.get("status") or {}).get("nominatedNodeName") for item in case["cluster"]["items"]
        ):
            return feature
    return None


def needs_affinity(case):
    """Says whether InterPodAffinity has something to say."""
    config = json.dumps(case["config"]) if case["config"] else ""
    rules = ("podAffinity", "podAntiAffinity")
    affinities = [(i.get("spec") or {}).get("affinity") for i in case["cluster"]["items"]]
    return "InterPodAffinity" in config or any(a and any(x in a for x in rules) for a in affinities)


class Tally:
    """What a run has seen."""

    def __init__(self):
        self.by_kind = {}
        self.statuses = Counter()
        self.fields = Counter()
        self.ties = 0
        self.refused = 0
        self.left_out = Counter()
        self.compared = [0, 0]  # pods and nodes

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


def compare_all(cases, work, sides, left_out, tally):
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
        feature = lacks(case, left_out)
        if feature:
            tally.left_out[feature] += 1
            continue
        tally.compared[0] += len(want)
        tally.compared[1] += sum(item["kind"] == "Node" for item in case["cluster"]["items"])
        different = differences(case, want, answer.read(work / "got", case["name"]))
        if different and case["mode"] == "preempt":
            want = ask_again(case, work, sides)
            different = differences(case, want, answer.read(work / "got", case["name"]))
        if different:
            found[case["name"]] = different
    return found


def differences(case, want, got):
    """Compares two answers to a case; a mode that isn't there is one difference."""
    if isinstance(got, dict) and "unsupported" in got:
        return [compare.Difference("", "mode", case["mode"], "not supported")]
    return compare.differences(case["mode"], want, got)


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


def log_line(seed, tally, rare, number):
    """Makes a row of the log in docs/conformance.md."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    cases = tally.total()[0]
    pods, nodes = tally.compared
    today = datetime.datetime.now(datetime.timezone.utc).date()
    plugins = Counter()
    for (plugin, _, _), count in tally.statuses.items():
        plugins[plugin or "-"] += count
    counts = ", ".join(f"{plugin} {count}" for plugin, count in sorted(plugins.items()))
    row = (today, commit, "1.37.2", seed, cases, pods, nodes, counts, rare, number)
    return "| " + " | ".join(map(str, row)) + " |"


def run(options, sides):
    """Runs the comparison; returns the exit status."""
    work = Path(options.work)
    cases = list(generate.cases(options.pods, options.seed, options.kinds))
    tally = Tally()
    found = compare_all(cases, work, sides, options.leave_out, tally)
    for case in cases:
        if case["name"] in found:
            show(case, found[case["name"]], work, sides)
            options.show -= 1
            if options.show <= 0:
                break
    table, rare = coverage.report(tally.statuses, tally.total()[1])
    print("\n" + "\n".join(table))
    print("\n" + "\n".join(tally.lines()))
    for feature, count in sorted(tally.left_out.items()):
        print(f"cases left out of the comparison, {feature}: {count}")
    print(f"cases that both refuse or that only one does: {tally.refused}")
    print(f"preemptions that upstream answers at random: {tally.ties}")
    print(f"declared statuses that came up too rarely: {rare}")
    by_field = Counter()
    for different in found.values():
        by_field.update((d.field or "?").split(".")[0] for d in different)
    for field, count in by_field.most_common():
        print(f"differences in {field}: {count}")
    number = sum(map(len, found.values()))
    pods, nodes = tally.compared
    if options.log:
        with Path(options.log).open("a", encoding="utf-8") as log:
            log.write(log_line(options.seed, tally, rare, number) + "\n")
    print(f"pods={pods} nodes={nodes} differences={number}")
    if options.kinds is None and options.pods >= coverage.PODS and rare:
        print("coverage: too rare statuses", file=sys.stderr)
        return 1
    return 1 if number else 0
