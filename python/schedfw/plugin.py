"""Plugin: extension points written in Python."""

from __future__ import annotations

from typing import Any

from schedfw import _core


class Plugin:
    """A base for plugins written in Python; deriving from it is optional.

    A plugin is any object with a `name` and methods named after extension points. Only those that
    exist are called:

    - ``filter_nodes(cycle, nodes)`` → bool array, True where the pod fits (batch), or
      ``filter(cycle, node)`` → None or True if it fits, False or a reason if not (simple);
    - ``score_nodes(cycle, nodes)`` → array of numbers (batch), or ``score(cycle, node)`` → number;
      after ``normalize`` they must be from 0 to 100;
    - ``normalize(cycle, nodes, scores)`` → array of numbers;
    - ``pre_enqueue(pod)``, ``reserve``, ``permit``, ``pre_bind``, ``bind``, ``post_bind``
      ``(cycle, node)`` → as ``filter``; ``unreserve(cycle, node)``;
    - ``pre_filter(cycle)`` → None, a reason, or the set of node names to look at;
    - ``pre_score(cycle, nodes)`` → None, or False to leave this plugin's score out.

    `cycle.pod` is the pod, `nodes` gives columns as numpy arrays (``nodes.free("nvidia.com/gpu")``,
    ``nodes.allocatable``, ``nodes.requested``, ``nodes.label``, ``nodes.names``), `node` the same
    for one node. They are valid during the call only. Numbers with a fraction are cut to integers.
    An exception ends the call that scheduled, unchanged, and leaves the cluster as it was before
    the pod.

    Examples
    --------
    >>> class PackGpus(Plugin):
    ...     name = "PackGpus"
    ...     def score_nodes(self, cycle, nodes):
    ...         gpus = nodes.allocatable("nvidia.com/gpu").clip(1)
    ...         return 100 - 100 * nodes.free("nvidia.com/gpu") // gpus
    """

    #: The name in profiles, statuses and score arrays.
    name: str
    #: The weight of the score when no profile gives one.
    weight: int = 1
    #: What nodes are told that ``filter_nodes`` rejects; there is a default.
    #: reason: str


def describe_plugins(*plugins: object) -> list[dict[str, Any]]:
    """Describe the built-in plugins, and those given, for documentation.

    Returns
    -------
    list of dict
        name, help, points (extension points), effect (False: known by name only), and args, each
        with name, type, default, allowed, help.
    """
    return _core.describe_plugins() + [_core.describe_plugin(plugin) for plugin in plugins]
