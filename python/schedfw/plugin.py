"""Plugin: extension points written in Python."""

from __future__ import annotations

from typing import Any

from schedfw import _core


class Plugin:
    """A base for plugins written in Python; deriving from it is optional.

    A plugin is any object with a `name` and methods named after extension points. Only those that
    exist are called, in this order:

    - ``pre_enqueue(pod)`` → None or True if the pod may be tried, False or a reason if not;
    - ``pre_filter(cycle)`` → None, a reason to reject the pod, or the set of node names to look at;
    - ``filter_nodes(cycle, nodes)`` → bool array, True where the pod fits (batch), or
      ``filter(cycle, node)`` → None or True if it fits, False or a reason if not (simple);
    - ``pre_score(cycle, nodes)`` → None, or False to leave this plugin's score out;
    - ``score_nodes(cycle, nodes)`` → array of numbers (batch), or ``score(cycle, node)`` → number;
      after ``normalize`` they must be from 0 to 100, and more is better;
    - ``normalize(cycle, nodes, scores)`` → array of numbers;
    - ``reserve``, ``permit``, ``pre_bind``, ``bind``, ``post_bind`` ``(cycle, node)`` → as
      ``filter``, except that ``post_bind`` can't reject any more. When one of them rejects or
      raises, ``unreserve(cycle, node)`` of all plugins is called in reverse order, and the pod
      waits again. ``bind`` is called where the profile disables DefaultBinder, which comes first.

    `cycle.pod` is the pod (a Pod), `nodes` gives columns as numpy arrays (a Nodes:
    ``nodes.free("nvidia.com/gpu")``, ``nodes.label(…)``), `node` the same for one node (a Node).
    They are valid during the call only; arrays and pods may be kept. Filters get all nodes that
    ``pre_filter`` left, in blocks of at most 1024, also those that other plugins reject;
    ``cycle.nodes`` are all nodes of the cluster. Scores get all nodes that fit, at once. Numbers
    with a fraction are cut to integers.

    An exception ends the call that scheduled, unchanged, and leaves the cluster as it was before
    the pod (in ``post_bind``: with the pod on its node). One in ``unreserve`` goes to
    ``sys.unraisablehook``.

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
    #: The weight of the score where no profile mentions the plugin.
    weight: int = 1
    #: What is said of nodes that ``filter_nodes`` rejects, and where False is returned; there is a
    #: default.
    reason: str


def describe_plugins(*plugins: object) -> list[dict[str, Any]]:
    """Describe the built-in plugins, and those given, for documentation.

    Parameters
    ----------
    *plugins
        Plugins written in Python.

    Returns
    -------
    list of dict
        name, help, points (extension points), effect (False: known by name only), and args, each
        with name, type, default, allowed, help.
    """
    return _core.describe_plugins() + [_core.describe_plugin(plugin) for plugin in plugins]
