"""What do missing or wrong labels of zones and sockets cost an AllReduce?

    python report_a13.py
    python report_a13.py --png a13.png       # needs matplotlib

Places the jobs of examples/scenarios/cross_numa.yaml with the scheduler, PodTopologySpread over
zones, gives each the GPUs that the labels of its node suggest, and computes what rings over the
devices of the node then get, all jobs at once. Nothing here is measured: that takes GPUs.
"""

import argparse
import itertools
import random
from pathlib import Path

import schedfw
from schedfw.bandwidth import harmonic_mix, load_scenario

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios/cross_numa.yaml"
GPU = "nvidia.com/gpu"
ZONE = "topology.kubernetes.io/zone"
LABELS = ("right", "missing", "wrong")


class Node:
    """What a node says of itself.

    Attributes
    ----------
    zone
        The label, or None.
    sockets
        By GPU, as the node has it; None if it doesn't say.
    """

    def __init__(self, scenario, number, zones, sockets, truth):
        cluster, labels = scenario["cluster"], scenario["labels"]
        zone, place = divmod(number, cluster["nodes_per_zone"])

        def late(share):
            return place >= cluster["nodes_per_zone"] * (1 - share)

        self.zone = f"zone-{zone}"
        if zones == "missing" and late(labels["missing_zone_share"]):
            self.zone = None
        elif zones == "wrong" and late(labels["wrong_zone_share"]):
            self.zone = "zone-0"
        self.sockets = {"right": truth, "missing": None, "wrong": labels["wrong_sockets"]}[sockets]


def objects(scenario, nodes, sizes):
    """Return the cluster and its waiting pods, as a Kubernetes List."""
    jobs = scenario["jobs"]
    items = []
    gpus = len(scenario["labels"]["wrong_sockets"])
    for i, node in enumerate(nodes):
        labels = {} if node.zone is None else {ZONE: node.zone}
        resources = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: str(gpus)}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{i:03d}", "labels": labels},
                "status": {"capacity": resources, "allocatable": resources},
            }
        )
    for i, size in enumerate(sizes):
        constraint = {
            "maxSkew": jobs["max_skew"],
            "topologyKey": ZONE,
            "whenUnsatisfiable": jobs["when_unsatisfiable"],
            "labelSelector": {"matchLabels": {"kind": "training"}},
        }
        limits = {"cpu": "4", GPU: str(size)}
        container = {"name": "trainer", "image": "registry.local/train:1"}
        container["resources"] = {"requests": limits, "limits": {GPU: str(size)}}
        items.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"job-{i:03d}",
                    "namespace": "ml",
                    "labels": {"kind": "training"},
                },
                "spec": {"containers": [container], "topologySpreadConstraints": [constraint]},
            }
        )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def choose(free, size, sockets):
    """Return GPUs of the fewest sockets, then of the fullest one, then the first ones."""
    if sockets is None:
        return tuple(sorted(free)[:size])

    def cost(gpus):
        used = {sockets[gpu] for gpu in gpus}
        return len(used), sum(sockets[gpu] in used for gpu in free), gpus

    return min(itertools.combinations(sorted(free), size), key=cost)


def run(scenario, model, zones, sockets):
    """Place the jobs; return (cross-NUMA share, harmonic mean GB/s, waiting jobs)."""
    cluster, jobs = scenario["cluster"], scenario["jobs"]
    count = cluster["zones"] * cluster["nodes_per_zone"]
    nodes = [Node(scenario, i, zones, sockets, model.numa) for i in range(count)]
    draw = random.Random(jobs["seed"])
    kinds = [int(size) for size in jobs["gpus"]]
    sizes = draw.choices(kinds, list(jobs["gpus"].values()), k=jobs["count"])
    placements = schedfw.Scheduler().place(schedfw.Cluster.parse(objects(scenario, nodes, sizes)))
    free = [set(range(len(model))) for _ in nodes]
    placed = [[] for _ in nodes]
    for placement in placements:
        if placement.node is None:
            continue
        at = int(placement.node.rsplit("-", 1)[1])
        size = sizes[int(placement.pod.rsplit("-", 1)[1])]
        gpus = choose(free[at], size, nodes[at].sockets)
        free[at] -= set(gpus)
        if size > 1:
            placed[at].append(gpus)
    edges = crossing = inverse = 0.0
    rings = 0
    for sets in placed:
        for gpus, busbw in zip(sets, model.together(sets), strict=True):
            edges += len(gpus)
            crossing += len(gpus) * model.ring(gpus).cross_numa_share
            inverse += 1 / busbw
            rings += 1
    waiting = sum(placement.node is None for placement in placements)
    return crossing / edges, rings / inverse, waiting


def paths(model):
    """Return the bandwidths (near, far) of pairs of GPUs, alone and with another pair like it."""
    pairs = list(itertools.combinations(range(len(model)), 2))
    out = []
    for count in (1, 2):
        near, far = (
            next(
                model.together(jobs)[0]
                for jobs in itertools.combinations(pairs, count)
                if len({gpu for pair in jobs for gpu in pair}) == 2 * count
                and all((model.numa[a] != model.numa[b]) == crossing for a, b in jobs)
            )
            for crossing in (False, True)
        )
        out.append((near, far))
    return out


def draw(scenario, model, results, path):
    """Draw the mix, the article's points and those of the topology."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    near, far = mix(scenario)
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    shares = [i / 100 for i in range(101)]
    axes.plot(
        [100 * share for share in shares],
        [harmonic_mix(share, near, far) for share in shares],
        label="harmonic mix, fitted to the article",
    )
    for style, label, (a, b) in zip(
        ("--", ":"), ("one job on a node", "two jobs share"), paths(model), strict=True
    ):
        axes.plot(
            [100 * share for share in shares],
            [harmonic_mix(share, a, b) for share in shares],
            style,
            color="0.6",
            label=f"mix from the device topology, {label}",
        )
    axes.plot(
        [point["cross_numa_percent"] for point in scenario["article"]],
        [point["gb_per_s"] for point in scenario["article"]],
        "o",
        color="0.4",
        label="article",
    )
    for marker, (labels, (share, busbw, _)) in zip("sD^", results.items(), strict=True):
        axes.plot(100 * share, busbw, marker, label=f"jobs on the device topology, labels {labels}")
    axes.set_xlabel("edges of rings that cross NUMA nodes [%]")
    axes.set_ylabel("AllReduce bus bandwidth [GB/s]")
    axes.set_xlim(-2, 102)
    axes.set_ylim(0, 42)
    axes.legend(ncols=1, fontsize="small")
    figure.savefig(path, dpi=100)


def mix(scenario):
    """Return the fitted bandwidths of the near and the far path."""
    fitted = scenario["calibrated"]
    return fitted["near_gb_per_s"], fitted["cross_numa_gb_per_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", nargs="?", type=Path, default=SCENARIO)
    parser.add_argument("--png", metavar="FILE", type=Path, help="draw bandwidth over share")
    args = parser.parse_args()

    scenario = load_scenario(args.scenario)
    machine, links = scenario["cluster"]["machine"], scenario["cluster"]["links"]
    topology = schedfw.NodeTopology.preset(machine)
    bandwidths = schedfw.LinkBandwidths(topology.gpu_model or "", **links)
    model = schedfw.BandwidthModel(topology, bandwidths)
    near, far = mix(scenario)

    print("A13: AllReduce over NUMA nodes, GB/s of bus bandwidth")
    print()
    print(
        f"{'':34}{'cross-NUMA':>10}{'article':>9}{'model':>8}{'residual':>10}{'measured here':>15}"
    )
    alone, shared = paths(model)
    for name, (a, b) in {
        f"mix of {near:.1f} and {far:.1f}, fitted": (near, far),
        f"topology: {alone[0]:.1f} and {alone[1]:.1f}, one job": alone,
        f"topology: {shared[0]:.1f} and {shared[1]:.1f}, two share": shared,
    }.items():
        for i, point in enumerate(scenario["article"]):
            guess = harmonic_mix(point["cross_numa_percent"] / 100, a, b)
            residual = round(guess - point["gb_per_s"], 1) + 0.0  # no minus before 0
            print(
                f"{'' if i else name:34}{point['cross_numa_percent']:8.1f} %"
                f"{point['gb_per_s']:9.1f}{guess:8.1f}{residual:+10.1f}{'-':>15}"
            )
    print(
        "Two points always fit two parameters: the fit's residuals are 0 by construction, no test."
    )
    print("The others are: bandwidths from the device topology, nothing calibrated.")
    print()

    everything = {
        (zones, sockets): run(scenario, model, zones, sockets)
        for zones in LABELS
        for sockets in LABELS
    }
    results = {labels: everything[labels, labels] for labels in LABELS}
    print(f"Jobs placed by the scheduler on {machine} nodes, all at once, nothing calibrated")
    print(
        f"{'labels':8}{'cross-NUMA':>11}{'topology':>10}{'mix':>7}{'difference':>12}{'waiting':>9}"
    )
    for labels, (share, busbw, waiting) in results.items():
        guess = harmonic_mix(share, near, far)
        print(f"{labels:8}{share:10.1%}{busbw:11.1f}{guess:7.1f}{busbw - guess:+12.1f}{waiting:9}")
    print(
        "topology: harmonic mean over jobs; mix: the fit above at that share, and the difference."
    )
    print()
    print("Which labels matter: cross-NUMA share by labels of zones (rows) and of sockets")
    print(f"{'':8}" + "".join(f"{labels:>10}" for labels in LABELS))
    for zones in LABELS:
        cells = [f"{everything[zones, sockets][0]:10.1%}" for sockets in LABELS]
        print(f"{zones:8}" + "".join(cells))
    if args.png is not None:
        draw(scenario, model, results, args.png)
        print(args.png)


if __name__ == "__main__":
    main()
