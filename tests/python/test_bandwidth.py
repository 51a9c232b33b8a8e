"""Bandwidths of sets of GPUs, and the fits of the models."""

import math

import numpy as np
import pytest

import schedfw
from schedfw.bandwidth import fit_harmonic_mix, fit_staging, harmonic_mix, load_scenario

GPUS = range(8)


def preset(name, bandwidths=None):
    return schedfw.BandwidthModel(schedfw.NodeTopology.preset(name), bandwidths)


def test_rings_of_a_preset():
    model = preset("dgx-1-v100")
    assert len(model) == 8
    assert model.numa == [0, 0, 0, 0, 1, 1, 1, 1]
    ring = model.ring(GPUS)
    assert (ring.busbw, ring.channels, ring.bottleneck) == (pytest.approx(120), 6, "NV1")
    assert sorted(ring.order) == list(GPUS)
    assert repr(ring) == "<GpuRing of 8 GPUs: 120 GB/s, NV1>"
    assert repr(model) == "<BandwidthModel of 8 GPUs, preset dgx-1-v100>"
    result = model.all_reduce([0, 1, 2, 3, 7], 1e9)
    assert result.algorithm == "tree"
    assert 0 < result.busbw < result.peak_busbw
    assert result.busbw == pytest.approx(1e9 / (1000 * result.time_us) * 8 / 5)
    assert result.bottleneck == "SYS"
    assert model.all_reduce([3]).algorithm == "none"


def test_table_has_each_set():
    model = preset("split-socket-4")
    table = model.table()
    assert table.dtype == np.float32
    sets = [[gpu for gpu in range(4) if mask >> gpu & 1] for mask in range(16)]
    assert table.tolist() == [np.float32(model.ring(gpus).busbw) for gpus in sets]
    # Two pairs share the way between the sockets.
    assert model.together([[0, 2], [1, 3]]) == [model.ring([0, 2]).busbw / 2] * 2
    assert model.together([[0, 1], [2, 3]]) == [model.ring([0, 1]).busbw] * 2


def test_own_bandwidths():
    declared = schedfw.LinkBandwidths("A100-SXM4")
    assert declared == schedfw.LinkBandwidths(**declared.to_dict())
    own = schedfw.LinkBandwidths("A100-SXM4", sys=3.5)
    assert own != declared
    assert preset("split-socket-4", own).ring([0, 3]).busbw == 3.5
    with pytest.raises(schedfw.ConfigError, match=r"nvlinks: is not allowed .*nvlinks_per_gpu"):
        schedfw.LinkBandwidths(nvlinks=12)
    for value in (0, -1, math.nan, math.inf):
        with pytest.raises(schedfw.ConfigError, match="pix: must be a finite number above 0"):
            schedfw.LinkBandwidths(pix=value)


def test_across_nodes():
    model = preset("dgx-a100")
    one = schedfw.all_reduce_across([(model, GPUS)])
    assert one.busbw == model.all_reduce(GPUS).busbw
    four = schedfw.all_reduce_across([(model, GPUS)] * 4)
    assert four.peak_busbw < one.peak_busbw
    assert four.bottleneck == "NIC"
    racks = [(model, GPUS, i % 2) for i in range(4)]
    half = schedfw.all_reduce_across(racks, rack_oversubscription=2)
    assert half.peak_busbw == pytest.approx(four.peak_busbw / 2)
    assert half.bottleneck == "rack"
    assert schedfw.all_reduce_across(racks, rails=1).peak_busbw < four.peak_busbw
    assert schedfw.all_reduce_across([]).algorithm == "none"


def test_errors_name_the_gpu():
    model = preset("split-socket-4")
    with pytest.raises(schedfw.Error, match=r"there is no GPU 4 \(there are 4\)"):
        model.ring([0, 4])
    with pytest.raises(schedfw.Error, match="size: must be a finite number above 0, not 0"):
        model.all_reduce([0, 1], 0)
    with pytest.raises(TypeError, match="topology must be a NodeTopology, not 'dgx-a100'"):
        schedfw.BandwidthModel("dgx-a100")
    with pytest.raises(schedfw.ConfigError, match=r"remote_share: must be 0 to 1, not 1\.5"):
        schedfw.stage_all_reduce(20, 0.7, 0.03, remote_share=1.5)


def test_fits_find_what_made_the_figures():
    shares = [0.1, 0.5, 0.9]
    near, far = fit_harmonic_mix(shares, [harmonic_mix(share, 30, 8) for share in shares])
    assert (near, far) == (pytest.approx(30), pytest.approx(8))

    modes = [
        {"remote_share": 0.4, "shards": 1},
        {"remote_share": 0, "shards": 1},
        {"remote_share": 0.1, "shards": 3},
    ]
    wanted = {
        "local_bandwidth": 25,
        "remote_ratio": 0.6,
        "sharded_share": 0.7,
        "message": 0.04,
        "arrivals_per_s": 300,
    }
    results = [
        schedfw.stage_all_reduce(
            25, 0.6, 0.04, 300, **mode, sharded_share=0.7 if mode["shards"] > 1 else 0
        )
        for mode in modes
    ]
    fitted = fit_staging([r.bandwidth for r in results], [r.p99_ms for r in results], modes)
    assert fitted == pytest.approx(wanted)
    with pytest.raises(ValueError, match="one mode must have shards above 1, not 0"):
        fit_staging([1, 2], [1, 2], modes[:2])


def test_scenario_must_be_an_object(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text("row: A10\n")
    assert load_scenario(path) == {"row": "A10"}
    path.write_text("- A10\n")
    with pytest.raises(schedfw.ConfigError, match="must be an object"):
        load_scenario(path)
