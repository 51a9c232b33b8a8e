"""Profile: which plugins run, with which weights and arguments."""

from __future__ import annotations

import copy
from collections.abc import Mapping
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


class Profile:
    """A profile of a KubeSchedulerConfiguration, built step by step.

    It starts with the default plugins. Each method returns a changed copy:

    >>> Profile().disable("ImageLocality").enable("PodTopologySpread", weight=5, point="score")

    Parameters
    ----------
    scheduler_name
        The pods whose spec.schedulerName is this one use the profile.
    """

    def __init__(self, scheduler_name: str = "default-scheduler") -> None:
        self._profile: dict[str, Any] = {"schedulerName": scheduler_name}

    @classmethod
    def from_dict(cls, profile: Mapping[str, Any]) -> Profile:
        """Take one entry of a configuration's `profiles`."""
        out = cls()
        out._profile = copy.deepcopy(dict(profile))
        out._profile.setdefault("schedulerName", "default-scheduler")
        return out

    @classmethod
    def only(cls, *plugins: str, scheduler_name: str = "default-scheduler") -> Profile:
        """Start with these plugins alone, besides PrioritySort and DefaultBinder."""
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
            Of its score; without one it is 1, or for a default plugin at multiPoint, also 1.
        point
            "multiPoint" or an extension point in the configuration's spelling, like "score".
        """
        entry: dict[str, Any] = {"name": plugin}
        if weight is not None:
            entry["weight"] = weight
        return self._with(point, "enabled", entry)

    def disable(self, plugin: str, point: str = "multiPoint") -> Profile:
        """Disable a plugin ("*": all) at an extension point, or at all it has."""
        return self._with(point, "disabled", {"name": plugin})

    def args(self, plugin: str, **args: Any) -> Profile:
        """Set arguments of a plugin, in the configuration's spelling; others stay as they are."""
        out = self._copy()
        configs = out._profile.setdefault("pluginConfig", [])
        for config in configs:
            if config["name"] == plugin:
                config.setdefault("args", {}).update(args)
                return out
        configs.append({"name": plugin, "args": args})
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as it stands in a configuration's `profiles`."""
        return copy.deepcopy(self._profile)

    def mentions(self, plugin: str) -> bool:
        """Return whether the profile enables or disables this plugin by name."""
        return any(
            entry.get("name") == plugin
            for plugins in self._profile.get("plugins", {}).values()
            for entry in [*plugins.get("enabled", []), *plugins.get("disabled", [])]
        )

    def _copy(self) -> Profile:
        return Profile.from_dict(self._profile)

    def _with(self, point: str, key: str, entry: dict[str, Any]) -> Profile:
        if point not in _POINTS:
            raise _core.ConfigError(
                f'"{point}" is no extension point (allowed: {", ".join(_POINTS)})'
            )
        out = self._copy()
        entries = out._profile.setdefault("plugins", {}).setdefault(point, {}).setdefault(key, [])
        entries[:] = [e for e in entries if e["name"] != entry["name"]]
        entries.append(entry)
        return out

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self._profile == other._profile

    def __hash__(self) -> int:
        return hash(self.scheduler_name)

    def __repr__(self) -> str:
        return f"Profile.from_dict({self._profile!r})"
