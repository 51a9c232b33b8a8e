"""Who would be evicted? Fills a cluster with work of low priority, then asks for room.

python preemption.py
python preemption.py --nodes 64 --gpus 4
"""

import argparse

import schedfw

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--nodes", type=int, default=8)
parser.add_argument("--gpus", type=int, default=4, help="GPUs that the urgent pod needs")
args = parser.parse_args()

GPU = "nvidia.com/gpu"


def node(number):
    """Return a node of 8 GPUs."""
    name = f"gpu-{number:03d}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8"}},
    }


def pod(name, gpus, priority, on=None):
    """Return a pod, bound to a node if there is one."""
    resources = {"requests": {"cpu": "2"}, "limits": {GPU: str(gpus)}}
    spec = {"priority": priority, "containers": [{"name": "main", "resources": resources}]}
    if on is not None:
        spec["nodeName"] = on
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


nodes = [node(i) for i in range(args.nodes)]
# Notebooks of priority 0 to 3, two GPUs each, four a node.
work = [
    pod(f"notebook-{i:03d}", 2, i % 7 % 4, on=f"gpu-{i // 4:03d}") for i in range(4 * args.nodes)
]
cluster = schedfw.Cluster.parse([*nodes, *work, pod("train", args.gpus, 100)])
scheduler = schedfw.Scheduler()

explanation = scheduler.explain(cluster, "ml/train", preempt=True)  # changes nothing
print(explanation.status.message)
for victim in explanation.preemption.victims:
    print(f"{victim.pod} would go from {explanation.preemption.nominated_node}: {victim.reason}")

trial = cluster.fork()
scheduler.preempt(trial, "ml/train")
print(f"then: {scheduler.schedule_one(trial, 'ml/train')}")
print(f"the cluster itself still has {len(cluster.pending)} pod waiting")
