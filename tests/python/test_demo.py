import csv
import struct
import subprocess
import sys

import pytest


def run_demo(*args):
    return subprocess.run(
        [sys.executable, "-m", "schedfw.demo", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_demo(tmp_path):
    out = tmp_path / "new" / "folder"
    done = run_demo("--nodes", 16, "--pods", 32, "--out", out)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "16 nodes × 8 GPUs, 32 pods × 4 GPUs, spread over zones"
    values = dict(line.strip().split("  ", 1) for line in lines[1:10])
    values = {key: value.strip() for key, value in values.items()}
    assert values["placed"] == "32 of 32 pods"
    assert values["GPUs in use"] == "128 of 128 (100%)"
    assert values["pods per zone"] == "4 to 4 in 8 zones"
    assert lines[-2:] == [
        f"heat map: {out}/latency_heatmap.csv",
        f"heat map: {out}/latency_heatmap.png",
    ]

    with (out / "latency_heatmap.csv").open() as file:
        header, *rows = csv.reader(file)
    assert header[0] == "time_ms"
    assert [float(bound) for bound in header[1:]] == sorted(float(bound) for bound in header[1:])
    assert sum(int(count) for row in rows for count in row[1:]) == 32

    pytest.importorskip("matplotlib")
    image = (out / "latency_heatmap.png").read_bytes()
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    assert image[12:16] == b"IHDR"
    width, height = struct.unpack(">II", image[16:24])
    assert (width, height) == (960, 540)
    assert image[-8:-4] == b"IEND"


def test_pods_that_do_not_fit(tmp_path):
    done = run_demo("--nodes", 8, "--pods", 20, "--gpus", 8, "--threads", 2, "--out", tmp_path)
    assert "  placed            8 of 20 pods\n" in done.stdout
    with (tmp_path / "latency_heatmap.csv").open() as file:
        rows = list(csv.reader(file))[1:]
    assert sum(int(count) for row in rows for count in row[1:]) == 20


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--nodes", "0"], "argument --nodes: '0' is not allowed (allowed: 1 or more)"),
        (["--pods", "-1"], "argument --pods: '-1' is not allowed (allowed: 1 or more)"),
        (["--gpus", "x"], "argument --gpus: 'x' is not allowed (allowed: 1 or more)"),
        (["--threads", "-1"], "threads: -1 is not allowed (allowed: 0 to 1024)"),
    ],
)
def test_errors(tmp_path, args, message):
    done = run_demo("--nodes", 1, "--pods", 1, "--out", tmp_path, *args)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"python -m schedfw.demo: error: {message}"
    assert "Traceback" not in done.stderr


def test_a_folder_that_can_not_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    done = run_demo("--nodes", 1, "--pods", 1, "--out", tmp_path / "file")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("python -m schedfw.demo: error: ")
    assert "Traceback" not in done.stderr
