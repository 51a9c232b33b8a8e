"""A filter that says why: racks under maintenance, and GPUs that are kept free.

python filter_plugin.py
python filter_plugin.py --spare 4
"""

import argparse

import schedfw
from schedfw.workloads import training_cluster

GPU = "nvidia.com/gpu"
RACK = "topology.kubernetes.io/rack"


class Operations(schedfw.Plugin):
    """Keeps pods from racks under maintenance, and `spare` GPUs of each node free."""

    name = "Operations"

    def __init__(self, maintenance, spare):
        self.maintenance = maintenance
        self.spare = spare

    def filter(self, cycle, node):
        rack = node.labels.get(RACK)
        if rack in self.maintenance:
            return f"node(s) were in a rack under maintenance ({rack})"
        if node.free(GPU) - cycle.pod.request(GPU) < self.spare:
            return f"node(s) would have less than {self.spare} GPUs free"
        return None  # the pod fits


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--spare", type=int, default=2, help="GPUs to keep free on each node")
args = parser.parse_args()

cluster = schedfw.Cluster.parse(training_cluster(6, 5, gpus=4, racks=3, spread=False))
scheduler = schedfw.Scheduler(plugins=[Operations({"rack-1"}, args.spare)])

for placement in scheduler.place(cluster):
    print(placement.pod, "→", placement.node or placement.status.message)

print()
if cluster.pending:
    diagnosis = scheduler.explain(cluster, cluster.pending[0]).diagnosis
    for node, code, plugin, reasons in diagnosis.table():
        print(f"{node}  {code}  {plugin}  {'; '.join(reasons)}")
