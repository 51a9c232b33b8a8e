"""Bandwidth: how fast sets of GPUs AllReduce, and fits of the models to given figures."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from schedfw import _core
from schedfw.topology import NodeTopology


class BandwidthModel(_core.BandwidthModel):
    """How fast sets of GPUs of a node AllReduce.

    GPUs are numbered in the topology's order; there are up to 16, and others are passed over.

    Parameters
    ----------
    topology
        The devices of the node.
    bandwidths
        What links carry; by default what `LinkBandwidths` has for the topology's model of GPU.

    Examples
    --------
    >>> model = schedfw.BandwidthModel(schedfw.NodeTopology.preset("dgx-1-v100"))
    >>> model.ring([0, 1, 2, 3])
    <GpuRing of 4 GPUs: 80 GB/s, NV1>
    """

    def __init__(
        self, topology: NodeTopology, bandwidths: _core.LinkBandwidths | None = None
    ) -> None:
        if not isinstance(topology, NodeTopology):
            raise TypeError(f"topology must be a NodeTopology, not {topology!r}")
        super().__init__(topology._core, bandwidths)


def all_reduce_across(
    nodes: Iterable[tuple[_core.BandwidthModel, Sequence[int]] | tuple[Any, ...]],
    size: float = 1e9,
    *,
    bandwidths: _core.LinkBandwidths | None = None,
    rails: int = 0,
    rack_oversubscription: float = 1.0,
    spine_oversubscription: float = 1.0,
) -> _core.AllReduceResult:
    """Return an AllReduce over GPUs of several nodes.

    Parameters
    ----------
    nodes
        For each node its model, its GPUs, and perhaps the numbers of its rack and of its spine.
    size
        Bytes on each GPU.
    bandwidths
        What links carry; by default what the first node's model has.
    rails
        NICs of a node that are used at most; 0: all that are nearest to one of the GPUs.
    rack_oversubscription, spine_oversubscription
        What goes into a level of the fabric over what it passes on.

    Raises
    ------
    Error
        When there is no such GPU, or a number isn't allowed.
    """
    full = [(node[0], list(node[1]), *node[2:], *(0, 0)[len(node) - 2 :]) for node in nodes]
    if bandwidths is None:
        bandwidths = full[0][0].bandwidths if full else _core.LinkBandwidths()
    return _core.all_reduce_across(
        full, size, bandwidths, rails, rack_oversubscription, spine_oversubscription
    )


def stage_all_reduce(
    local_bandwidth: float,
    remote_ratio: float,
    message: float,
    arrivals_per_s: float = 0.0,
    *,
    remote_share: float = 0.0,
    shards: float = 1.0,
    sharded_share: float = 0.0,
) -> _core.StagingResult:
    """Return an AllReduce that goes through host memory.

    Parameters
    ----------
    local_bandwidth
        Data a second when all accesses are local; the unit of data is that of `message`.
    remote_ratio
        Bandwidth of accesses to memory of another NUMA node over that of local ones.
    message
        Data that one AllReduce moves.
    arrivals_per_s
        AllReduces that are asked for in a second.
    remote_share
        Of all accesses: those to memory of another NUMA node.
    shards
        Parts of a message that go at the same time.
    sharded_share
        What of a message's time is divided among them.

    Raises
    ------
    ConfigError
        When a parameter isn't allowed.
    """
    return _core.stage_all_reduce(
        local_bandwidth,
        remote_ratio,
        message,
        arrivals_per_s,
        remote_share,
        shards,
        sharded_share,
    )


def harmonic_mix(share: float, near: float, far: float) -> float:
    """Return the bandwidth when a share of all data goes over a path of another bandwidth."""
    return 1 / ((1 - share) / near + share / far)


def fit_harmonic_mix(shares: Sequence[float], bandwidths: Sequence[float]) -> tuple[float, float]:
    """Return the bandwidths (near, far) whose `harmonic_mix` is nearest to given ones.

    Least squares of the reciprocals, weighted so that relative deviations count. Two points always
    fit.
    """
    share = np.asarray(shares, dtype=np.float64)
    given = np.asarray(bandwidths, dtype=np.float64)
    columns = np.stack([1 - share, share], axis=1)
    near, far = _least_squares(columns * given[:, None], np.ones_like(given))
    return 1 / near, 1 / far


def fit_staging(
    bandwidths: Sequence[float],
    p99_ms: Sequence[float],
    modes: Sequence[Mapping[str, float]],
) -> dict[str, float]:
    """Return the parameters of `stage_all_reduce` that fit figures of several modes.

    Parameters
    ----------
    bandwidths, p99_ms
        A figure a mode.
    modes
        The declared `remote_share` and `shards` of each mode; exactly one has shards above 1.

    Returns
    -------
    dict
        local_bandwidth, remote_ratio, sharded_share, message and arrivals_per_s.
    """
    sharded = [i for i, mode in enumerate(modes) if mode["shards"] > 1]
    if len(sharded) != 1:
        raise ValueError(f"one mode must have shards above 1, not {len(sharded)}")
    plain = [i for i in range(len(modes)) if i not in sharded]
    near, far = fit_harmonic_mix(
        [modes[i]["remote_share"] for i in plain], [bandwidths[i] for i in plain]
    )
    (one,) = sharded
    gain = bandwidths[one] / harmonic_mix(modes[one]["remote_share"], near, far)
    share = (1 - 1 / gain) / (1 - 1 / modes[one]["shards"])
    # p99 = ln 100 × S / (1 - λS) with S = message / bandwidth: linear in 1 / message and λ.
    given = np.asarray(bandwidths, dtype=np.float64)
    tail = math.log(100) * 1000 / np.asarray(p99_ms, dtype=np.float64)
    columns = np.stack([given, -np.ones_like(given)], axis=1)
    inverse, arrivals = _least_squares(columns / tail[:, None], np.ones_like(tail))
    return {
        "local_bandwidth": near,
        "remote_ratio": far / near,
        "sharded_share": share,
        "message": 1 / inverse,
        "arrivals_per_s": arrivals,
    }


def load_scenario(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a scenario file (YAML or JSON) holds.

    Raises
    ------
    ParseError, ConfigError
        When it can't be read.
    """
    name = os.fspath(path)
    scenario = json.loads(_core.to_json(_core.read_text(name), name))
    if not isinstance(scenario, dict):
        raise _core.ConfigError(f"{name}: must be an object")
    return scenario


def _least_squares(
    columns: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]
) -> tuple[float, float]:
    a, b = np.linalg.lstsq(columns, wanted, rcond=None)[0].tolist()
    return a, b
