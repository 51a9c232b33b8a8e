"""Topology: the GPUs and NICs of a node, and what lies between them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from schedfw import _core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# From near to far; NV# comes first, with more links before fewer.
_LINK_TYPES = ("XGMI", "PIX", "PXB", "PHB", "NODE", "SYS", "N/A")
_COLORS = {
    "X": "#ffffff",
    "NVLink": "#1a9850",
    "XGMI": "#66bd63",
    "PIX": "#a6d9ee",
    "PXB": "#74add1",
    "PHB": "#fee090",
    "NODE": "#fdae61",
    "SYS": "#f46d43",
    "N/A": "#cccccc",
}


@dataclass(frozen=True)
class Device:
    """A GPU or NIC.

    Attributes
    ----------
    name
        As links name it: "GPU0", "NIC1", "mlx5_0".
    kind
        "GPU" or "NIC".
    numa
        The near NUMA nodes, ascending; empty: unknown.
    cpu_numa
        Those of them that have CPUs.
    gpu_numa_id
        The NUMA node that is the GPU's own memory, as on Grace; None: there is none.
    cpus
        The near CPUs, as "0-19,40-59"; None: unknown.
    alias
        What else it is called, as "mlx5_bond_1"; None: nothing known.
    """

    name: str
    kind: Literal["GPU", "NIC"]
    numa: tuple[int, ...] = ()
    cpu_numa: tuple[int, ...] = ()
    gpu_numa_id: int | None = None
    cpus: str | None = None
    alias: str | None = None


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node.

    Attributes
    ----------
    id
        Its number.
    cpus
        Its CPUs, as "0-19,40-59"; None: it has memory alone.
    memory_bytes
        The size of its memory; 0: unknown, or it has none.
    """

    id: int
    cpus: str | None
    memory_bytes: int


class NodeTopology:
    """The devices of one node; never changes.

    Made by `from_file`, `from_text` or `preset`.

    Examples
    --------
    >>> topology = schedfw.NodeTopology.preset("dgx-1-v100")
    >>> topology.link("GPU0", "GPU3")
    'NV2'
    >>> topology.nearest_nics("GPU0")
    ('PIX', ['NIC0'])
    """

    def __init__(self, core: _core.NodeTopology) -> None:
        if not isinstance(core, _core.NodeTopology):
            raise TypeError("NodeTopology is made by from_file, from_text or preset")
        self._core = core
        tree = json.loads(core.to_json())
        self._devices = tuple(
            Device(
                name=item["name"],
                kind=item["kind"],
                numa=tuple(item["numa"]),
                cpu_numa=tuple(item["cpu_numa"]),
                gpu_numa_id=item["gpu_numa_id"],
                cpus=item["cpus"],
                alias=item.get("alias"),
            )
            for item in tree["devices"]
        )
        self._places = {device.name: i for i, device in enumerate(self._devices)}
        self._links = np.array(tree["links"], dtype=np.str_)
        self._links.setflags(write=False)
        self._source: str = tree["source"]
        self._gpu_model: str | None = tree["gpu_model"]
        self._numa_nodes = tuple(NumaNode(**item) for item in tree["numa_nodes"])
        count = len(self._numa_nodes) if tree["numa_distances"] else 0
        self._distances = np.array(tree["numa_distances"], np.int32).reshape(count, count)
        self._distances.setflags(write=False)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], node: str = "") -> NodeTopology:
        """Read a file; its format is told by its content.

        Parameters
        ----------
        path
            What `nvidia-smi topo -m`, hwloc's `lstopo --of xml` or `schedfw topo -o json` printed,
            or Kubernetes objects: Nodes with the annotation
            ``device-plugin.nvidia.com/gpu-topology``, or NodeResourceTopologies; gzip or not; "-"
            is standard input.
        node
            Whose, when there are objects of several nodes.
        """
        return cls(_core.NodeTopology.read(os.fspath(path), False, node))

    @classmethod
    def from_text(cls, text: str, name: str = "<text>", node: str = "") -> NodeTopology:
        """Read a text as `from_file` does; `name` stands for the file in errors."""
        return cls(_core.NodeTopology.parse(text, name, node))

    @classmethod
    def preset(cls, name: str) -> NodeTopology:
        """Return a well-known machine; `presets` names them."""
        return cls(_core.NodeTopology.preset(name))

    @staticmethod
    def presets() -> dict[str, str]:
        """Return the names of all presets, and a sentence about each."""
        return {name: about for name, about, _ in _core.topology_presets()}

    def with_numactl(self, path: str | os.PathLike[str]) -> NodeTopology:
        """Return the topology with the NUMA nodes that `numactl -H` printed into a file.

        What follows from them is corrected: which of a device's nodes have CPUs, and near nodes of
        devices of which only CPUs were known.
        """
        return NodeTopology(self._core.read_numactl(os.fspath(path)))

    def with_numactl_text(self, text: str, name: str = "<text>") -> NodeTopology:
        """Do as `with_numactl` with a text; `name` stands for the file in errors."""
        return NodeTopology(self._core.parse_numactl(text, name))

    @property
    def devices(self) -> tuple[Device, ...]:
        """The GPUs and NICs, in the order of the links."""
        return self._devices

    @property
    def gpus(self) -> list[str]:
        """The names of the GPUs."""
        return [device.name for device in self._devices if device.kind == "GPU"]

    @property
    def nics(self) -> list[str]:
        """The names of the NICs."""
        return [device.name for device in self._devices if device.kind == "NIC"]

    @property
    def links(self) -> npt.NDArray[np.str_]:
        """What lies between each two devices, as `nvidia-smi topo -m` calls it; symmetric."""
        return self._links

    @property
    def island_of(self) -> list[int]:
        """The number of each GPU's island, in the order of `gpus`."""
        return self._core.islands

    @property
    def islands(self) -> list[list[str]]:
        """The GPUs that NVLink or XGMI connect, over other GPUs if need be; a list an island."""
        out: list[list[str]] = []
        for name, island in zip(self.gpus, self.island_of, strict=True):
            if island == len(out):
                out.append([])
            out[island].append(name)
        return out

    @property
    def source(self) -> str:
        """Where it comes from: "nvidia-smi topo -m", "hwloc", "preset dgx-a100"."""
        return self._source

    @property
    def gpu_model(self) -> str | None:
        """The model of the GPUs; None: unknown."""
        return self._gpu_model

    @property
    def numa_nodes(self) -> tuple[NumaNode, ...]:
        """The NUMA nodes; empty: not known."""
        return self._numa_nodes

    @property
    def numa_distances(self) -> npt.NDArray[np.int32]:
        """The distances of NUMA nodes (ACPI SLIT: 10 is the node itself); empty: not known."""
        return self._distances

    def link(self, a: str, b: str) -> str:
        """Return what lies between two devices, by their names."""
        return str(self._links[self._place(a), self._place(b)])

    def nearest_nics(self, gpu: str) -> tuple[str | None, list[str]]:
        """Return the nearest NICs of a GPU, and what lies between; (None, []) without NICs."""
        links = {nic: self.link(gpu, nic) for nic in self.nics}
        if not links:
            return None, []
        best = min(links.values(), key=_distance)
        return best, [nic for nic, link in links.items() if link == best]

    def _place(self, name: str) -> int:
        if name not in self._places:
            known = ", ".join(self._places)
            raise _core.Error(f'there is no device "{name}" (allowed: {known})')
        return self._places[name]

    def to_json(self) -> str:
        """Return it as JSON, as `schedfw topo -o json` prints it; `from_text` reads it back."""
        return self._core.to_json()

    def to_nvidia_smi(self) -> str:
        """Return it as `nvidia-smi topo -m` prints it; NUMA nodes and the model are left out."""
        return self._core.to_nvidia_smi()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the links as a coloured matrix, and return the axes; own ones if none are given.

        Names of GPUs have the colour of their island, and lines divide NUMA nodes. Needs
        matplotlib (the extra `plot`).
        """
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        count = len(self._devices)
        if ax is None:
            import matplotlib.pyplot as plt

            size = min(max(4.5, 1.6 + 0.42 * count), 40)
            _, ax = plt.subplots(figsize=(size + 1.6, size), layout="constrained")
        kinds = list(_COLORS)
        codes = [[kinds.index(_kind(link)) for link in row] for row in self._links.tolist()]
        ax.imshow(codes, cmap=ListedColormap(list(_COLORS.values())), vmin=0, vmax=len(kinds) - 1)
        if count <= 40:
            for i, row in enumerate(self._links.tolist()):
                for j, link in enumerate(row):
                    ax.text(j, i, link, ha="center", va="center", fontsize=6)
        names = [device.name for device in self._devices]
        ax.set_xticks(range(count), names, rotation=90, fontsize=7)
        ax.set_yticks(range(count), [self._label(device) for device in self._devices], fontsize=7)
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        islands = [island for island in self.islands if len(island) > 1]
        for number, island in enumerate(islands):
            for name in island:
                place = self._places[name]
                for tick in (ax.get_xticklabels()[place], ax.get_yticklabels()[place]):
                    tick.set_color(f"C{number % 10}")
        for before, (a, b) in enumerate(zip(self._devices, self._devices[1:], strict=False)):
            if a.kind != b.kind or a.cpu_numa != b.cpu_numa:
                ax.axhline(before + 0.5, color="black", linewidth=0.6)
                ax.axvline(before + 0.5, color="black", linewidth=0.6)
        used = {kinds[code] for row in codes for code in row} - {"X"}
        ax.legend(
            handles=[
                Patch(facecolor=_COLORS[kind], edgecolor="0.6", label=kind)
                for kind in kinds
                if kind in used
            ],
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            frameon=False,
        )
        ax.set_title(self._source + (f", {self._gpu_model}" if self._gpu_model else ""))
        return ax

    def _label(self, device: Device) -> str:
        numa = device.cpu_numa or device.numa
        return f"{device.name}  NUMA {ranges(numa)}" if numa else device.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeTopology) and self._core == other._core

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __repr__(self) -> str:
        return f"<NodeTopology from {self._source}: {len(self.gpus)} GPUs, {len(self.nics)} NICs>"


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as "0-3,8"."""
    out: list[list[int]] = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def _kind(link: str) -> str:
    return "NVLink" if link.startswith("NV") else link


def _distance(link: str) -> tuple[int, int]:
    if link.startswith("NV"):
        return 0, -int(link[2:])
    return 1, _LINK_TYPES.index(link)
