"""What several tests need: small objects, recorded clusters, and subprocesses."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import schedfw

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests/conformance/vectors"
ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"


def node(
    name: str, *, zone: str | None = None, labels: dict[str, str] | None = None, **amounts: Any
):
    """Return a Node of 4 cores, 8 GiB and room for 10 pods; `gpu` stands for nvidia.com/gpu."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    allocatable |= {GPU if key == "gpu" else key: str(value) for key, value in amounts.items()}
    labels = {"kubernetes.io/hostname": name, **({ZONE: zone} if zone else {}), **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str, *, on: str | None = None, namespace: str = "ml", spec: Any = None, **amounts: Any
):
    """Return a Pod that asks for these amounts, bound to the node `on` if there is one."""
    requests = {GPU if key == "gpu" else key: str(value) for key, value in amounts.items()}
    out: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
    }
    if GPU in requests:
        out["spec"]["containers"][0]["resources"]["limits"] = {GPU: requests[GPU]}
    if on is not None:
        out["spec"]["nodeName"] = on
    out["spec"].update(spec or {})
    return out


def cluster(*objects: Any) -> schedfw.Cluster:
    return schedfw.Cluster.parse({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def vectors(mode: str) -> list[Path]:
    """Return the folders of recorded answers of a mode that have a cluster."""
    return sorted(
        folder
        for folder in VECTORS.iterdir()
        if (folder / "mode").read_text().strip() == mode and (folder / "cluster.json").exists()
    )


def config_of(folder: Path) -> Path | None:
    path = folder / "config.yaml"
    return path if path.exists() else None


def state(cluster: schedfw.Cluster) -> tuple[Any, ...]:
    """Return all that a scheduling attempt could have changed."""
    amounts = {r: cluster.requested(r).tolist() for r in ("cpu", "memory", "pods", GPU)}
    on_nodes = {name: cluster.pods_on(name) for name in cluster.nodes}
    return cluster.nodes, cluster.pending, on_nodes, amounts, cluster.generation


def same_scores(a: schedfw.Scores, b: schedfw.Scores) -> bool:
    return (
        a.plugins == b.plugins
        and a.nodes == b.nodes
        and all(
            np.array_equal(getattr(a, part), getattr(b, part))
            for part in ("weights", "raw", "normalized", "weighted", "total")
        )
    )


def run_python(
    code: str, *args: str, text: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args],
        input=text,
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )


def run_schedfw(*args: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    return subprocess.run(
        [Path(sys.executable).parent / "schedfw", *map(str, args)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        # As in a terminal, whatever the tests are run by.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
