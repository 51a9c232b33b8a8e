"""Scheduler: explain and place the pods of a cluster."""

from __future__ import annotations

import copy
import json
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from schedfw import _core
from schedfw._json import dumps
from schedfw.cluster import Cluster
from schedfw.profile import Profile

if TYPE_CHECKING:
    import pandas as pd

_MAX_THREADS = 1024
_MAX_32 = 2**32 - 1
_MAX_63 = 2**63 - 1
_MAX_64 = 2**64 - 1

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


class NodeProblem(NamedTuple):
    """What a plugin can't make sense of in a node's object."""

    node: str
    plugin: str
    message: str

    def __str__(self) -> str:
        return f"Node {self.node}: {self.message} ({self.plugin} goes on without)"


@dataclass(frozen=True)
class Run:
    """What a run of the scheduler has come to; pods as "namespace/name", sorted.

    Attributes
    ----------
    bound
        Pods on nodes, also those that were there before.
    deleted
        Pods that were evicted.
    pending
        Pods that wait, and what was said at their last attempt.
    attempts
        How many pods and groups of pods were tried.
    duration_s
        The virtual time that passed, in seconds.
    """

    bound: list[str]
    deleted: list[str]
    pending: dict[str, str]
    attempts: int
    duration_s: float


class Scheduler:
    """Schedules pods with the plugins of one or more profiles.

    Results depend on the cluster, the profiles and the seed alone. A Scheduler runs one call at a
    time: give each thread of yours its own.

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
        Nodes that a task takes; fewer than twice as many run on the calling thread, and so does
        what a plugin written in Python takes part in. 0 chooses by what was measured: 8,192 nodes
        and more run on several threads.
    normalize
        "parallel" runs NormalizeScore of all plugins at once, "synchronous" one after the other.
    nodes_to_score
        "all" looks at every node; "configured" samples as kube-scheduler does:
        percentageOfNodesToScore of the configuration, going on from pod to pod where the last
        search ended.
    tie_break
        "first" takes the first node by name among the best, "seeded" draws one evenly.
    seed
        For "seeded": every Scheduler that is made with it draws the same.
    verify_incremental
        Run the whole pipeline too whenever answers of earlier cycles were used, and raise Error if
        they differ: for tests, much slower.
    pod_groups
        PodGroups of scheduling.k8s.io count, as with kube-scheduler's feature gates GenericWorkload
        and TopologyAwareWorkloadScheduling: their pods are scheduled together by `run`, and evicted
        by their group's priority.

    Raises
    ------
    ConfigError
        With the field, the value, and what is allowed.
    TypeError
        Of an object in `plugins` that is no plugin.

    Examples
    --------
    >>> Scheduler(Profile().disable("PodTopologySpread"), plugins=[PackGpus()], threads=0)
    """

    def __init__(
        self,
        profile: Configuration | None = None,
        *,
        plugins: Iterable[object] = (),
        threads: int = 1,
        grain_rows: int = 0,
        normalize: Literal["parallel", "synchronous"] = "parallel",
        nodes_to_score: Literal["all", "configured"] = "all",
        tie_break: Literal["first", "seeded"] = "first",
        seed: int = 0,
        verify_incremental: bool = False,
        pod_groups: bool = False,
    ) -> None:
        if normalize not in ("parallel", "synchronous"):
            raise _core.ConfigError(
                f'normalize: "{normalize}" is not allowed (allowed: parallel, synchronous)'
            )
        if nodes_to_score not in ("all", "configured"):
            raise _core.ConfigError(
                f'nodes_to_score: "{nodes_to_score}" is not allowed (allowed: all, configured)'
            )
        if tie_break not in ("first", "seeded"):
            raise _core.ConfigError(
                f'tie_break: "{tie_break}" is not allowed (allowed: first, seeded)'
            )
        plugins = list(plugins)
        config, name = _configuration(profile)
        if plugins:
            config = _enable(config, plugins)
        self._core = _core.Scheduler(
            None if config is None else dumps(config),
            name,
            plugins,
            _integer("threads", threads, 0, _MAX_THREADS),
            _integer("grain_rows", grain_rows, 0, _MAX_32),
            normalize == "parallel",
            nodes_to_score == "configured",
            tie_break == "seeded",
            _integer("seed", seed, 0, _MAX_64),
            bool(verify_incremental),
            bool(pod_groups),
        )
        self._extenders: list[dict[str, Any]] = [
            extender or {} for extender in (config or {}).get("extenders") or ()
        ]

    @property
    def profiles(self) -> list[str]:
        """The scheduler names."""
        return self._core.profiles

    @property
    def extenders(self) -> list[dict[str, Any]]:
        """The extenders of the configuration, in its spelling.

        They are understood and checked, and the resources that they take off the scheduler's hands
        (`ignoredByScheduler`) are ignored, but they are never called: what they would filter, score
        or bind doesn't count.
        """
        return copy.deepcopy(self._extenders)

    def plugins(self, profile: str | None = None) -> dict[str, list[tuple[str, int]]]:
        """Return a profile's effective plugins, the first one's without a name.

        Returns
        -------
        dict
            Extension point → list of (plugin, weight), in the order in which they run. The weights
            are those of Score; elsewhere they are 0.
        """
        return self._core.plugins(self.profiles[0] if profile is None else profile)

    def explain(self, cluster: Cluster, pod: str, *, preempt: bool = False) -> _core.Explanation:
        """Run one waiting pod's cycle over all nodes and keep every status and score.

        Parameters
        ----------
        cluster
            Is not changed.
        pod
            "namespace/name".
        preempt
            Whether to find out which pods would be evicted when no node fits.

        Raises
        ------
        Error
            When there is no such pod, or it has a node already.
        PluginError
            When a plugin fails. An exception of a plugin written in Python comes unchanged.
        """
        return self._core.explain(cluster._core, pod, preempt)

    def check_nodes(self, cluster: Cluster) -> list[NodeProblem]:
        """Return what plugins can't make sense of in nodes' objects, in the order of node names.

        They go on without: a node whose annotation is malformed scores 0, say, and no other node is
        affected. Each problem is there once, said by the first plugin that met it.
        """
        return [NodeProblem(*problem) for problem in self._core.check_nodes(cluster._core)]

    def explain_all(self, cluster: Cluster) -> list[_core.Explanation]:
        """Explain every waiting pod, each on the cluster as it is, in order of arrival."""
        return [self.explain(cluster, pod) for pod in cluster.pending]

    def schedule(self, cluster: Cluster, pod: str) -> _core.Placement:
        """Find a node for a waiting pod; changes nothing. Raises what `explain` does."""
        return self._core.schedule(cluster._core, pod)

    def schedule_one(self, cluster: Cluster, pod: str) -> _core.Placement:
        """Find a node for a waiting pod and bind it there; changes `cluster`.

        Raises what `explain` does; then the cluster is as it was.
        """
        return self._core.schedule_one(cluster._core, pod)

    def preempt(self, cluster: Cluster, pod: str) -> _core.Preemption:
        """Make room for a waiting pod that fits on no node: evict pods of lower priority.

        The victims are deleted from `cluster` and the pod is nominated to their node; it still
        waits, so schedule it next. When nothing helps, its own nomination is taken back. Use
        ``explain(cluster, pod, preempt=True)`` to look without changing anything. Raises what
        `explain` does; then the cluster is as it was.
        """
        return self._core.preempt(cluster._core, pod)

    def place(self, cluster: Cluster, progress: ProgressCallback | None = None) -> Placements:
        """Schedule all waiting pods one after another, in queue order; changes `cluster`.

        Parameters
        ----------
        cluster
            Give ``cluster.fork()`` to keep yours as it is.
        progress
            Called with (done, total) about every 50 ms and at the end. Ctrl-C works; the pods
            placed so far stay.

        Raises
        ------
        PluginError
            When a plugin fails. An exception of a plugin written in Python comes unchanged. The
            pods placed so far stay; the one that failed waits, and so do those behind it.
        """
        return Placements(self._core.place(cluster._core, progress))

    def run(
        self,
        cluster: Cluster,
        *,
        status_updates: Literal["on_failure", "at_once"] = "on_failure",
        progress: ProgressCallback | None = None,
    ) -> Run:
        """Run the whole scheduler in virtual time until nothing more can change.

        Unlike `place`, pods that find no node preempt, wait out their backoff, and are tried again
        when something changes; pods of a PodGroup are scheduled together (see `pod_groups`).
        Changes `cluster`: evicted pods are gone.

        Parameters
        ----------
        cluster
            Give ``cluster.fork()`` to keep yours as it is.
        status_updates
            When the queue sees the nomination that a preemption has given to a pod: "on_failure",
            when the pod fails the next time, as where kube-scheduler's answers were recorded;
            "at_once", as with an API server, so that the pod tries its nominated node first.
        progress
            Called with (bound, all) about every 50 ms and at the end. Ctrl-C works; what was bound
            and evicted so far stays.
        """
        if status_updates not in ("on_failure", "at_once"):
            raise _core.ConfigError(
                f'status_updates: "{status_updates}" is not allowed (allowed: on_failure, at_once)'
            )
        return Run(**self._core.run(cluster._core, status_updates == "at_once", progress))

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
            Called with (done, limit) about every 50 ms and at the end.

        Raises
        ------
        Error
            When there is no such pod, or the manifest is wrong (ParseError).
        PluginError
            When a plugin fails. An exception of a plugin written in Python comes unchanged.
        """
        if isinstance(pod, str):
            return self._fit(cluster, None, pod, limit, progress)
        return self._fit(cluster, dumps(pod), "<pod>", limit, progress)

    def _fit(
        self,
        cluster: Cluster,
        manifest: str | bytes | None,
        name: str,
        limit: int,
        progress: ProgressCallback | None = None,
    ) -> _core.Fit:
        """Fit the pod of a manifest, whose file is `name`, or without one the pod `name`."""
        limit = _integer("limit", limit, 0, _MAX_63, _core.Error)
        return self._core.fit(cluster._core, manifest, name, limit, progress)

    def __repr__(self) -> str:
        idle = f"; extenders: {len(self._extenders)}, not called" if self._extenders else ""
        return f"<Scheduler with profiles {', '.join(self.profiles)}{idle}>"


def _integer(
    name: str, value: int, least: int, most: int, error: type[Exception] = _core.ConfigError
) -> int:
    if not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not least <= value <= most:
        raise error(f"{name}: {value} is not allowed (allowed: {least} to {most})")
    return int(value)


def _configuration(profile: Configuration | None) -> tuple[dict[str, Any] | None, str]:
    """Return the configuration as a dict (None: the defaults), and its name in errors."""
    if profile is None:
        return None, "<config>"
    if isinstance(profile, str | os.PathLike):
        path = os.fspath(profile)
        name = "<stdin>" if path == "-" else path
        try:
            text = _core.read_text(path)
        except _core.ParseError as error:
            raise _core.ConfigError(str(error)) from None
        config = json.loads(_core.to_json(text, name))
        # A list can't be a configuration; the reader says so.
        return (config if isinstance(config, dict) else {}), name
    if isinstance(profile, Mapping):
        return dict(profile), "<config>"
    profiles = [profile] if isinstance(profile, Profile) else profile
    if not isinstance(profiles, Sequence) or not all(isinstance(p, Profile) for p in profiles):
        raise TypeError(
            "profile must be a Profile or a list of them, the path of a configuration, or a "
            f"configuration as a dict, not {profile!r}"
        )
    if not profiles:
        raise _core.ConfigError("profile: an empty list is not allowed (allowed: one or more)")
    return _of_profiles(profiles), "<profile>"


def _of_profiles(profiles: Sequence[Profile]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile.to_dict() for profile in profiles],
    }


def _enable(config: dict[str, Any] | None, plugins: Sequence[object]) -> dict[str, Any]:
    """Enable the plugins that no profile mentions, in every profile."""
    if config is None:
        config = _of_profiles([Profile()])
    entries = config.get("profiles") or [{}]
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        return config  # the reader says what is wrong with it
    mentioned = [Profile.from_dict(entry) for entry in entries]
    profiles = mentioned
    for plugin in plugins:
        name = getattr(plugin, "name", None)
        if not isinstance(name, str) or any(profile.mentions(name) for profile in mentioned):
            continue  # or the binding says what is wrong with the plugin
        profiles = [profile.enable(name, getattr(plugin, "weight", None)) for profile in profiles]
    return {**config, "profiles": [profile.to_dict() for profile in profiles]}
