"""Counts which statuses the answers hold, and which of upstream's were hardly met."""

import re
from collections import Counter

LEAST = 20  # how often each declared status must come up ...
PODS = 20000  # ... in a run of so many pods

RESOURCE = re.compile(r"^Insufficient (\S+)$")
NODES_OF_REASON = re.compile(r"(?:^|, )\d+ ")
KNOWN_RESOURCES = ("cpu", "memory", "ephemeral-storage")

UNRESOLVABLE = "UnschedulableAndUnresolvable"
FIT = "NodeResourcesFit"

# Every (plugin, code, reason) that upstream's plugins may give a waiting pod here. Not among them:
# the plugins without effect, and NodeName's, since a waiting pod names no node.
DECLARED = [
    ("SchedulingGates", UNRESOLVABLE, "waiting for scheduling gates: […]"),
    ("NodeAffinity", UNRESOLVABLE, "pod affinity terms conflict"),
    ("NodeAffinity", UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector"),
    ("NodeAffinity", UNRESOLVABLE, "node(s) didn't match scheduler-enforced node affinity"),
    ("NodeUnschedulable", UNRESOLVABLE, "node(s) were unschedulable"),
    ("TaintToleration", UNRESOLVABLE, "node(s) had untolerated taint(s)"),
    ("NodePorts", "Unschedulable", "node(s) didn't have free ports for the requested pod ports"),
    (FIT, "Unschedulable", "Too many pods"),
    *(
        (FIT, code, f"Insufficient {resource}")
        for resource in (*KNOWN_RESOURCES, "hugepages-…", "(extended)")
        for code in ("Unschedulable", UNRESOLVABLE)
    ),
    (
        "PodTopologySpread",
        "Unschedulable",
        "node(s) didn't match pod topology spread constraints",
    ),
    (
        "PodTopologySpread",
        UNRESOLVABLE,
        "node(s) didn't match pod topology spread constraints (missing required label)",
    ),
    ("InterPodAffinity", UNRESOLVABLE, "node(s) didn't match pod affinity rules"),
    ("InterPodAffinity", "Unschedulable", "node(s) didn't match pod anti-affinity rules"),
    (
        "InterPodAffinity",
        "Unschedulable",
        "node(s) didn't satisfy existing pods anti-affinity rules",
    ),
    ("(preemption)", "Success", "found a potential placement"),
    ("(preemption)", "Unschedulable", "not eligible due to preemptionPolicy=Never."),
    (
        "(preemption)",
        "Unschedulable",
        "not eligible due to a terminating pod on the nominated node.",
    ),
    ("(preemption)", "Unschedulable", "No preemption victims found for incoming pod"),
    ("(preemption)", "Unschedulable", "Preemption is not helpful for scheduling"),
    # What still keeps the pod from a node without the pods of lower priority.
    ("(preemption)", "Unschedulable", "Too many pods"),
    ("(preemption)", "Unschedulable", "Insufficient cpu"),
    ("(preemption)", "Unschedulable", "Insufficient (extended)"),
    (
        "(preemption)",
        "Unschedulable",
        "node(s) didn't have free ports for the requested pod ports",
    ),
    ("(preemption)", "Unschedulable", "node(s) didn't match pod affinity rules"),
    ("(preemption)", "Unschedulable", "node(s) didn't match pod anti-affinity rules"),
    ("(preemption)", "Unschedulable", "node(s) didn't satisfy existing pods anti-affinity rules"),
    ("(preemption)", "Unschedulable", "node(s) didn't match pod topology spread constraints"),
]


def kind_of(reason):
    """Leaves out of a reason what varies: amounts, names of resources and of gates."""
    found = RESOURCE.match(reason)
    if found:
        resource = found.group(1)
        if resource.startswith("hugepages-"):
            return "Insufficient hugepages-…"
        return reason if resource in KNOWN_RESOURCES else "Insufficient (extended)"
    if reason.startswith("waiting for scheduling gates: "):
        return "waiting for scheduling gates: […]"
    return reason


def kinds_of_preemption(reason):
    """Splits the message of an attempt to preempt into the reasons of its nodes."""
    text = reason.removeprefix("preemption: ")
    if text.startswith("found a potential placement"):
        return ["found a potential placement"]
    _, found, nodes = text.partition(" nodes are available: ")
    if not found:
        return [text]
    return [kind_of(part) for part in NODES_OF_REASON.split(nodes.removesuffix(".")) if part]


def count(answer, into):
    """Adds the statuses of one case's answer (explain or preempt)."""
    for pod in answer:
        statuses = [pod[key] for key in ("preEnqueue", "preFilter", "preScore") if pod.get(key)]
        statuses.extend((pod.get("filter") or {}).values())
        for status in statuses:
            for reason in status.get("reasons") or [""]:
                into[status.get("plugin", ""), status["code"], kind_of(reason)] += 1
        if pod.get("preemption"):
            status = pod["preemption"]["status"]
            for reason in status.get("reasons") or [""]:
                for kind in kinds_of_preemption(reason):
                    into["(preemption)", status["code"], kind] += 1


def report(counts, pods):
    """Makes the lines of the table, and the number of declared statuses that came up too rarely."""
    lines = [f"{'count':>9}  {'plugin':<18} {'code':<29} reason"]
    seen = Counter(counts)
    for key in DECLARED:
        seen.setdefault(key, 0)
    rare = 0
    for key, number in sorted(seen.items()):
        plugin, code, reason = key
        too_few = key in DECLARED and number * PODS < LEAST * pods
        rare += too_few
        mark = "  <- too rare" if too_few else ""
        lines.append(f"{number:>9}  {plugin or '-':<18} {code:<29} {reason}{mark}")
    return lines, rare
