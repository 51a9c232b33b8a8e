"""Measures whether the generator makes clusters in which each field of a pod matters.

Each field is deleted in turn: from all waiting pods, counting those that carry it and whose answer
changes; and from all running pods, counting the clusters where the answer to any pod changes. What
a pod can't do without gets another value instead. Clusters that are refused then count nowhere.
"""

import copy
from collections import defaultdict
from pathlib import Path

from . import answer, compare, generate, log
from .draw import HOST, ZONE

SHORTENED = ("required", "preferred")  # in the document
LEAST = 0.05  # the share of answers that must change
AT_ONCE = 500  # variants that are answered together

# Maps with free keys: deleted as a whole, and those of resources also key by key.
MAPS = {"labels", "matchLabels", "nodeSelector"}
RESOURCE_MAPS = {"requests", "limits", "overhead", "allocatedResources"}
SHORT = {f"{word}DuringSchedulingIgnoredDuringExecution": f"{word}…" for word in SHORTENED}
# What objects are found by or need to be objects; nothing of it is a rule of scheduling.
NOT_RULES = {
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    ("metadata", "name"),
    ("metadata", "deletionGracePeriodSeconds"),
    ("metadata", "finalizers"),
    ("metadata", "ownerReferences", "[]", "uid"),
    ("spec",),
    ("spec", "nodeName"),
    ("spec", "containers", "[]", "name"),
    ("spec", "initContainers", "[]", "name"),
    ("spec", "volumes", "[]", "name"),
    ("status", "conditions", "[]", "status"),
}
# The same by the end of the path: what has no other value, and what holds needed fields only.
NOT_RULES_AT_THE_END = {("matchFields", "[]", "key"), ("podAffinityTerm",), ("preference",)}
PAIRS = [("In", "NotIn"), ("Exists", "DoesNotExist"), ("Gt", "Lt")]
PAIRS.append(("DoNotSchedule", "ScheduleAnyway"))
OPPOSITES = {**dict(PAIRS), **{b: a for a, b in PAIRS}}
# What a running pod carries and no plugin reads: it must change nothing.
NOT_READ = (
    "metadata.ownerReferences",
    "spec.containers.[].image",
    "spec.initContainers.[].image",
    "spec.nodeSelector",
    "spec.schedulerName",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "spec.volumes",
)


def resource_class(name):
    """Names of resources, with those of a class taken together."""
    if name in ("cpu", "memory", "ephemeral-storage"):
        return name
    return "hugepages-…" if name.startswith("hugepages-") else "(other)"


def fields_of(value, path=()):
    """Yields the paths of all fields in a pod; entries of lists are all one `[]`."""
    if isinstance(value, list):
        for entry in value:
            yield from fields_of(entry, (*path, "[]"))
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        here = (*path, key)
        yield here
        if key in RESOURCE_MAPS:
            yield from ((*here, resource_class(name)) for name in inner)
        elif key not in MAPS:
            yield from fields_of(inner, here)


def needed(path):
    """Says whether a pod can't do without the field, so that it gets another value."""
    if path[-1] in ("topologyKey", "weight", "maxSkew", "whenUnsatisfiable"):
        return True
    return path[-3:-1] in (("matchExpressions", "[]"), ("matchFields", "[]"))


def other_value(whole, key):
    """Makes another value of a needed field of the object `whole`."""
    value = whole[key]
    if key == "topologyKey":
        return ZONE if value == HOST else HOST
    if key == "weight":
        return 1 if value > 50 else 100
    if key == "maxSkew":
        return 1 if value > 1 else 2
    if key == "key":
        return "disk" if value != "disk" else "rack"
    if key == "values":
        return ["6"] if whole.get("operator") in ("Gt", "Lt") else ["another"]
    return OPPOSITES[value]


def delete(value, path, done=()):
    """Deletes a field from a pod, or changes a needed one, in all entries of lists."""
    key, rest, done = path[0], path[1:], (*done, path[0])
    if key == "[]":
        for entry in value:
            delete(entry, rest, done)
    elif not isinstance(value, dict) or not rest:
        if isinstance(value, dict) and key in value:
            if needed(done):
                value[key] = other_value(value, key)
            else:
                del value[key]
    elif key in RESOURCE_MAPS and isinstance(value.get(key), dict):
        inner = value[key]
        value[key] = {n: q for n, q in inner.items() if resource_class(n) != rest[0]}
    elif key in value:
        delete(value[key], rest, done)


def inside_not_read(path):
    """Says whether the field lies in one that isn't read; without it, the whole may be refused."""
    return any(".".join(path).startswith(whole + ".") for whole in NOT_READ)


def is_rule(path):
    """Says whether scheduling may follow from the field."""
    ends = (path[-len(end) :] in NOT_RULES_AT_THE_END for end in NOT_RULES_AT_THE_END)
    return path not in NOT_RULES and not any(ends)


def is_pod(item, waiting):
    """Says whether an object is a pod that waits, or one that runs."""
    return item["kind"] == "Pod" and ("nodeName" in item["spec"]) != waiting


def variants(case):
    """Yields (waiting?, field, names of carriers, the case without the field)."""
    for waiting in (True, False):
        carriers = defaultdict(set)
        for item in case["cluster"]["items"]:
            if is_pod(item, waiting):
                for path in fields_of(item):
                    if is_rule(path) and (waiting or not inside_not_read(path)):
                        carriers[path].add(item["metadata"]["name"])
        for path, names in carriers.items():
            items = []
            for item in case["cluster"]["items"]:
                if is_pod(item, waiting) and item["metadata"]["name"] in names:
                    item = copy.deepcopy(item)
                    delete(item, path)
                items.append(item)
            yield waiting, path, names, {**case, "cluster": {**case["cluster"], "items": items}}


def by_name(mode, value):
    """The answers by pod name."""
    out = {pod.split("/")[-1]: inner for pod, inner in compare.by_pod(mode, value).items()}
    for inner in out.values():
        inner.pop("pod", None)
    out.pop("", None)
    return out


class Table:
    """Counts by field."""

    def __init__(self):
        self.counts = defaultdict(lambda: [0, 0])

    def add(self, waiting, path, names, before, after):
        """Counts the pods whose answers changed; `after` is None if the case was refused."""
        count = self.counts[waiting, path]
        if after is None:
            return
        if waiting:
            asked = [name for name in names if name in before or name in after]
            count[0] += len(asked)
            count[1] += sum(before.get(name) != after.get(name) for name in asked)
        else:
            count[0] += 1
            count[1] += before != after

    def lines(self):
        """The table, and how many fields matter too little, or do and should not."""
        out = [f"{'carried':>7} {'changed':>8} {'share':>7}  field"]
        bad = 0
        for (waiting, path), (carried, changed) in sorted(
            self.counts.items(), key=lambda entry: (not entry[0][0], entry[0][1])
        ):
            share = changed / max(carried, 1)
            name = ".".join(path)
            mark = ""
            if not waiting and name in NOT_READ:
                mark = "  <- is read" if changed else "  (not read)"
            elif share < LEAST:
                mark = "  <- hardly matters"
            bad += "<-" in mark
            who = "" if waiting else "running: "
            name = name.replace(".[]", "[]")
            out.append(f"{carried:>7} {changed:>8} {share:>7.1%}  {who}{name}{mark}")
        return out, bad

    def document(self):
        """The table of docs/conformance.md: a row by field, for waiting and for running pods."""
        out = ["<details><summary>Of which share of the pods the answer changes</summary>", ""]
        out.append("| field | waiting pods | changed | share | clusters | changed | share |")
        out.append("|---|---:|---:|---:|---:|---:|---:|")
        for path in sorted({path for _, path in self.counts}):
            cells = []
            for waiting in (True, False):
                carried, changed = self.counts.get((waiting, path), (0, 0))
                share = f"{changed / carried:.1%}" if carried else ""
                cells.extend((carried, changed, share) if carried else ("", "", ""))
            name = ".".join(SHORT.get(part, part) for part in path).replace(".[]", "[]")
            out.append(f"| `{name}` | " + " | ".join(map(str, cells)) + " |")
        return [*out, "", "</details>"]


def run(options, sides):
    """Prints the table of fields; returns the exit status."""
    work = Path(options.work)
    table = Table()
    waiting_list = []

    def flush():
        if not waiting_list:
            return
        answer.write_cases((variant for *_, variant in waiting_list), work / "variants")
        sides.run(options.by, work / "variants", answer.fresh(work / "variant-answers"))
        for waiting, path, names, before, variant in waiting_list:
            value = answer.read(work / "variant-answers", variant["name"])
            after = None if isinstance(value, dict) else by_name(variant["mode"], value)
            table.add(waiting, path, names, before, after)
        waiting_list.clear()

    cases = list(generate.cases(options.pods, options.seed, options.kinds))
    answer.write_cases(cases, work / "cases")
    sides.run(options.by, work / "cases", answer.fresh(work / "answers"))
    for case in cases:
        value = answer.read(work / "answers", case["name"])
        if isinstance(value, dict):  # refused
            continue
        before = by_name(case["mode"], value)
        for waiting, path, names, variant in variants(case):
            variant["name"] = f"{case['name']}-{len(waiting_list)}"
            waiting_list.append((waiting, path, names, before, variant))
        if len(waiting_list) >= AT_ONCE:
            flush()
    flush()
    lines, bad = table.lines()
    print("\n".join(lines))
    if options.log:
        log.replace_table(options.log, "fields", table.document())
    print(f"fields={len(table.counts)} below={bad}")
    return 1 if bad else 0
