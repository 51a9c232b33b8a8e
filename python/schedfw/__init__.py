"""The Kubernetes scheduler framework without Kubernetes.

Load a cluster, explain and place its pods exactly as kube-scheduler would, look at every score as
an array, and write plugins in numpy:

>>> import schedfw
>>> cluster = schedfw.Cluster.load("cluster.json")        # kubectl get nodes,pods -o json
>>> result = schedfw.Scheduler().explain(cluster, "ml/train-0")
>>> result.scores.weighted                                # plugins × nodes, no copy
"""

from schedfw._core import (
    AllReduceResult,
    ConfigError,
    Cycle,
    Diagnosis,
    Error,
    Explanation,
    Fit,
    GpuRing,
    LinkBandwidths,
    Node,
    Nodes,
    PackResult,
    ParseError,
    Placement,
    PluginError,
    Pod,
    Quantity,
    Scores,
    StagingResult,
    Status,
    __version__,
    set_simd_level,
    simd_level,
)
from schedfw.bandwidth import BandwidthModel, all_reduce_across, stage_all_reduce
from schedfw.cluster import Cluster
from schedfw.heatmap import LatencyHeatmap
from schedfw.packing import Packing, PackRun, pack
from schedfw.plugin import Plugin, describe_plugins
from schedfw.profile import Profile
from schedfw.scheduler import NodeProblem, Placements, Run, Scheduler
from schedfw.topology import Device, NodeTopology, NumaNode

__all__ = [
    "AllReduceResult",
    "BandwidthModel",
    "Cluster",
    "ConfigError",
    "Cycle",
    "Device",
    "Diagnosis",
    "Error",
    "Explanation",
    "Fit",
    "GpuRing",
    "LatencyHeatmap",
    "LinkBandwidths",
    "Node",
    "NodeProblem",
    "NodeTopology",
    "Nodes",
    "NumaNode",
    "PackResult",
    "PackRun",
    "Packing",
    "ParseError",
    "Placement",
    "Placements",
    "Plugin",
    "PluginError",
    "Pod",
    "Profile",
    "Quantity",
    "Run",
    "Scheduler",
    "Scores",
    "StagingResult",
    "Status",
    "__version__",
    "all_reduce_across",
    "describe_plugins",
    "pack",
    "set_simd_level",
    "simd_level",
    "stage_all_reduce",
]

# They are public here, and tracebacks say so.
for _name in __all__:
    if getattr(globals()[_name], "__module__", "") == "schedfw._core":
        globals()[_name].__module__ = "schedfw"
del _name
