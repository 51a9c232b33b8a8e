"""What if we buy nodes? Adds nodes to a fork, one at a time, until all pods fit.

python what_if.py
python what_if.py --nodes 40 --pods 120
"""

import argparse
import copy

import schedfw
from schedfw.workloads import training_cluster

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--nodes", type=int, default=8)
parser.add_argument("--pods", type=int, default=30)
args = parser.parse_args()

objects = training_cluster(args.nodes, args.pods, gpus=4, zones=4)
template = next(o for o in objects["items"] if o["kind"] == "Node")
cluster = schedfw.Cluster.parse(objects)
scheduler = schedfw.Scheduler()


def new_node(number):
    """Return a node like the first one, in the next zone."""
    node = copy.deepcopy(template)
    node["metadata"]["name"] = name = f"new-{number:05d}"
    node["metadata"]["labels"]["kubernetes.io/hostname"] = name
    node["metadata"]["labels"]["topology.kubernetes.io/zone"] = f"zone-{number % 4}"
    return node


added = 0
while True:
    trial = cluster.fork()  # shares all that it doesn't change
    for number in range(added):
        trial.apply(new_node(number))
    placements = scheduler.place(trial)
    pending = trial.pending
    print(f"+{added} nodes: {placements}")
    if not pending:
        break
    print("   ", scheduler.explain(trial, pending[0]).status.message)
    added += 1

print(f"{cluster} needs +{added} nodes")
