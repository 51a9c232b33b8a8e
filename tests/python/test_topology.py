"""Topologies of nodes, from Python and from the command line."""

import gzip
import json
import re

import numpy as np
import pytest

import schedfw
from schedfw import _core
from support import ROOT, run_python, run_schedfw

CASES = ROOT / "tests/cases"
TABS = CASES / "B50-topo-nvlink-with-nics/tabs.txt"
GRACE = CASES / "B52-topo-memory-only-numa-nodes/grace.txt"
OLD = CASES / "B53-topo-old-driver-layout/old.txt"
PRESETS = ["dgx-1-v100", "dgx-a100", "a100-pcie-8", "dgx-h100", "split-socket-4", "mi300x-8"]
NUMACTL = """\
available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 1024 MB
node 1 cpus: 80 81
node 1 size: 2048 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def test_devices():
    topology = schedfw.NodeTopology.from_file(TABS)
    assert topology.gpus == ["GPU0", "GPU1", "GPU2", "GPU3"]
    assert topology.nics == ["NIC0", "NIC1"]
    assert topology.devices[2] == schedfw.Device(
        name="GPU2", kind="GPU", numa=(1,), cpu_numa=(1,), cpus="80-159"
    )
    assert topology.devices[5] == schedfw.Device(name="NIC1", kind="NIC", alias="mlx5_bond_1")
    assert topology.links.shape == (6, 6)
    assert (topology.links == topology.links.T).all()
    assert (np.diag(topology.links) == "X").all()
    assert topology.link("GPU3", "NIC1") == "PHB"
    assert topology.islands == [topology.gpus]
    assert topology.nearest_nics("GPU3") == ("PHB", ["NIC1"])
    assert (topology.source, topology.gpu_model) == ("nvidia-smi topo -m", None)
    assert topology.numa_nodes == ()
    assert topology.numa_distances.shape == (0, 0)
    assert repr(topology) == ("<NodeTopology from nvidia-smi topo -m: 4 GPUs, 2 NICs>")
    with pytest.raises(ValueError, match="read-only"):
        topology.links[0, 0] = "SYS"
    with pytest.raises(schedfw.Error, match=r'there is no device "GPU9" \(allowed: GPU0, .*\)'):
        topology.link("GPU9", "GPU0")


def test_memory_of_gpus():
    topology = schedfw.NodeTopology.from_file(str(GRACE))
    assert [d.cpu_numa for d in topology.devices[:4]] == [(0,), (0,), (1,), (1,)]
    assert [d.gpu_numa_id for d in topology.devices] == [2, 10, 18, 26, None, None]


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    topology = schedfw.NodeTopology.preset(name)
    assert topology.source == f"preset {name}"
    assert topology.numa_distances.shape == (len(topology.numa_nodes),) * 2
    again = schedfw.NodeTopology.from_text(topology.to_json())
    assert again == topology
    assert hash(again) == hash(topology)
    printed = schedfw.NodeTopology.from_text(topology.to_nvidia_smi())
    assert printed.devices == topology.devices
    assert (printed.links == topology.links).all()
    assert printed != topology
    assert sorted(gpu for island in topology.islands for gpu in island) == sorted(topology.gpus)


def test_preset_names():
    presets = schedfw.NodeTopology.presets()
    assert list(presets) == PRESETS
    assert all(about.endswith(".") for about in presets.values())
    assert len(schedfw.NodeTopology.preset("a100-pcie-8").islands) == 4
    nearest = schedfw.NodeTopology.preset("dgx-a100").nearest_nics("GPU7")
    assert nearest == ("PXB", ["NIC6", "NIC7"])
    with pytest.raises(schedfw.Error, match=r"there is no preset of that name \(allowed: dgx-1"):
        schedfw.NodeTopology.preset("dgx")


def test_numactl(tmp_path):
    topology = schedfw.NodeTopology.from_file(OLD)
    path = tmp_path / "numactl.txt"
    path.write_text(NUMACTL.replace("80 81", "24 25"))
    more = topology.with_numactl(path)
    assert [d.numa for d in more.devices] == [(0,), (0,), (1,), (), ()]
    assert more.numa_nodes[1] == schedfw.NumaNode(id=1, cpus="24-25", memory_bytes=2 << 30)
    assert more.numa_distances.tolist() == [[10, 21], [21, 10]]
    assert topology.numa_nodes == ()
    assert topology.with_numactl_text(path.read_text()) == more
    with pytest.raises(schedfw.ParseError, match=r"n: no NUMA node \(allowed: .*\)"):
        topology.with_numactl_text("nothing", "n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"f: the text is empty .*"),
        ("No devices were found", r'f:1: no matrix of devices; .* "No devices were found" .*'),
        ("  GPU0 GPU1\nGPU0 X SYS\n", r'f:1: the row of "GPU1" is missing .*'),
        ("{}", r"f: devices: is missing .*"),
        ("<?xml version='1.0'?>\n<topology>", r"f:2: .*"),
        (NUMACTL, r"f: numactl -H names no devices .*"),
    ],
)
def test_errors(text, message):
    with pytest.raises(schedfw.ParseError, match=f"^{message}$"):
        schedfw.NodeTopology.from_text(text, "f")


def test_is_made_by_its_readers():
    with pytest.raises(TypeError, match="from_file, from_text or preset"):
        schedfw.NodeTopology("dgx-a100")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib.figure import Figure

    for name in PRESETS:
        topology = schedfw.NodeTopology.preset(name)
        figure = Figure()
        ax = topology.plot(figure.subplots())
        assert len(ax.texts) == topology.links.size
        assert topology.source in ax.get_title()
        figure.savefig(tmp_path / f"{name}.png")
    assert schedfw.NodeTopology.from_file(TABS).plot().get_title() == "nvidia-smi topo -m"


# The command.


def good(*args, text=None):
    done = run_schedfw("topo", *args, text=text)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_command():
    lines = good(TABS).splitlines()
    assert lines[0] == "nvidia-smi topo -m: 4 GPUs, 2 NICs"
    assert lines[2].split() == ["ISLAND", "LINKS", "GPUS"]
    assert lines[3].split() == ["0", "NV18", "GPU0", "GPU1", "GPU2", "GPU3"]
    assert lines[5].split() == ["DEVICE", "NUMA", "CPUS", "ISLAND", "NEAREST_NICS"]
    assert lines[9].split() == ["GPU3", "1", "80-159", "0", "PHB:", "NIC1"]
    assert lines[11].split() == ["NIC1", "(mlx5_bond_1)", "-", "-", "-", "-"]
    assert lines[13].split() == ["GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1"]
    assert lines[-1].split() == ["NIC1", "SYS", "SYS", "PIX", "PHB", "SYS", "X"]


@pytest.mark.parametrize("name", PRESETS)
def test_command_is_ascii(name):
    assert good(name).isascii()


def test_command_grace():
    lines = good(GRACE).splitlines()
    heading = next(line for line in lines if line.startswith("DEVICE"))
    assert heading.split()[2] == "GPU_NUMA_ID"
    row = next(line for line in lines if line.startswith("GPU3  "))
    assert row.split()[:3] == ["GPU3", "1", "26"]


def test_command_json(tmp_path):
    tree = json.loads(good(TABS, "-o", "json"))
    assert list(tree)[:3] == ["devices", "links", "source"]
    assert list(tree["devices"][0]) == ["name", "kind", "numa", "gpu_numa_id", "cpu_numa", "cpus"]
    assert tree["devices"][5]["alias"] == "mlx5_bond_1"
    assert tree["links"][0] == ["X", "NV18", "NV18", "NV18", "PIX", "SYS"]
    assert json.loads(good("dgx-h100", "-o", "json"))["gpu_model"] == "H100-SXM5"
    again = good("-", "-o", "json", text=json.dumps(tree))
    assert json.loads(again) == tree
    path = tmp_path / "tabs.gz"
    path.write_bytes(gzip.compress(TABS.read_bytes()))
    assert json.loads(good(path, "-o", "json")) == tree


def test_command_numactl(tmp_path):
    path = tmp_path / "numactl.txt"
    path.write_text(NUMACTL)
    lines = good(TABS, "--numactl", path).splitlines()
    assert lines[0].endswith("4 GPUs, 2 NICs, 2 NUMA nodes")
    row = next(line for line in lines if line.startswith("1  "))
    assert row.split() == ["1", "80-81", "2.0", "GiB", "21", "10"]
    assert good(TABS, "--numactl", "-", text=NUMACTL).splitlines() == lines


def test_command_list():
    assert [line.split()[0] for line in good("--list").splitlines()] == ["PRESET", *PRESETS]
    tree = json.loads(good("--list", "-o", "json"))
    assert [item["name"] for item in tree] == PRESETS
    assert [item[0] for item in _core.topology_presets()] == PRESETS


def test_command_png(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "topo.png"
    assert good("dgx-1-v100", "--png", path).splitlines()[-1] == str(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    done = run_schedfw("topo", TABS, "--png", tmp_path / "none" / "x.png")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("x.png: No such file or directory\n")


def test_command_without_matplotlib(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None; "
        "from schedfw.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = run_python(code, "topo", str(TABS), "--png", str(tmp_path / "x.png"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "schedfw: error: --png: matplotlib is not installed (pip install 'schedfw[plot]')\n"
    )
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], r"a file or a preset must be given \(schedfw topo --list names presets\)"),
        (["none.txt"], r"none\.txt: No such file or directory"),
        (["."], r"\.: is a directory, not a file"),
        (["broken.txt"], r"broken\.txt:3: the row of GPU1 has 1 cells \(allowed: at least 2, .*"),
        (["empty.txt"], r"empty\.txt: the text is empty .*"),
        (["nvml.txt"], r'nvml\.txt:1: .*"Failed to initialize NVML: Unknown Error".*'),
        (["dgx-a100", "--numactl", "nvml.txt"], r"nvml\.txt: no NUMA node .*"),
        (["dgx-a100", "--numactl", "small.txt"], r"small\.txt: has none of the NUMA nodes of .*"),
        (["-", "--numactl", "-"], r"--numactl: standard input is the topology .*"),
        (["dgx-a100", "-o", "xml"], r"argument -o/--output: invalid choice: 'xml' .*"),
    ],
    ids=str,
)
def test_command_errors(tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.txt").write_text("  GPU0 GPU1\nGPU0 X NV2\nGPU1 NV2\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "nvml.txt").write_text("Failed to initialize NVML: Unknown Error\n")
    (tmp_path / "small.txt").write_text("node 0 cpus: 0 1\nnode 0 size: 1 MB\n")
    done = run_schedfw("topo", *args)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert re.match(rf"schedfw( topo)?: error: {message}", line), line


@pytest.mark.parametrize("path", sorted((CASES / "B55-topo-without-gpus").glob("*.txt")), ids=str)
def test_no_gpu(path):
    done = run_schedfw("topo", path, "-o", "json")
    assert (done.returncode, done.stdout) == (2, "")
    first = path.read_text().split("\n")[0]
    assert (first or "empty") in done.stderr


def test_command_objects(tmp_path):
    path = tmp_path / "nodes.yaml"
    note = "device-plugin.nvidia.com/gpu-topology"
    nodes = [
        "apiVersion: v1\nkind: Node\n"
        f"metadata: {{name: {name}, annotations: {{{note}: {preset}}}}}\n"
        for name, preset in (("a", "dgx-a100"), ("b", "dgx-h100"))
    ]
    path.write_text("---\n".join(nodes))
    done = run_schedfw("topo", path, "--node", "b")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("preset dgx-h100: 8 GPUs")
    done = run_schedfw("topo", path)
    assert done.returncode == 2
    assert done.stderr == (
        f"schedfw: error: {path}: tells of 2 nodes, and none is chosen (allowed: a, b)\n"
    )
    assert schedfw.NodeTopology.from_file(path, "a").source == "preset dgx-a100"
    assert schedfw.NodeTopology.from_text(nodes[1]).source == "preset dgx-h100"
