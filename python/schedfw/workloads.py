"""Clusters and workloads to try things on."""

from __future__ import annotations

from typing import Any


def training_cluster(
    nodes: int,
    pods: int,
    *,
    gpus: int = 4,
    jobs: int = 10,
    zones: int = 8,
    racks: int = 32,
    spread: bool = True,
) -> dict[str, Any]:
    """Return a GPU cluster and its waiting training pods, as a Kubernetes List.

    Parameters
    ----------
    nodes
        Each has 128 cores, 1008 GiB and 8 GPUs.
    pods
        Each asks for 8 cores, 64 GiB and `gpus` GPUs.
    gpus
        GPUs that a pod asks for.
    jobs
        The pods belong to so many jobs, in turn.
    zones, racks
        The nodes are in so many zones and racks, in turn.
    spread
        Whether each job spreads over zones (maxSkew 1, required) and all jobs together over racks
        (maxSkew 2, preferred).
    """
    items: list[dict[str, Any]] = []
    for i in range(nodes):
        name = f"gpu-{i:05d}"
        resources = {
            "cpu": "128",
            "memory": "1008Gi",
            "pods": "110",
            "ephemeral-storage": "3Ti",
            "nvidia.com/gpu": "8",
        }
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {
                    "name": name,
                    "labels": {
                        "kubernetes.io/hostname": name,
                        "topology.kubernetes.io/zone": f"zone-{i % zones}",
                        "topology.kubernetes.io/rack": f"rack-{i % racks}",
                        "nvidia.com/gpu.product": "A100-SXM4-80GB",
                    },
                },
                "status": {"capacity": resources, "allocatable": resources},
            }
        )
    for i in range(pods):
        job = f"resnet50-{i % jobs}"
        spec: dict[str, Any] = {
            "containers": [
                {
                    "name": "trainer",
                    "image": "registry.local/train:1",
                    "resources": {
                        "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(gpus)},
                        "limits": {"nvidia.com/gpu": str(gpus)},
                    },
                }
            ]
        }
        if spread:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"job": job}},
                },
                {
                    "maxSkew": 2,
                    "topologyKey": "topology.kubernetes.io/rack",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"framework": "resnet50"}},
                },
            ]
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"train-{i:06d}",
                    "namespace": "ml",
                    "labels": {"job": job, "framework": "resnet50"},
                },
                "spec": spec,
            }
        )
    return {"apiVersion": "v1", "kind": "List", "items": items}
