"""First steps: load a cluster, ask where a pod fits and why, and look at the scores.

    python first_steps.py                     # a small training cluster
    python first_steps.py cluster.json        # what `kubectl get nodes,pods -A -o json` printed
    python first_steps.py --pod ml/train-000003

Needs pandas.
"""

import argparse

import schedfw
from schedfw.workloads import training_cluster

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("files", nargs="*", help="JSON or YAML; default: a cluster of 4 GPU nodes")
parser.add_argument("--pod", help="namespace/name; default: the first one that waits")
args = parser.parse_args()

if args.files:
    cluster = schedfw.Cluster.load(*args.files)
else:
    cluster = schedfw.Cluster.parse(training_cluster(4, 12, zones=2))
    cluster.bind("ml/train-000000", "gpu-00000")
    cluster.bind("ml/train-000001", "gpu-00000")
print(cluster)
print(cluster.to_pandas("cpu", "nvidia.com/gpu").to_string(), "\n")

# One pod's cycle over all nodes. Nothing changes.
scheduler = schedfw.Scheduler()
explanation = scheduler.explain(cluster, args.pod or cluster.pending[0])
print(explanation)
print("goes to:", explanation.best[0] if explanation.status else explanation.status.message)
print("rejected:", explanation.diagnosis.reasons, "\n")

# Every score as a numpy array that shares the library's memory, or as a DataFrame.
scores = explanation.scores
print(scores)
print(scores.to_pandas("weighted").assign(total=scores.total).T.to_string(), "\n")

# Where do all waiting pods go? On a fork, so that `cluster` stays as it is.
placements = scheduler.place(cluster.fork())
print(placements)
for placement in placements:
    if not placement.status:
        print(placement)
