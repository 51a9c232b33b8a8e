"""The scripts of examples/python on small inputs."""

import ast
import json
import re
import subprocess
import sys

import pytest

from support import ROOT, node, pod

FOLDER = ROOT / "examples/python"


def run(script, *args):
    done = subprocess.run(
        [sys.executable, FOLDER / script, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_docstring_says_how_to_run_it(path):
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert re.search(rf"^ *python {path.name}( +#.*)?$", doc, re.MULTILINE)
    assert doc.splitlines()[0].endswith((".", "?"))
    assert doc.splitlines()[0] in run(path.name, "--help").replace("\n", " ")


def test_first_steps(tmp_path):
    pytest.importorskip("pandas")
    assert (
        run("first_steps.py")
        == """\
<Cluster of 4 nodes, 12 pods, 10 waiting>
           cpu allocatable  cpu requested  nvidia.com/gpu allocatable  nvidia.com/gpu requested
node
gpu-00000           128000          16000                           8                         8
gpu-00001           128000              0                           8                         0
gpu-00002           128000              0                           8                         0
gpu-00003           128000              0                           8                         0

<Explanation of ml/train-000002: 3 of 4 nodes fit>
goes to: gpu-00001
rejected: [('Insufficient nvidia.com/gpu', 1)]

<Scores of 5 plugins × 3 nodes>
node                             gpu-00001  gpu-00002  gpu-00003
plugin
TaintToleration                        300        300        300
NodeResourcesFit                        93         93         93
PodTopologySpread                      200        200        200
NodeResourcesBalancedAllocation         74         74         74
ImageLocality                            0          0          0
total                                  667        667        667

<Placements: 6 of 10 pods placed>
<Placement ml/train-000008: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.>
<Placement ml/train-000009: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.>
<Placement ml/train-000010: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.>
<Placement ml/train-000011: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.>
"""
    )
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps([node("a"), pod("fits"), pod("huge", cpu=99)]))
    out = run("first_steps.py", path, "--pod", "ml/huge")
    assert "goes to: 0/1 nodes are available: 1 Insufficient cpu." in out


def test_own_policy():
    assert (
        run("own_policy.py", "--nodes", 16)
        == """\
                                   default    PackGpus
pods placed                             32          32
GPUs in use                             64          64
nodes with 1 to 7 free GPUs             16           0
8-GPU jobs that still fit                0           8
GPUs in use per zone                8 to 8      8 to 8
"""
    )


def test_filter_plugin():
    assert (
        run("filter_plugin.py", "--spare", 3)
        == """\
ml/train-000000 → gpu-00000
ml/train-000001 → gpu-00002
ml/train-000002 → gpu-00003
ml/train-000003 → gpu-00005
ml/train-000004 → 0/6 nodes are available: 2 node(s) were in a rack under maintenance (rack-1), \
4 node(s) would have less than 3 GPUs free.

gpu-00000  Unschedulable  Operations  node(s) would have less than 3 GPUs free
gpu-00001  Unschedulable  Operations  node(s) were in a rack under maintenance (rack-1)
gpu-00002  Unschedulable  Operations  node(s) would have less than 3 GPUs free
gpu-00003  Unschedulable  Operations  node(s) would have less than 3 GPUs free
gpu-00004  Unschedulable  Operations  node(s) were in a rack under maintenance (rack-1)
gpu-00005  Unschedulable  Operations  node(s) would have less than 3 GPUs free
"""
    )
    assert "Unschedulable" not in run("filter_plugin.py", "--spare", 0)


def test_preemption():
    assert (
        run("preemption.py")
        == """\
0/8 nodes are available: 8 Insufficient nvidia.com/gpu.
ml/notebook-004 would go from gpu-001: its priority 0 is below 100 of ml/train
ml/notebook-007 would go from gpu-001: its priority 0 is below 100 of ml/train
then: <Placement ml/train → gpu-001>
the cluster itself still has 1 pod waiting
"""
    )
    assert run("preemption.py", "--gpus", 8).count("would go from") == 4


def test_what_if():
    assert (
        run("what_if.py", "--nodes", 4, "--pods", 11)
        == """\
+0 nodes: <Placements: 8 of 11 pods placed>
    0/4 nodes are available: 4 Insufficient nvidia.com/gpu.
+1 nodes: <Placements: 10 of 11 pods placed>
    0/5 nodes are available: 5 Insufficient nvidia.com/gpu.
+2 nodes: <Placements: 11 of 11 pods placed>
<Cluster of 4 nodes, 11 pods, 11 waiting> needs +2 nodes
"""
    )


def test_compare_profiles(tmp_path):
    plot = tmp_path / "compare.png"
    args = ["--nodes", 8, "--steps", 2]
    table = """\
load   strategy        placed  empty nodes  deviation of use
 50%   LeastAllocated      16            0              0.00
 50%   MostAllocated       16            4              0.50
100%   LeastAllocated      32            0              0.00
100%   MostAllocated       32            0              0.00
"""
    assert run("compare_profiles.py", *args) == table
    pytest.importorskip("matplotlib")
    assert run("compare_profiles.py", *args, "--plot", plot) == table + f"{plot}\n"
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_openb_policies(tmp_path):
    lines = run("openb_policies.py").splitlines()
    assert lines[0] == "allocated GPUs, % of all: mean ± standard deviation"
    assert re.sub(" +", " ", lines[1]) == "arrived 90 % 100 % 110 % 120 % 130 %"
    policies = ["random", "dotprod", "clustering", "packing", "bestfit", "fgd"]
    assert [line.split()[0] for line in lines[2:]] == policies
    for line in lines[2:]:
        assert re.fullmatch(r"\w+( +\d+\.\d\d ± \d+\.\d\d){5}", line)
    pytest.importorskip("matplotlib")
    plot = tmp_path / "policies.png"
    assert run("openb_policies.py", "--png", plot).splitlines() == [*lines, str(plot)]
    assert plot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def check_png(script, lines, path):
    pytest.importorskip("matplotlib")
    assert run(script, "--png", path) == lines + f"{path}\n"
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_mixed_gpu_cluster(tmp_path):
    args = ["--nodes", 64, "--jobs", 120]
    out = run("mixed_gpu_cluster.py", *args)
    assert (
        out
        == """\
64 nodes, 448 GPUs, 120 jobs of 4 GPUs

in use  plugins  placed  one island  AllReduce GB/s p10    p50    p90  cross-NUMA
   70%  off         120       61.7%                16.0  234.0  234.0       49.4%
   70%  on          120      100.0%               234.0  234.0  234.0       50.0%
   90%  off         108       57.4%                16.0  234.0  234.0       45.8%
   90%  on          120       79.2%                24.0  234.0  234.0       39.6%

GPUs are those that jobs got by placing; bandwidths are those of the model for these.
"""
    )
    pytest.importorskip("matplotlib")
    path = tmp_path / "mixed.png"
    assert run("mixed_gpu_cluster.py", *args, "--png", path) == out + f"{path}\n"


def test_a7_spread_masks_gpu_topology(tmp_path):
    out = run("report_a7.py")
    assert out.startswith(
        """\
PLACEMENT                 FIGURE                     ARTICLE  MODEL      MEASURED HERE
zone spread alone         pods placed                -        -          36 of 36
                          skew over zones            -        -          0
                          pods on one NUMA node      -        -          89%
                          pods on one NVLink island  -        -          72%
                          AllReduce GB/s, p10 / p50  -        20 / 234   -
GPU-aware, NUMA node      pods placed                -        -          36 of 36
                          skew over zones            -        -          0
                          pods on one NUMA node      -        -          100%
                          pods on one NVLink island  -        -          92%
                          AllReduce GB/s, p10 / p50  -        234 / 234  -
GPU-aware, NVLink island  pods placed                -        -          36 of 36
                          skew over zones            -        -          0
                          pods on one NUMA node      -        -          100%
                          pods on one NVLink island  -        -          100%
                          AllReduce GB/s, p10 / p50  -        234 / 234  -
"""
    )
    check_png("report_a7.py", out, tmp_path / "a7.png")


def test_a10_numa_binding_and_sharding(tmp_path):
    out = run("report_a10.py")
    assert out.startswith(
        """\
A10: AllReduce through host memory
                           article    model  residual  measured here
CPU bind          GiB/s       18.3     18.3     +0.00              -
                  p99 ms      24.6     24.5     -0.11              -
CPU + memory bind GiB/s       21.9     21.9     +0.00              -
                  p99 ms      15.2     15.4     +0.16              -
+ sharding        GiB/s       29.4     29.4     +0.00              -
                  p99 ms       8.7      8.6     -0.05              -
"""
    )
    # What the others say of a mode that was left out.
    assert re.findall(r"\(([+-]\d+)%\)$", out, re.MULTILINE) == ["-4", "+2", "-3"]
    check_png("report_a10.py", out, tmp_path / "a10.png")


def test_a13_wrong_labels_cross_numa_nodes(tmp_path):
    out = run("report_a13.py")
    assert (
        """\
mix of 31.3 and 7.3, fitted            3.1 %     28.4    28.4      +0.0              -
                                      68.2 %      9.7     9.7      +0.0              -
topology: 24.0 and 22.0, one job       3.1 %     28.4    23.9      -4.5              -
                                      68.2 %      9.7    22.6     +12.9              -
topology: 24.0 and 11.0, two share     3.1 %     28.4    23.2      -5.2              -
                                      68.2 %      9.7    13.3      +3.6              -
"""
        in out
    )
    assert (
        """\
labels   cross-NUMA  topology    mix  difference  waiting
right         0.0%       24.0   31.3        -7.3        2
missing      22.2%       23.5   18.1        +5.4       16
wrong        95.0%       15.5    7.6        +7.9       15
"""
        in out
    )
    check_png("report_a13.py", out, tmp_path / "a13.png")


def test_calibrated_parameters_are_those_of_the_fit():
    script = ROOT / "scripts/calibrate.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
