"""Cluster: nodes, pods and what else scheduling reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from schedfw import _core
from schedfw._json import dumps
from schedfw.topology import NodeTopology

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

PathLike = str | os.PathLike[str]


def _text(objects: Mapping[str, Any] | str) -> str:
    return objects if isinstance(objects, str) else dumps(objects)


class Cluster:
    """A cluster that changes by events, as a scheduler's cache does.

    Nodes are rows: every array has one entry a node, in the order of `nodes`. Amounts are
    integers: thousandths of a core for cpu, bytes for memory, units for devices.

    While `Scheduler.place` runs, its plugins and its progress callback may look at the cluster but
    not change it, and other threads may do neither: give each thread a fork.

    Examples
    --------
    >>> cluster = Cluster.load("nodes.json", "pods.yaml.gz")
    >>> cluster.to_pandas("cpu", "nvidia.com/gpu", labels=["topology.kubernetes.io/zone"])
    """

    def __init__(self) -> None:
        self._core = _core.Cluster()

    @classmethod
    def _wrap(cls, core: _core.Cluster) -> Cluster:
        out = cls.__new__(cls)
        out._core = core
        return out

    @classmethod
    def load(cls, *paths: PathLike) -> Cluster:
        """Read files that `kubectl get nodes,pods,… -o json` (or yaml) printed.

        Parameters
        ----------
        *paths
            JSON, JSON lines or YAML, several documents or Lists, gzip or not; "-" is standard
            input. The files together make up the cluster.

        Raises
        ------
        ParseError
            With the file, the line, the object and the field, the value, and what is allowed.
        """
        if not paths:
            raise _core.Error("load: give at least one file")
        return cls._wrap(_core.Cluster._read([os.fspath(path) for path in paths]))

    @classmethod
    def parse(cls, objects: Mapping[str, Any] | str, name: str = "<text>") -> Cluster:
        """Build a cluster from a List as a dict, or from JSON or YAML text.

        `name` stands for the file in errors. Raises ParseError.
        """
        return cls._wrap(_core.Cluster._parse(_text(objects), name))

    def apply(self, objects: Mapping[str, Any] | str, name: str = "<text>") -> None:
        """Add objects, or replace those with the same name: all of them or, on an error, none.

        Parameters
        ----------
        objects
            An object or a List as a dict, or JSON or YAML text.
        name
            Stands for the file in errors.

        Raises
        ------
        ParseError
            As `load` does.
        """
        self._core._apply(_text(objects), name)

    def fork(self) -> Cluster:
        """Return an independent cluster that starts from this state; costs what it changes."""
        return Cluster._wrap(self._core.fork())

    def bind(self, pod: str, node: str) -> None:
        """Bind a waiting pod ("namespace/name") to a node, whether it fits or not.

        A pod without "namespace/" is in the namespace default, here and elsewhere.
        """
        self._core.bind(pod, node)

    def nominate(self, pod: str, node: str | None) -> None:
        """Nominate a waiting pod to a node, or with None take its nomination back.

        Other pods of the same or a lower priority leave room for it there, and it is tried there
        first. The node need not exist.
        """
        self._core.nominate(pod, node)

    def delete_node(self, name: str) -> None:
        """Delete a node; its pods count nowhere until it comes back.

        The last row moves into its place, so that `nodes` changes its order.
        """
        self._core.delete_node(name)

    def delete_pod(self, name: str) -> None:
        """Delete a pod ("namespace/name"), waiting or not."""
        self._core.delete_pod(name)

    @property
    def nodes(self) -> list[str]:
        """The names of the nodes, in row order."""
        return self._core.nodes

    @property
    def pending(self) -> list[str]:
        """The pods that wait for a node ("namespace/name"), in order of arrival."""
        return self._core.pending

    @property
    def deleting(self) -> list[str]:
        """The pods without a node that are being deleted, which are not scheduled."""
        return self._core.deleting

    @property
    def pod_count(self) -> int:
        """How many pods there are: on nodes, waiting, and on nodes that are not there."""
        return self._core.pod_count

    @property
    def orphan_count(self) -> int:
        """How many pods name a node that is not there; they count nowhere."""
        return self._core.orphan_count

    @property
    def ignored(self) -> dict[str, int]:
        """How many objects that scheduling doesn't read the files held: {"v1 ConfigMap": 3}."""
        return self._core.ignored

    @property
    def generation(self) -> int:
        """A number that grows with every change; those of two clusters can't be compared."""
        return self._core.generation

    def pod(self, name: str) -> _core.Pod:
        """Return a pod ("namespace/name") to look at."""
        return self._core.pod(name)

    def node_of(self, pod: str) -> str | None:
        """Return the node that a pod has, or None when it waits."""
        return self._core.node_of(pod)

    def gpus_of(self, pod: str) -> list[int]:
        """Return which GPUs of its node a pod has, by index; none: it has none, or waits."""
        return self._core.gpus_of(pod)

    def topology_of(self, node: str) -> NodeTopology | None:
        """Return how the GPUs of a node are linked, or None when it isn't known.

        By the node's annotation ``device-plugin.nvidia.com/gpu-topology``, or by its
        NodeResourceTopology. What is wrong with an annotation says `Scheduler.check_nodes`. Raises
        Error when there is no such node.
        """
        core = self._core.topology_of(node)
        return None if core is None else NodeTopology(core)

    @property
    def gpu_milli_left(self) -> npt.NDArray[np.int16]:
        """What no pod has of each GPU, in thousandths: a new int16 array, shape (nodes, 16).

        -1 stands where a node has no such GPU. A node with more than 16 has none here: they are
        an amount only (`allocatable("nvidia.com/gpu")`).
        """
        return self._core.gpu_milli_left

    def pods_on(self, node: str) -> list[str]:
        """Return the pods on a node, by name."""
        return self._core.pods_on(node)

    def allocatable(self, resource: str) -> npt.NDArray[np.int64]:
        """Return what each node offers of a resource: a new int64 array, shape (nodes,)."""
        return self._core.allocatable(resource)

    def requested(self, resource: str) -> npt.NDArray[np.int64]:
        """Return what the pods of each node take: a new int64 array, shape (nodes,).

        Of "pods" each takes one.
        """
        return self._core.requested(resource)

    def label(self, key: str) -> list[str | None]:
        """Return each node's value of a label, None where it has none."""
        return self._core.label(key)

    def to_pandas(self, *resources: str, labels: Iterable[str] = ()) -> pd.DataFrame:
        """Return a DataFrame of nodes; needs pandas.

        Parameters
        ----------
        *resources
            Each gives the columns "<resource> allocatable" and "<resource> requested"; without any,
            cpu and memory do.
        labels
            Keys of node labels, a column each.
        """
        import pandas as pd

        if isinstance(labels, str):
            labels = (labels,)

        columns: dict[str, Any] = {}
        for resource in resources or ("cpu", "memory"):
            columns[f"{resource} allocatable"] = self.allocatable(resource)
            columns[f"{resource} requested"] = self.requested(resource)
        for key in labels:
            columns[key] = self.label(key)
        return pd.DataFrame(columns, index=pd.Index(self.nodes, name="node"))

    def __copy__(self) -> Cluster:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Cluster:
        return self.fork()

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._core)

    def __repr__(self) -> str:
        return repr(self._core)
