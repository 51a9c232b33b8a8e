"""Measures whether the generator makes clusters in which each field of a pod matters.

Each field is deleted in turn: from all waiting pods, counting those that carry it and whose answer
changes; and from all running pods, counting the clusters where the answer to any pod changes.
"""

import copy
from collections import defaultdict
from pathlib import Path

from . import answer, compare, generate

LEAST = 0.05  # the share of answers that must change
AT_ONCE = 500  # variants that are answered together

# Maps with free keys: deleted as a whole, and those of resources also key by key.
MAPS = {"labels", "matchLabels", "nodeSelector"}
RESOURCE_MAPS = {"requests", "limits", "overhead", "allocatedResources"}
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


def delete(value, path):
    """Deletes a field from a pod, in all entries of lists."""
    key, rest = path[0], path[1:]
    if key == "[]":
        for entry in value:
            delete(entry, rest)
    elif not isinstance(value, dict) or not rest:
        if isinstance(value, dict):
            value.pop(key, None)
    elif key in RESOURCE_MAPS and isinstance(value.get(key), dict):
        inner = value[key]
        value[key] = {n: q for n, q in inner.items() if resource_class(n) != rest[0]}
    elif key in value:
        delete(value[key], rest)


def inside_not_read(path):
    """Says whether the field lies in one that isn't read; without it, the whole may be refused."""
    return any(".".join(path).startswith(whole + ".") for whole in NOT_READ)


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
                    if path not in NOT_RULES and (waiting or not inside_not_read(path)):
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
    """The answers by pod name; {} if the case was refused."""
    if isinstance(value, dict):
        return {}
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
        """Counts the pods whose answers changed."""
        count = self.counts[waiting, path]
        if waiting:
            asked = [name for name in before if name in names]
            count[0] += len(asked)
            count[1] += sum(before[name] != after.get(name) for name in asked)
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
            if not carried:
                continue
            share = changed / carried
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
            after = by_name(variant["mode"], answer.read(work / "variant-answers", variant["name"]))
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
    print(f"fields={len(table.counts)} bad={bad}")
    return 1 if bad else 0
