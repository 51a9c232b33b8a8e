"""Compares two answers to a case: that of the real kube-scheduler and that of schedfw."""

import re
from collections import namedtuple

Difference = namedtuple("Difference", "pod field want got")

# Plugins that schedfw knows by name only: they score nothing, and their scores aren't compared.
NO_EFFECT = {
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "DynamicResources",
    "NodeDeclaredFeatures",
}
FIELDS = ("preEnqueue", "preFilter", "preFilterNodes", "filter", "feasible", "preScore")
SCORES = ("raw", "weighted")

# The framework upstream puts this before the message of a plugin's error; see docs/conformance.md.
ERROR_PREFIX = re.compile(r'^running "[^"]*" filter plugin: ')


def status(value, plugin=True):
    """Reduces a status to what is compared; reasons are sorted, since upstream's order varies."""
    reasons = []
    for reason in value.get("reasons") or []:
        reasons.append(ERROR_PREFIX.sub("", reason) if value["code"] == "Error" else reason)
    out = {"code": value["code"], "reasons": sorted(reasons)}
    if plugin:
        out["plugin"] = value.get("plugin", "")
    return out


def preemption(value):
    """Reduces an attempt to preempt; which plugin says Unschedulable depends on which exist.

    The sentence that upstream logs of a success ("found a potential placement …") is no reason.
    """
    if value is None:
        return None
    # Older answers hold the code directly; the real scheduler's a whole status.
    inner = value.get("status") or value
    out = status(inner, plugin=False)
    if out["code"] == "Success":
        out.pop("reasons", None)
    out["nominatedNode"] = value.get("nominatedNode", "")
    out["victims"] = sorted(value.get("victims") or [])
    return out


def is_tie(pod):
    """Says whether upstream gave different answers to the same question."""
    return ((pod.get("preemption") or {}).get("status") or {}).get("code") == "Tie"


def fails_in_dynamic_resources(pod):
    """Says whether upstream's preemption ended in a plugin that has no effect in schedfw.

    It fails after a PreFilter that stopped before its own (docs/differences.md).
    """
    failed = (pod.get("preemption") or {}).get("status") or {}
    return failed.get("plugin") == "DynamicResources" and failed["code"] == "Error"


def explanation(pod):
    """Reduces one pod's explanation to what is compared."""
    out = {"pod": pod["pod"]}
    for field in ("preEnqueue", "preFilter", "preScore"):
        if pod.get(field):
            # schedfw says which plugin failed while scoring (docs/differences.md).
            out[field] = status(pod[field], plugin=field != "preScore")
    if pod.get("filter"):
        out["filter"] = {node: status(value) for node, value in pod["filter"].items()}
    for field in ("preFilterNodes", "feasible", "best"):
        if pod.get(field):
            out[field] = sorted(pod[field])
    for field in SCORES:
        scores = {p: s for p, s in (pod.get(field) or {}).items() if p not in NO_EFFECT}
        if scores:
            out[field] = scores
    if pod.get("total"):
        out["total"] = pod["total"]
    if pod.get("preemption") and not is_tie(pod) and not fails_in_dynamic_resources(pod):
        out["preemption"] = preemption(pod["preemption"])
    return out


def effective(profiles):
    """Reduces the plugins of profiles to {profile: {point: ["name" or "name:weight", …]}}."""
    out = {}
    for profile, points in profiles.items():
        out[profile] = {}
        for point, plugins in points.items():
            names = plugins
            if isinstance(plugins, dict):
                weight = point == "Score"
                names = [
                    p["Name"] + (f":{p['Weight']}" if weight else "")
                    for p in plugins.get("Enabled") or []
                ]
            kept = [n for n in names if n.split(":")[0] not in NO_EFFECT]
            # This one exists only for upstream's asynchronous calls of the API.
            if point == "PreEnqueue":
                kept = [n for n in kept if n != "DefaultPreemption"]
            if kept:
                out[profile][point] = kept
    return out


def by_pod(mode, answer):
    """Splits an answer to {what: value}, mostly by pod, in a form that both sides have."""
    if isinstance(answer, dict) and set(answer) == {"error"}:
        return {"": {"refused": True}}
    if mode == "config":
        return {name: {"plugins": points} for name, points in effective(answer).items()}
    if mode == "place":
        pairs = [(p["pod"], p["node"]) if isinstance(p, dict) else tuple(p) for p in answer]
        out = {pod: {"node": node} for pod, node in pairs}
        out[""] = {"order": [pod for pod, _ in pairs]}
        return out
    if mode == "cycle":
        return {p["pod"]: dict(p) for p in answer or ()}
    return {p["pod"]: explanation(p) for p in answer or ()}


def first_difference(want, got, path):
    """Finds the first place where two trees differ: (path, want, got), or None."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted({*want, *got}):
            if want.get(key) != got.get(key):
                return first_difference(want.get(key), got.get(key), f"{path}.{key}")
    return None if want == got else (path.lstrip("."), want, got)


def differences(mode, want, got):
    """Lists the pods (or profiles) whose answers differ, each with its first difference."""
    left, right = by_pod(mode, want), by_pod(mode, got)
    out = []
    if "refused" in left.get("", ()) or "refused" in right.get("", ()):
        if left.get("") != right.get(""):
            out.append(Difference("", "error", message(want), message(got)))
        return out
    # Preemptions without one answer to compare with: which are possible, where that is known.
    unsettled = {}
    if mode == "preempt":
        unsettled = {
            p["pod"]: p["preemption"].get("ties") or []
            for p in want or ()
            if is_tie(p) or fails_in_dynamic_resources(p)
        }
    for pod in sorted({*left, *right}):
        mine = right.get(pod)
        if pod in unsettled and mine is not None:
            mine = dict(mine)
            picked = mine.pop("preemption", None)
            possible = [preemption(p) for p in unsettled[pod]]
            if possible and picked not in possible:
                out.append(Difference(pod, "preemption", {"one of": possible}, picked))
                continue
        found = first_difference(left.get(pod), mine, "")
        if found:
            out.append(Difference(pod, *found))
    return out


def message(answer):
    """The error of a refused case, or a note that it was answered."""
    return answer["error"] if isinstance(answer, dict) and "error" in answer else "answered"
