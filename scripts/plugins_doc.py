"""Write docs/plugins.md from what the plugins declare: plugins_doc.py [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

import schedfw

# What a plugin's results depend on besides the pod: row (the node alone), node set (all nodes),
# domain (pods by topology domain), feasible set (which nodes passed).
DEPENDS = {
    "BestFit": "row (cpu, GPUs); NormalizeScore: feasible set",
    "Coscheduling": "pods by group, their gates, and which of them have a node; PodGroups of "
    "scheduling.x-k8s.io; time; node set (minResources)",
    "DefaultBinder": "-",
    "DefaultPreemption": "all filters; pods, their priorities and start times; PodGroups; budgets",
    "DeviceShare": "row (GPUs one by one, their model)",
    "DotProduct": "row (cpu, GPUs)",
    "FragmentationGradientDescent": "row (cpu, GPUs one by one, their model)",
    "GpuClustering": "row (GPUs, its pods)",
    "GpuPacking": "row (GPUs one by one)",
    "GpuRandom": "feasible set; the pod's name",
    "GpuTopologySpread": "row (free GPUs and how they are linked, its pods and their GPUs); with "
    "DoNotSchedule: cluster (the domain with the fewest pods); NormalizeScore: feasible set",
    "ImageLocality": "row; node set (how many nodes have an image)",
    "InterPodAffinity": "domain (pods by namespace and label, their terms, node labels, namespace "
    "labels); cluster (the first pod of a group); NormalizeScore: feasible set",
    "LatencyAwarePreemption": "the same as those of DefaultPreemption; annotations of pods; GPUs",
    "NcclTopologyHint": "row (an annotation)",
    "NetworkTopologyAffinity": "domain (room, pods of the group, node labels); PodGroups",
    "NodeAffinity": "row (labels, name); NormalizeScore: feasible set",
    "NodeName": "row (name)",
    "NodePorts": "row (host ports of its pods)",
    "NodeResourceTopologyMatch": "row (NUMA zones and what is left in them, allocatable)",
    "NodeResourcesBalancedAllocation": "row (allocatable, requested)",
    "NodeResourcesFit": "row (allocatable, requested, number of pods)",
    "NodeUnschedulable": "row (spec.unschedulable)",
    "NumaAffinity": "row (free GPUs and how they are linked, NUMA zones and what is left in them)",
    "NvLinkAffinity": "row (free GPUs and how they are linked); node set (the fastest topology)",
    "PodTopologySpread": "domain (pods of the namespace by label, node labels and taints); "
    "weights and NormalizeScore: feasible set",
    "PriorityDrift": "-",
    "PrioritySort": "-",
    "ReadinessFilter": "row (none: the gates of the pod)",
    "SchedulingGates": "-",
    "TaintToleration": "row (taints); NormalizeScore: feasible set",
}


def page() -> str:
    """Return the page."""
    lines = [
        "# Plugins",
        "",
        "Made by `scripts/plugins_doc.py` from what the plugins declare; `schedfw plugins` shows "
        "the same.",
        "Arguments stand in a configuration under `pluginConfig[].args`.",
    ]
    for plugin in schedfw.describe_plugins():
        lines += ["", f"## {plugin['name']}", "", f"{plugin['help']}.", ""]
        lines.append(f"- Extension points: {', '.join(plugin['points'])}")
        if plugin["effect"]:
            lines.append(f"- Results depend on: {DEPENDS[plugin['name']]}")
        if plugin["args"]:
            lines += ["", "| argument | type | default | allowed | |", "|---|---|---|---|---|"]
            for arg in plugin["args"]:
                default = f"`{arg['default']}`" if arg["default"] else ""
                lines.append(
                    f"| `{arg['name']}` | {arg['type']} | {default} | {arg['allowed']} | "
                    f"{arg['help']} |"
                )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or compare it with what is there."""
    path = Path(__file__).resolve().parent.parent / "docs" / "plugins.md"
    if "--check" in sys.argv[1:]:
        if path.read_text(encoding="utf-8") == page():
            return 0
        print(f"{path} is out of date: run scripts/plugins_doc.py", file=sys.stderr)
        return 1
    path.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
