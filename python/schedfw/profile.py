"""Profile: which plugins run, with which weights and arguments."""

from __future__ import annotations

import copy
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from schedfw import _core

_POINTS = (
    "multiPoint",
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)


def _name(entry: object) -> object:
    return entry.get("name") if isinstance(entry, Mapping) else None


def _names(profile: Mapping[str, Any], key: str) -> Iterator[object]:
    """Yield what a profile enables or disables at any point, whatever else stands there."""
    points = profile.get("plugins")
    for plugins in points.values() if isinstance(points, Mapping) else ():
        entries = plugins.get(key) if isinstance(plugins, Mapping) else None
        for entry in entries if isinstance(entries, list | tuple) else ():
            yield _name(entry)


class Profile:
    """A profile of a KubeSchedulerConfiguration, built step by step.

    It starts with the default plugins. Each method returns a changed copy. What is wrong with a
    profile, such as a plugin that doesn't exist, the Scheduler says that is made with it.

    Parameters
    ----------
    scheduler_name
        The pods whose spec.schedulerName is this one use the profile.

    Examples
    --------
    >>> Profile().disable("ImageLocality").enable("PodTopologySpread", weight=5, point="score")
    >>> Profile().args("NodeResourcesFit", scoringStrategy={"type": "MostAllocated"})
    """

    def __init__(self, scheduler_name: str = "default-scheduler") -> None:
        self._profile: dict[str, Any] = {"schedulerName": scheduler_name}

    @classmethod
    def from_dict(cls, profile: Mapping[str, Any]) -> Profile:
        """Take one entry of a configuration's `profiles`, a dict."""
        out = cls()
        out._profile = copy.deepcopy(dict(profile))
        out._profile.setdefault("schedulerName", "default-scheduler")
        return out

    @classmethod
    def only(cls, *plugins: str, scheduler_name: str = "default-scheduler") -> Profile:
        """Start with these plugins alone, besides PrioritySort and DefaultBinder.

        They run at every extension point that they have.
        """
        out = cls(scheduler_name).disable("*")
        for plugin in ("PrioritySort", *plugins, "DefaultBinder"):
            out = out.enable(plugin)
        return out

    @property
    def scheduler_name(self) -> str:
        """The scheduler name that pods ask for."""
        return str(self._profile["schedulerName"])

    def enable(self, plugin: str, weight: int | None = None, point: str = "multiPoint") -> Profile:
        """Enable a plugin at an extension point, or at all it has.

        Parameters
        ----------
        plugin
            Its name.
        weight
            Of its score. Without one, and for 0, it is 1, as in kube-scheduler, also for plugins
            that have another one by default: `disable` leaves a score out.
        point
            "multiPoint" or an extension point in the configuration's spelling, like "score".
        """
        entry: dict[str, Any] = {"name": plugin}
        if weight is not None:
            entry["weight"] = int(weight) if isinstance(weight, numbers.Integral) else weight
        return self._with(point, "enabled", entry)

    def disable(self, plugin: str, point: str = "multiPoint") -> Profile:
        """Disable a plugin ("*": all) at an extension point, or at all it has.

        That also takes back what `enable` said of it at this point.
        """
        out = self._with(point, "disabled", {"name": plugin})
        plugins = out._profile["plugins"][point]
        if "enabled" in plugins:
            plugins["enabled"] = [
                entry for entry in plugins["enabled"] or [] if plugin not in ("*", _name(entry))
            ]
        return out

    def args(self, plugin: str, **args: Any) -> Profile:
        """Set arguments of a plugin, in the configuration's spelling; others stay as they are.

        `describe_plugins` lists them.
        """
        out = self._copy()
        args = copy.deepcopy(args)
        configs = out._profile["pluginConfig"] = out._profile.get("pluginConfig") or []
        for config in configs:
            if _name(config) == plugin:
                config["args"] = {**(config.get("args") or {}), **args}
                return out
        configs.append({"name": plugin, "args": args})
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as it stands in a configuration's `profiles`."""
        return copy.deepcopy(self._profile)

    def mentions(self, plugin: str) -> bool:
        """Return whether the profile enables or disables this plugin by name."""
        return any(plugin in _names(self._profile, key) for key in ("enabled", "disabled"))

    def _copy(self) -> Profile:
        return Profile.from_dict(self._profile)

    def _with(self, point: str, key: str, entry: dict[str, Any]) -> Profile:
        if point not in _POINTS:
            raise _core.ConfigError(
                f'"{point}" is no extension point (allowed: {", ".join(_POINTS)})'
            )
        out = self._copy()
        # Hand-written profiles may have nulls where they enable nothing.
        points = out._profile["plugins"] = out._profile.get("plugins") or {}
        plugins = points[point] = points.get(point) or {}
        others = [e for e in plugins.get(key) or [] if _name(e) != entry["name"]]
        plugins[key] = [*others, entry]
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self._profile == other._profile

    def __hash__(self) -> int:
        return hash(self.scheduler_name)

    def __repr__(self) -> str:
        return f"Profile.from_dict({self._profile!r})"
