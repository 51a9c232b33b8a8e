"""Scheduler: explain and place the pods of a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from schedfw import _core
from schedfw.cluster import Cluster
from schedfw.profile import Profile

if TYPE_CHECKING:
    import pandas as pd

Configuration = Profile | Sequence[Profile] | Mapping[str, Any] | str | os.PathLike[str]
ProgressCallback = Callable[[int, int], object]


class Placements(list[_core.Placement]):
    """What became of each pod, in the order they were tried."""

    @property
    def placed(self) -> int:
        """How many pods found a node."""
        return sum(placement.node is not None for placement in self)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with columns pod, node (None: none found) and message."""
        import pandas as pd

        rows = [(p.pod, p.node, p.status.message) for p in self]
        return pd.DataFrame(rows, columns=["pod", "node", "message"])

    def __repr__(self) -> str:
        return f"<Placements: {self.placed} of {len(self)} pods placed>"


class Scheduler:
    """Schedules pods with the plugins of one or more profiles.

    Parameters
    ----------
    profile
        None for the default profile; a Profile or several; the path of a
        KubeSchedulerConfiguration; or such a configuration as a dict.
    plugins
        Plugins written in Python (see Plugin). One that no profile mentions is enabled in all of
        them, at every point it has, with its `weight`.
    threads
        1 runs on the calling thread, 0 on all cores, any other number on as many. Results are the
        same.
    grain_rows
        Nodes that a task takes at least; fewer than twice as many run on the calling thread.
    normalize
        "parallel" runs NormalizeScore of all plugins at once, "synchronous" one after the other.
    tie_break
        "first" takes the first node by name among the best, "seeded" draws one evenly.
    seed
        For "seeded".

    Raises
    ------
    ConfigError
        With the field, the value, and what is allowed.
    """

    def __init__(
        self,
        profile: Configuration | None = None,
        *,
        plugins: Iterable[object] = (),
        threads: int = 1,
        grain_rows: int = 512,
        normalize: Literal["parallel", "synchronous"] = "parallel",
        tie_break: Literal["first", "seeded"] = "first",
        seed: int = 0,
    ) -> None:
        if normalize not in ("parallel", "synchronous"):
            raise _core.ConfigError(
                f'normalize: "{normalize}" is not allowed (allowed: parallel, synchronous)'
            )
        if tie_break not in ("first", "seeded"):
            raise _core.ConfigError(
                f'tie_break: "{tie_break}" is not allowed (allowed: first, seeded)'
            )
        if threads < 0:
            raise _core.ConfigError(f"threads: {threads} is not allowed (allowed: 0 or more)")
        plugins = list(plugins)
        config, name = _configuration(profile)
        if plugins:
            config = _enable(config, plugins)
        self._core = _core.Scheduler(
            json.dumps(config) if config else "",
            name,
            plugins,
            threads,
            max(1, grain_rows),
            normalize == "parallel",
            tie_break == "seeded",
            seed,
        )

    @property
    def profiles(self) -> list[str]:
        """The scheduler names."""
        return self._core.profiles

    def plugins(self, profile: str | None = None) -> dict[str, list[tuple[str, int]]]:
        """Return a profile's effective plugins by extension point, with weights (score only)."""
        return self._core.plugins(profile or self.profiles[0])

    def explain(self, cluster: Cluster, pod: str) -> _core.Explanation:
        """Run one waiting pod's cycle over all nodes and keep every status and score.

        Changes nothing. Raises PluginError when a plugin fails.
        """
        return self._core.explain(cluster._core, pod)

    def explain_all(self, cluster: Cluster) -> list[_core.Explanation]:
        """Explain every waiting pod, each on the cluster as it is."""
        return [self.explain(cluster, pod) for pod in cluster.pending]

    def schedule(self, cluster: Cluster, pod: str) -> _core.Placement:
        """Find a node for a waiting pod; changes nothing."""
        return self._core.schedule(cluster._core, pod)

    def schedule_one(self, cluster: Cluster, pod: str) -> _core.Placement:
        """Find a node for a waiting pod and bind it there; changes `cluster`."""
        return self._core.schedule_one(cluster._core, pod)

    def place(self, cluster: Cluster, progress: ProgressCallback | None = None) -> Placements:
        """Schedule all waiting pods one after another, in queue order; changes `cluster`.

        Parameters
        ----------
        cluster
            Give ``cluster.fork()`` to keep yours as it is.
        progress
            Called with (done, total) about every 50 ms. Ctrl-C works; the pods placed so far stay.

        Raises
        ------
        PluginError
            When a plugin fails. An exception of a plugin written in Python comes unchanged.
        """
        return Placements(self._core.place(cluster._core, progress))

    def place_timed(self, cluster: Cluster) -> list[tuple[str, str, int]]:
        """Place as `place` does, and return (pod, node or "", nanoseconds) of each attempt."""
        return self._core.place_timed(cluster._core)

    def fit(
        self,
        cluster: Cluster,
        pod: Mapping[str, Any] | str,
        limit: int = 100_000,
        progress: ProgressCallback | None = None,
    ) -> _core.Fit:
        """Return how many more pods like this one fit, and what stops the next one.

        Parameters
        ----------
        cluster
            Is not changed: pods are placed on a fork.
        pod
            A pod of the cluster ("namespace/name"), or a manifest as a dict.
        limit
            At most so many are placed.
        progress
            Called with (done, limit) about every 50 ms.
        """
        if isinstance(pod, str):
            return self._core.fit(cluster._core, "", pod, limit, progress)
        return self._core.fit(cluster._core, json.dumps(pod), "<pod>", limit, progress)

    def __repr__(self) -> str:
        return f"<Scheduler with profiles {', '.join(self.profiles)}>"


def _configuration(profile: Configuration | None) -> tuple[dict[str, Any], str]:
    """Return the configuration as a dict ({}: the defaults), and its name in errors."""
    if profile is None:
        return {}, "<config>"
    if isinstance(profile, str | os.PathLike):
        path = os.fspath(profile)
        name = "<stdin>" if path == "-" else path
        try:
            text = _core.read_text(path)
        except _core.ParseError as error:
            raise _core.ConfigError(str(error)) from None
        config = json.loads(_core.to_json(text, name))
        # A list can't be a configuration; the reader says so.
        return (config if isinstance(config, dict) else {"kind": ""}), name
    if isinstance(profile, Mapping):
        return dict(profile), "<config>"
    profiles = [profile] if isinstance(profile, Profile) else list(profile)
    return _of_profiles(profiles), "<profile>"


def _of_profiles(profiles: Sequence[Profile]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile.to_dict() for profile in profiles],
    }


def _enable(config: dict[str, Any], plugins: Sequence[object]) -> dict[str, Any]:
    """Enable the plugins that no profile mentions, in every profile."""
    if not config:
        config = _of_profiles([Profile()])
    entries = config.get("profiles") or [{}]
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        return config  # the reader says what is wrong with it
    profiles = [Profile.from_dict(entry) for entry in entries]
    for plugin in plugins:
        name = getattr(plugin, "name", None)
        if not isinstance(name, str) or any(profile.mentions(name) for profile in profiles):
            continue
        weight = int(getattr(plugin, "weight", 1))
        profiles = [profile.enable(name, weight=weight) for profile in profiles]
    return {**config, "profiles": [profile.to_dict() for profile in profiles]}
