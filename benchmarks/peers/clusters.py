#!/usr/bin/env python3
"""Prints a GPU cluster and the training pods that wait for it, as a List of Kubernetes objects."""

import argparse
import json
import sys
from typing import Any

ZONES = 8
RACKS = 32
JOB = "resnet50"
NAMESPACE = "ml"
GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
RACK = "topology.kubernetes.io/rack"

Object = dict[str, Any]


def node(index: int) -> Object:
    """Return one of the nodes, which differ in their names, zones and racks only."""
    name = f"gpu-{index:05}"
    amounts = {
        "cpu": "128",
        "memory": "1008Gi",
        "ephemeral-storage": "3Ti",
        "pods": "110",
        GPU: "8",
    }
    labels = {
        "kubernetes.io/hostname": name,
        ZONE: f"zone-{index % ZONES}",
        RACK: f"rack-{index % RACKS}",
        "nvidia.com/gpu.product": "A100-SXM4-80GB",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def service(app: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app, "namespace": NAMESPACE},
        "spec": {"selector": {"app": app}},
    }


def spread_constraints(app: str) -> list[Object]:
    """Return what keeps an app even over the zones and, where possible, the job over the racks."""
    hard = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    soft = {
        "topologyKey": RACK,
        "maxSkew": 2,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"job": JOB}},
    }
    return [hard, soft]


def pod(index: int, app: str, *, gpus: int, spread: bool, shapes: bool) -> Object:
    labels = {"app": app, "job": JOB}
    requests = {"cpu": "8", "memory": "64Gi", GPU: str(gpus)}
    if shapes:
        labels["index"] = str(index)
        requests |= {"cpu": f"{4000 + index}m", "memory": f"{32768 + index}Mi"}
    container = {
        "name": "t",
        "image": "registry.local/train:1",
        "resources": {"requests": requests, "limits": {GPU: str(gpus)}},
    }
    spec: Object = {"containers": [container]}
    if spread:
        spec["topologySpreadConstraints"] = spread_constraints(app)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"train-{index:06}", "namespace": NAMESPACE, "labels": labels},
        "spec": spec,
    }


def cluster(
    nodes: int,
    pods: int,
    *,
    gpus: int = 4,
    apps: int = 1,
    spread: bool = False,
    shapes: bool = False,
    services: bool = False,
) -> Object:
    """Return a cluster as a List; see the options of the command line for what they mean."""
    names = [f"{JOB}-{number}" for number in range(apps)]
    items = [node(index) for index in range(nodes)]
    if services:
        items.extend(service(app) for app in names)
    items.extend(
        pod(index, names[index % apps], gpus=gpus, spread=spread, shapes=shapes)
        for index in range(pods)
    )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def number_from(least: int) -> Any:
    """Return a reader of whole numbers that are not less than `least`."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit()) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed (allowed: {least} or more)")
        return int(text)

    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=number_from(0), help="how many nodes, of 8 GPUs each")
    parser.add_argument("pods", type=number_from(0), help="how many pods that wait")
    parser.add_argument("--gpus", type=number_from(1), default=4, help="GPUs a pod (default: 4)")
    parser.add_argument(
        "--apps", type=number_from(1), default=1, help="apps that the pods belong to in turn"
    )
    parser.add_argument(
        "--spread",
        action="store_true",
        help="pods spread over the zones (DoNotSchedule) and the racks (ScheduleAnyway)",
    )
    parser.add_argument(
        "--shapes", action="store_true", help="no two pods have the same requests and labels"
    )
    parser.add_argument(
        "--services",
        action="store_true",
        help="each app has a Service, so that default spreading acts on its pods",
    )
    options = parser.parse_args()
    json.dump(cluster(**vars(options)), sys.stdout)


if __name__ == "__main__":
    main()
