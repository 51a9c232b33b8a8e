"""Makes random cases: clusters with waiting pods, each kind of them hard for some plugin.

A case is {"name", "kind", "mode", "cluster", "config"}; all follows from one seed. What the
declared differences of docs/differences.md are about is not generated.
"""

import copy
import json
from pathlib import Path

from . import draw
from .draw import HOST, IMAGES, NAMESPACES, RESOURCES, ZONE, Draw

SCORE_PLUGINS = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
]
FILTER_PLUGINS = [
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeName",
    "TaintToleration",
    "NodeUnschedulable",
]


def configuration(profile=None, **fields):
    """Makes a configuration of one profile, or of the given `profiles`."""
    out = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **(profile or {})}],
    }
    out.update(fields)
    return out


def with_args(**args):
    """Makes a configuration with the arguments of plugins."""
    return configuration({"pluginConfig": [{"name": n, "args": a} for n, a in args.items()]})


class Scene:
    """A cluster in the making: nodes, running and waiting pods, and other objects."""

    def __init__(self, r, nodes=(4, 10), namespaces=NAMESPACES):
        self.r = r
        self.names = [f"n{i:03d}" for i in range(r.randint(*nodes))]
        self.namespaces = namespaces
        self.nodes = []
        self.running = []
        self.waiting = []
        self.others = []
        self.config = None
        self.mode = "explain"

    def build(self, per_node=(0, 3), waiting=12, allocatable=None):
        """Makes small pods on big nodes, which the kinds then change."""
        r = self.r
        for name in self.names:
            self.nodes.append(draw.node(r, name, allocatable() if allocatable else None))
        if self.names:
            places = [*self.names, "ghost"] if r.chance(0.2) else self.names
            for i in range(sum(r.randint(*per_node) for _ in self.names)):
                place = r.choice(places)
                self.running.append(draw.pod(r, f"b{i:04d}", place, self.namespaces))
        for i in range(waiting):
            self.waiting.append(draw.pod(r, f"p{i:04d}", None, self.namespaces))
        return self

    @property
    def pods(self):
        """All pods."""
        return self.running + self.waiting

    def node_objects(self, name):
        """The running pods of a node."""
        return [p for p in self.running if p["spec"]["nodeName"] == name]

    def cluster(self):
        """The list of all objects, shuffled in some clusters."""
        items = self.nodes + self.others + self.running + self.waiting
        if self.r.chance(0.3):
            self.r.shuffle(items)
        spaces = [{"name": n, "labels": {"team": "a" if n != "prod" else "b"}} for n in NAMESPACES]
        heads = [{"apiVersion": "v1", "kind": "Namespace", "metadata": m} for m in spaces]
        return {"apiVersion": "v1", "kind": "List", "items": heads + items}


# --- Parts that several kinds have ---


def give_taints(s, probability=0.6):
    """Taints nodes, and lets pods tolerate some of it."""
    r = s.r
    for node in s.nodes:
        if r.chance(probability):
            node["spec"]["taints"] = [draw.taint(r) for _ in range(r.choice([1, 1, 2, 3]))]
    for pod in s.waiting:
        if r.chance(0.7):
            pod["spec"]["tolerations"] = [draw.toleration(r) for _ in range(r.choice([1, 1, 2, 3]))]


def cordon(s, probability):
    """Marks nodes unschedulable, some with the taint that the node controller adds."""
    for node in s.nodes:
        if s.r.chance(probability):
            node["spec"]["unschedulable"] = True
            if s.r.chance(0.4):
                taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
                node["spec"].setdefault("taints", []).append(taint)


def give_node_affinity(s, probability=0.8):
    """Gives waiting pods node selectors and node affinity."""
    r = s.r
    for pod in s.waiting:
        if r.chance(0.25):
            pod["spec"]["nodeSelector"] = draw.node_selector(r)
        if r.chance(probability):
            rules = draw.node_affinity(r, s.names)
            if rules:
                pod["spec"].setdefault("affinity", {})["nodeAffinity"] = rules


def give_ports(s, probability=0.6):
    """Gives pods host ports, also by the host's network and in init containers."""
    r = s.r
    for pod in s.pods:
        spec = pod["spec"]
        if r.chance(0.3):
            spec["initContainers"] = [draw.container(r, "i0", {})]
            if r.chance(0.85):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        for container in spec["containers"] + spec.get("initContainers", []):
            if r.chance(probability):
                container["ports"] = draw.ports(r)
        if r.chance(0.3):
            spec["hostNetwork"] = True
            for container in spec["containers"] + spec.get("initContainers", []):
                if r.chance(0.6):
                    container["ports"] = [{"containerPort": r.choice([80, 81, 53])}]


def give_images(s):
    """Puts images on nodes and uses them in containers and volumes."""
    r = s.r
    size_of = {name: r.choice(draw.IMAGE_SIZES) for name in IMAGES}
    for node in s.nodes:
        images = node["status"]["images"] = []
        for name in r.some(IMAGES, 0, 8):
            names = [name]
            if ":" not in name.split("/")[-1] and "@" not in name and r.chance(0.85):
                names = [name + ":latest"]
            images.append({"names": names, "sizeBytes": size_of[name]})
    for pod in s.waiting:
        spec = pod["spec"]
        for container in spec["containers"]:
            container["image"] = r.choice(IMAGES)
        for i in range(r.choice([0, 0, 1, 3])):
            spec["containers"].append({"name": f"e{i}", "image": r.choice(IMAGES)})
        if r.chance(0.3):
            spec["initContainers"] = [{"name": "i0", "image": r.choice(IMAGES)}]
        if r.chance(0.3):
            spec["volumes"] = [{"name": "v", "image": {"reference": r.choice(IMAGES)}}]


def give_spread(s, hard=0.5, probability=0.9, of_running=0.1):
    """Gives pods topology spread constraints."""
    r = s.r
    for pod in s.pods:
        if r.chance(probability if "nodeName" not in pod["spec"] else of_running):
            constraints = draw.spread_constraints(r, pod, hard)
            pod["spec"]["topologySpreadConstraints"] = constraints
    for pod in s.running:
        if r.chance(0.08):
            draw.terminating(r, pod)


def give_pod_affinity(s, waiting=0.9, running=0.4, required=0.4, preferred=0.4):
    """Gives pods affinity to pods, and adds a namespace without an object."""
    r = s.r
    for pod in s.pods:
        if r.chance(waiting if "nodeName" not in pod["spec"] else running):
            rules = draw.pod_affinity(r, pod, required, preferred)
            if rules:
                pod["spec"].setdefault("affinity", {}).update(rules)
        if r.chance(0.06):
            pod["metadata"]["namespace"] = "bare"


def give_resources(s, strange=0.5):
    """Gives pods all that sums of requests are made of."""
    r = s.r
    names = ["cpu", "memory", "ephemeral-storage"]
    more = [r.choice(draw.COMMON), *r.some(RESOURCES, 0, 2)]
    for pod in s.pods:
        spec = pod["spec"]
        for i in range(r.choice([0, 0, 1])):
            spec["containers"].append(draw.container(r, f"c{i}"))
        if r.chance(0.4):
            inits = spec["initContainers"] = []
            for i in range(r.randint(1, 3)):
                inits.append(draw.container(r, f"i{i}"))
                if r.chance(0.5):
                    inits[-1]["restartPolicy"] = "Always"
        for container in spec["containers"] + spec.get("initContainers", []):
            resources = container["resources"] = {}
            known = [*names, *more] if r.chance(strange) else names
            if r.chance(0.8):
                resources["requests"] = draw.amounts(r, known)
            asked = resources.setdefault("requests", {})
            running = "nodeName" in spec
            if strange >= 0.5 and not running and r.chance(0.3):
                asked.setdefault(more[0], "1")
            if r.chance(0.4):  # what is requested as well doesn't matter
                free = [n for n in known if n not in asked or r.chance(0.1)]
                if running and strange < 0.5:
                    free = [n for n in free if n in names]
                resources["limits"] = limits = draw.amounts(r, free)
                for name in sorted({*limits} & {*more}) if running else ():
                    pages = name.startswith("hugepages-")
                    limits[name] = r.choice(["4Mi", "6Mi"] if pages else ["2", "3", "4"])
        if r.chance(0.2):
            spec["overhead"] = draw.amounts(r, [*names, *more], 1)
        if r.chance(0.25):
            level = spec["resources"] = {}
            own = ["cpu", "memory", "hugepages-2Mi", "hugepages-1Gi"]
            if r.chance(0.6):
                level["requests"] = draw.amounts(r, own, 1)
            if r.chance(0.6) or not level:
                level["limits"] = draw.amounts(r, own, 1)
    for node in s.nodes:
        allocatable = node["status"]["allocatable"]
        for name in more:
            if r.chance(0.85):
                some = ["0", "1", "2", "4", "5", "1Gi", "3500m"]
                pages = ["0", "4Mi", "6Mi", "10Mi", "1Gi"]
                allocatable[name] = r.choice(pages if name.startswith("hugepages-") else some)


def scarce(r):
    """Draws what a small node offers."""
    out = {
        "cpu": r.choice(["2", "4", "8", "7900m", "3", "0.0005", "8000000u"]),
        "memory": r.choice(["4Gi", "8Gi", "16Gi", "32G", "8589934592", "17179869184000m"]),
        "pods": r.choice(["110", "20", "3", "2", "110.5"]),
    }
    if r.chance(0.9):
        out["ephemeral-storage"] = r.choice(["100Gi", "50G", "0", "5Gi", "20Gi"])
    if r.chance(0.6):
        out["nvidia.com/gpu"] = r.choice(["8", "4", "0", "2500m"])
    return out


def priority_classes(r):
    """Draws PriorityClasses; the two system ones exist anyway."""
    out = [("high", 1000, {}), ("low", 10, {}), ("never", 5000, {"preemptionPolicy": "Never"})]
    out.append(("below", -7, {"preemptionPolicy": "Never"} if r.chance(0.5) else {}))
    for name, _, fields in out:
        if name in ("low", "below") and r.chance(0.5):
            fields["globalDefault"] = True
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return [{**head, "metadata": {"name": n}, "value": v, **f} for n, v, f in out]


def scoring_strategy(r, kind=None):
    """Draws a scoring strategy of NodeResourcesFit."""
    kind = kind or r.choice(["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"])
    out = {"type": kind}
    known = ["memory", "memory", "ephemeral-storage", "nvidia.com/gpu", "example.com/foo"]
    known += ["foo", "hugepages-2Mi", "pods", "kubernetes.io/x", "requests.foo"]
    if r.chance(0.9):
        out["resources"] = []
        for name in ["cpu", *r.choices(known, k=r.randint(0, 4))]:
            weight = {"weight": r.choice([1, 2, 5, 100, 0])} if r.chance(0.9) else {}
            out["resources"].append({"name": name, **weight})
    if kind == "RequestedToCapacityRatio":
        points = sorted(r.sample(range(101), r.choice([1, 2, 3, 5])))
        if r.chance(0.5):
            points = sorted({*points[:-1], 100})
        shape = [
            {"utilization": p, "score": r.choice([0, 0, 10, r.randint(0, 10)])} for p in points
        ]
        out["requestedToCapacityRatio"] = {"shape": shape}
    return out


# --- Kinds ---


def default(r):
    """A plain cluster, with Services, in the default configuration."""
    s = Scene(r).build(allocatable=lambda: scarce(r))
    s.others = draw.controllers(r, NAMESPACES)
    cordon(s, 0.1)
    return s


def resources(r):
    """Everything that requests are made of, on small nodes."""
    s = Scene(r).build((0, 2), allocatable=lambda: scarce(r))
    give_resources(s)
    for node in s.nodes:
        if r.chance(0.1):
            del node["status"]["allocatable"]
        elif r.chance(0.2):
            node["status"]["capacity"] = scarce(r)
    return s


def resize(r):
    """Running pods that are being resized in place."""
    there = {"cpu": "12", "memory": "24Gi", "pods": "20", "ephemeral-storage": "60Gi"}
    there.update({"nvidia.com/gpu": "12", "hugepages-2Mi": "48Mi"})
    s = Scene(r, (2, 5)).build((1, 2), allocatable=lambda: there)
    for pod in s.pods:
        spec = pod["spec"]
        if "nodeName" in spec and r.chance(0.5):
            spec["initContainers"] = [draw.container(r, "i0")]
            if r.chance(0.85):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        for container in spec["containers"] + spec.get("initContainers", []):
            asked = {name: r.choice(draw.RESIZED[name]) for name in r.some([*draw.RESIZED], 3, 5)}
            container["resources"] = {"requests": asked}
        if "nodeName" not in spec:
            continue
        if r.chance(0.5):
            level = {name: r.choice(draw.RESIZED[name]) for name in ("cpu", "memory")}
            if r.chance(0.7):
                level["hugepages-2Mi"] = "2Mi"
            spec["resources"] = {"requests": level}
        draw.resource_status(r, pod)
    for pod in s.running:  # equal pods of which only one is being resized
        if r.chance(0.3):
            other = r.choice(s.running)
            kept = {"name": pod["metadata"]["name"]}
            node = {"nodeName": pod["spec"]["nodeName"]}
            pod["metadata"] = {**copy.deepcopy(other["metadata"]), **kept}
            pod["spec"] = {**copy.deepcopy(other["spec"]), **node}
            pod["status"] = {}
            if r.chance(0.5):
                draw.resource_status(r, pod)
    if r.chance(0.8):
        weights = [{"name": name, "weight": r.choice([1, 2])} for name in draw.RESIZED]
        strategy = {"type": "LeastAllocated", "resources": weights}
        s.config = with_args(NodeResourcesFit={"scoringStrategy": strategy})
    return s


def strategies(r):
    """Arguments of the plugins that score resources."""
    s = resources(r)
    args = {}
    if r.chance(0.9):
        args["NodeResourcesFit"] = {"scoringStrategy": scoring_strategy(r)}
    for pod in s.waiting:  # what is ignored is asked for, and more than there is
        if r.chance(0.4):
            asked = pod["spec"]["containers"][0]["resources"].setdefault("requests", {})
            asked[r.choice(["example.com/foo", "nvidia.com/gpu"])] = "50"
    if r.chance(0.6):
        known = ["example.com/foo", "nvidia.com/gpu", "foo", "hugepages-2Mi", "cpu"]
        args.setdefault("NodeResourcesFit", {})["ignoredResources"] = r.some(known, 1, 3)
    if r.chance(0.5):
        groups = r.some(["nvidia.com", "example.com", "kubernetes.io", "foo"], 1, 2)
        args.setdefault("NodeResourcesFit", {})["ignoredResourceGroups"] = groups
    if r.chance(0.7):
        known = ["cpu", "memory", "ephemeral-storage", *draw.COMMON, "pods"]
        scored = ["cpu", "memory", "ephemeral-storage"] if r.chance(0.4) else r.some(known, 0, 5)
        args["NodeResourcesBalancedAllocation"] = {
            "resources": [{"name": n, "weight": 1} for n in scored]
        }
    s.config = with_args(**args)
    return s


def shapes(r):
    """RequestedToCapacityRatio, with nodes in use to different degrees."""
    s = Scene(r, (5, 10)).build((0, 3), allocatable=lambda: full_node(r))
    for pod in s.pods:
        for container in pod["spec"]["containers"]:
            needs = draw.amounts(r, ["cpu", "memory", "nvidia.com/gpu"], 1)
            container["resources"] = {"requests": needs}
    strategy = scoring_strategy(r, "RequestedToCapacityRatio")
    weights = [{"name": n, "weight": r.choice([1, 2, 3, 100])} for n in ("memory", "cpu")]
    strategy["resources"] = weights + strategy.get("resources", [])
    s.config = with_args(NodeResourcesFit={"scoringStrategy": strategy})
    return s


def extremes(r):
    """Amounts near the greatest and least that are allowed."""
    s = Scene(r).build((0, 1))
    top = str((1 << 63) - 1)
    for node in s.nodes:
        node["status"]["allocatable"] = {
            # A hundredfold of what is scored stays within 64 bits; see docs/differences.md.
            "cpu": r.choice(["92000000000000", "1", "1n", "0", "0.001"]),
            "memory": r.choice(["90P", "92233720368547758", "1", "0", "100n", "16Gi"]),
            "pods": r.choice([top, "1", "0", "110"]),
            "ephemeral-storage": r.choice([top, "8E", "0", "1"]),
            "example.com/foo": r.choice([top, "0", "1"]),
            "hugepages-2Mi": r.choice(["8E", "0", "2Mi"]),
        }
    for pod in s.pods:
        running = "nodeName" in pod["spec"]
        for container in pod["spec"]["containers"]:
            requests = container["resources"]["requests"] = {}
            if r.chance(0.7):
                few = ["0", "1m", "0.0001", "1n"]
                requests["cpu"] = r.choice(few if running else [*few, "45999999999999"])
            if r.chance(0.7):
                few = ["0", "1", "1000m", "1n"]
                requests["memory"] = r.choice(
                    few if running else [*few, "45P", "89999999999999999"]
                )
            for name in ("ephemeral-storage", "example.com/foo", "hugepages-2Mi"):
                if r.chance(0.3):
                    requests[name] = r.choice(["0", "1"] if running else ["0", "1", "4E", top])
    if r.chance(0.5):
        strategy = {"type": r.choice(["LeastAllocated", "MostAllocated"])}
        s.config = with_args(NodeResourcesFit={"scoringStrategy": strategy})
    return s


def taints(r):
    """Taints and tolerations of every sort, and unschedulable nodes."""
    s = Scene(r, (6, 12)).build((0, 1))
    give_taints(s)
    cordon(s, 0.25)
    return s


def node_affinity(r):
    """Node selectors, node affinity, and that of the configuration."""
    s = Scene(r, (6, 14)).build((0, 1))
    give_node_affinity(s)
    if r.chance(0.4):
        added = draw.node_affinity(r, s.names, 0.5, 0.7)
        s.config = with_args(NodeAffinity={"addedAffinity": added})
    return s


def node_name(r):
    """Waiting pods that name a node by its fields, often only one, or several at odds."""
    s = Scene(r, (5, 10)).build((0, 1))
    for pod in s.waiting:
        terms = [draw.node_term(r, s.names, 0.9) for _ in range(r.choice([1, 1, 2]))]
        if r.chance(0.1):  # two names at once
            fields = [{"key": "metadata.name", "operator": "In"} for _ in range(2)]
            for field, name in zip(fields, r.sample(s.names, 2), strict=True):
                field["values"] = [name]
            terms = [{"matchFields": fields}]
        rule = {"nodeSelectorTerms": terms}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": rule}
        pod["spec"]["affinity"] = {"nodeAffinity": required}
    give_taints(s, 0.2)
    return s


def host_ports(r):
    """Host ports with addresses and protocols."""
    s = Scene(r, (4, 9)).build((1, 3))
    give_ports(s)
    return s


def host_addresses(r):
    """The same port on several addresses of a node, in containers and sidecars."""
    s = Scene(r, (4, 8)).build((1, 2))
    addresses = ["127.0.0.1", "10.0.0.1", "10.0.0.2", "0.0.0.0", "::"]
    for pod in s.pods:
        spec = pod["spec"]
        container = spec["containers"][0]
        if r.chance(0.5):
            container = draw.container(r, "i0", {})
            container["restartPolicy"] = "Always"
            spec["initContainers"] = [container]
        port = {"containerPort": 80, "hostPort": 80, "hostIP": r.choice(addresses)}
        if r.chance(0.3):
            port["protocol"] = r.choice(["TCP", "UDP"])
        container["ports"] = [port]
    return s


def images(r):
    """Images of nodes, by all their names."""
    s = Scene(r, (4, 9)).build((0, 1))
    give_images(s)
    return s


def spread(r):
    """Topology spread with all its fields."""
    s = Scene(r, (5, 12), ["ml", "ml", "default"]).build((1, 4))
    if r.chance(0.7):
        give_taints(s, 0.4)
    if r.chance(0.7):
        give_node_affinity(s, 0.5)
    give_spread(s, r.choice([0.2, 0.5, 0.9]))
    return s


def spread_tight(r):
    """Spread of one application, where one pod more or less tips the skew."""
    s = Scene(r, (6, 12), ["ml"]).build((0, 3))
    for i, node in enumerate(s.nodes):
        node["metadata"]["labels"].update({ZONE: f"z{i % 2}", "rack": f"r{i % 3}"})
        node["metadata"]["labels"]["disk"] = "ssd" if i % 2 else "hdd"
        if i % 4 == 3:
            node["spec"]["taints"] = [{"key": "a", "value": "1", "effect": "NoSchedule"}]
    lean = r.choice(["z0", "z1"])
    for pod in s.pods:
        pod["metadata"]["labels"].update(app="train", rev=r.choice(["1", "2"]))
    zone_of = {n["metadata"]["name"]: n["metadata"]["labels"][ZONE] for n in s.nodes}
    places = [p for p in s.running if zone_of.get(p["spec"]["nodeName"]) != lean or r.chance(0.4)]
    s.running = places
    for pod in s.waiting:
        constraint = {
            "maxSkew": r.choice([1, 1, 2]),
            "topologyKey": r.choice([ZONE, ZONE, "rack", HOST]),
            "whenUnsatisfiable": r.choice(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": {"matchLabels": {"app": "train"}},
        }
        if r.chance(0.3):
            constraint["labelSelector"] = {"matchExpressions": [draw.pod_expression(r)]}
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and r.chance(0.4):
            constraint["minDomains"] = r.randint(3, 5)
        if r.chance(0.3):
            constraint["matchLabelKeys"] = ["rev"]
        if r.chance(0.4):
            constraint["nodeAffinityPolicy"] = r.choice(["Ignore", "Ignore", "Ignore", "Honor"])
            pod["spec"]["nodeSelector"] = {"disk": "ssd"}
        if r.chance(0.5):
            constraint["nodeTaintsPolicy"] = r.choice(["Honor", "Honor", "Honor", "Ignore"])
        pod["spec"]["topologySpreadConstraints"] = [constraint]
        if r.chance(0.3):  # two constraints at once, of which one looks at fewer nodes
            other = {**constraint, "topologyKey": r.choice([ZONE, "rack", HOST])}
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                constraint[policy], other[policy] = r.sample(["Honor", "Ignore"], 2)
            pod["spec"]["nodeSelector"] = {"disk": "ssd"}
            if other["topologyKey"] != constraint["topologyKey"]:
                pod["spec"]["topologySpreadConstraints"].append(other)
        if r.chance(0.2):
            pod["spec"]["tolerations"] = [{"operator": "Exists"}]
    for pod in s.waiting:
        if r.chance(0.3):  # the same constraints, for which other nodes count
            pod["spec"] = copy.deepcopy(r.choice(s.waiting)["spec"])
            if pod["spec"].pop("tolerations", None) is None:
                pod["spec"]["tolerations"] = [{"operator": "Exists"}]
    for pod in s.running:
        if r.chance(0.15):
            draw.terminating(r, pod)
    return s


def default_spread(r):
    """Default constraints, the system's and the configuration's, for Services and controllers."""
    s = Scene(r, (4, 10), ["ml", "ml", "default"]).build((1, 3))
    s.others = draw.controllers(r, ["ml", "default"])
    for pod in s.pods:
        pod["metadata"]["labels"] = {k: r.choice(["web", "1"]) for k in ("app", "rev")}
        if r.chance(0.7):
            pod["metadata"]["ownerReferences"] = [draw.owner(r)]
        if "nodeName" not in pod["spec"] and r.chance(0.1):
            pod["spec"]["topologySpreadConstraints"] = draw.spread_constraints(r, pod)
    if r.chance(0.6):
        constraints = {}
        for _ in range(r.randint(1, 2)):
            constraint = draw.spread_constraint(r)
            for field in ("labelSelector", "matchLabelKeys"):
                constraint.pop(field, None)
            key = (constraint["topologyKey"], constraint["whenUnsatisfiable"])
            constraints.setdefault(key, constraint)
        args = {"defaultingType": "List", "defaultConstraints": list(constraints.values())}
        s.config = with_args(PodTopologySpread=args)
    return s


def pod_affinity(r):
    """Inter-pod affinity of waiting and running pods with all its fields."""
    s = Scene(r, (5, 12)).build((0, 3))
    give_pod_affinity(s)
    if r.chance(0.5):
        args = {"hardPodAffinityWeight": r.choice([0, 1, 100, r.randint(0, 100)])}
        if r.chance(0.4):
            args["ignorePreferredTermsOfExistingPods"] = True
        s.config = with_args(InterPodAffinity=args)
    return s


def pod_affinity_tight(r):
    """One rule a pod, among pods that it hits."""
    s = Scene(r, (5, 8), ["ml", "ml", "prod", "bare"]).build((0, 2))
    for i, node in enumerate(s.nodes):
        node["metadata"]["labels"].update({ZONE: f"z{i % 3}", "rack": f"r{i % 2}"})
    for pod in s.pods:
        pod["metadata"]["labels"] = {"app": r.choice(["web", "db"]), "rev": r.choice(["1", "2"])}
        if "nodeName" in pod["spec"] and r.chance(0.3):
            continue
        term = {
            "topologyKey": r.choice([ZONE, "rack", HOST, HOST]),
            "labelSelector": r.choice(
                [
                    {"matchLabels": {"app": r.choice(["web", "db"])}},
                    {"matchExpressions": [draw.pod_expression(r)]},
                    {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}},
                ]
            ),
        }
        part = r.choice(
            ["namespaces", "namespaceSelector", "matchLabelKeys", "mismatchLabelKeys", ""]
        )
        if part == "namespaces":
            term[part] = r.some(["ml", "prod", "bare"], 1, 2)
        elif part == "namespaceSelector":
            term[part] = draw.namespace_selector(r)
        elif part and "rev" not in json.dumps(term):
            term[part] = ["rev"]
        kind = r.choice(["podAffinity", "podAntiAffinity"])
        if r.chance(0.6):
            rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        else:
            weighted = [{"weight": r.randint(1, 100), "podAffinityTerm": term}]
            rules = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
        pod["spec"]["affinity"] = {kind: rules}
    return s


def pod_affinity_scope(r):
    """Terms that differ in which pods they select: by label keys or by namespaces."""
    part = r.choice(["matchLabelKeys", "mismatchLabelKeys", "namespaces", "namespaceSelector"])
    spaces = ["ml"] if part.endswith("LabelKeys") else ["ml", "prod", "bare"]
    s = Scene(r, (4, 7), spaces).build((1, 2))
    for i, node in enumerate(s.nodes):
        node["metadata"]["labels"].update({ZONE: f"z{i % 3}", HOST: s.names[i]})
    kinds = r.choice([["podAffinity"], ["podAntiAffinity"], ["podAffinity", "podAntiAffinity"]])
    required = r.choice([0.2, 0.5, 0.8])
    for pod in s.pods:
        pod["metadata"]["labels"] = {"app": "web", "rev": r.choice(["1", "2"])}
        if r.chance(0.5):
            continue
        term = {"topologyKey": r.choice([ZONE, HOST]), "labelSelector": {}}
        term["labelSelector"] = r.choice(
            [
                {"matchLabels": {"app": "web"}},
                {"matchLabels": {"app": "web"}},
                {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
            ]
        )
        if part.endswith("LabelKeys"):
            term[part] = ["rev"]
        elif part == "namespaces":
            term[part] = r.some(["ml", "prod", "bare"], 1, 2)
        else:
            term[part] = draw.namespace_selector(r)
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        if not r.chance(required):
            weighted = [{"weight": r.randint(1, 100), "podAffinityTerm": term}]
            rules = {"preferredDuringSchedulingIgnoredDuringExecution": weighted}
        pod["spec"]["affinity"] = {r.choice(kinds): rules}
    if r.chance(0.5):
        s.config = with_args(InterPodAffinity={"hardPodAffinityWeight": r.choice([0, 10, 100])})
    return s


def profiles(r):
    """Several profiles, and pods of one that isn't there."""
    s = mixed(r)
    chosen = [{"schedulerName": "default-scheduler"}]
    for name in ("packing", "other"):
        profile = {"schedulerName": name}
        strategy = scoring_strategy(r)
        args = {"scoringStrategy": strategy}
        profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]
        disabled = [{"name": n} for n in r.some(SCORE_PLUGINS, 1, 3)]
        profile["plugins"] = {"score": {"disabled": disabled}}
        chosen.append(profile)
    s.config = configuration(profiles=chosen)
    for pod in s.waiting:
        pod["spec"]["schedulerName"] = r.choice(["default-scheduler", "packing", "other", "absent"])
    return s


def plugin_sets(r):
    """Plugins disabled, reordered, with other weights, at every point."""
    s = mixed(r)
    plugins = {}

    def disable(point, known, probability):
        if r.chance(probability):
            plugins[point] = {"disabled": [{"name": n} for n in r.some(known, 1, 2)]}

    disable("preScore", SCORE_PLUGINS[:6], 0.2)
    disable("filter", FILTER_PLUGINS, 0.3)
    disable("score", SCORE_PLUGINS, 0.3)
    if r.chance(0.15):
        disable("preFilter", FILTER_PLUGINS, 1)
    weights = lambda: {"weight": r.choice([1, 2, 3, 7, 50, 100])} if r.chance(0.8) else {}  # noqa: E731
    if r.chance(0.4):
        enabled = [{"name": n, **weights()} for n in r.some(SCORE_PLUGINS, 1, 6)]
        plugins["score"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    elif r.chance(0.5):
        enabled = [{"name": n, **weights()} for n in r.some(SCORE_PLUGINS, 1, 3)]
        plugins.setdefault("score", {})["enabled"] = enabled
    if r.chance(0.25):
        enabled = [{"name": n} for n in r.some(FILTER_PLUGINS, 2, 8)]
        plugins["filter"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if r.chance(0.2):
        plugins["multiPoint"] = {"disabled": [{"name": r.choice(SCORE_PLUGINS + FILTER_PLUGINS)}]}
    elif r.chance(0.15):
        names = r.some(sorted({*SCORE_PLUGINS, *FILTER_PLUGINS}), 2, 9)
        enabled = ["PrioritySort", "DefaultBinder", "SchedulingGates", *names]
        plugins["multiPoint"] = {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": n, **(weights() if n in SCORE_PLUGINS else {})} for n in enabled],
        }
    s.config = configuration({"plugins": plugins})
    return s


def mixed(r):
    """A little of everything."""
    s = Scene(r, (5, 14)).build((0, 2), allocatable=lambda: scarce(r))
    parts = [
        lambda: give_taints(s, 0.3),
        lambda: give_node_affinity(s, 0.3),
        lambda: give_ports(s, 0.2),
        lambda: give_images(s),
        lambda: give_spread(s, 0.4, 0.4),
        lambda: give_pod_affinity(s, 0.3, 0.2, 0.3, 0.4),
        lambda: give_resources(s, 0.2),
        lambda: cordon(s, 0.1),
        lambda: s.others.extend(draw.controllers(r, NAMESPACES)),
    ]
    for part in r.some(parts, 3, 6):
        part()
    return s


def empty(r):
    """No node at all, or one or two, and pods on nodes that are gone."""
    s = Scene(r, (0, 2)).build((0, 2), 4)
    for i in range(r.randint(0, 3)):
        s.running.append(draw.pod(r, f"g{i:04d}", r.choice(["ghost", "gone"])))
    if r.chance(0.5):
        give_pod_affinity(s)
    if r.chance(0.5):
        give_spread(s)
    s.mode = r.choice(["explain", "explain", "place", "preempt", "cycle"])
    return s


def large(r):
    """More nodes than are sampled, all of them looked at."""
    s = Scene(r, (101, 250)).build((0, 1), 5, lambda: scarce(r))
    r.choice([give_spread, give_taints, give_node_affinity, give_images, give_ports])(s)
    return s


def admission(r):
    """What the API server adds to a pod: limits, priorities, host ports; gates and profiles."""
    s = Scene(r, (3, 7)).build((1, 3), 10, lambda: scarce(r))
    s.mode = r.choice(["explain", "preempt", "preempt"])
    s.others = priority_classes(r)
    give_resources(s, 0.1)
    for pod in s.pods:
        spec = pod["spec"]
        if r.chance(0.6):
            known = ["high", "low", "never", "below", "system-cluster-critical"]
            spec["priorityClassName"] = r.choice([*known, "system-node-critical"])
        elif r.chance(0.5):
            spec["priority"] = r.choice([0, 5, -5, 1000, 2000000000, -2147483648])
        if "nodeName" in spec:
            hour = r.randint(0, 23)
            pod["status"]["startTime"] = f"2026-01-01T{hour:02d}:{r.randint(0, 59):02d}:00Z"
            continue
        if r.chance(0.2):
            spec["preemptionPolicy"] = r.choice(["Never", "PreemptLowerPriority"])
        if r.chance(0.1):
            spec["schedulingGates"] = [
                {"name": f"example.com/g{i}"} for i in range(r.randint(1, 2))
            ]
        if r.chance(0.1):
            spec["schedulerName"] = r.choice(["other", "default-scheduler", ""])
        if r.chance(0.1):
            pod["status"] = {"phase": r.choice(["Pending", "Succeeded", "Failed"])}
        if r.chance(0.05):
            draw.terminating(r, pod)
    return s


def nominate(s, probability):
    """Nominates waiting pods to nodes, now and then to one that isn't there."""
    for pod in s.waiting:
        if s.r.chance(probability):
            node = s.r.choice([*s.names, s.r.choice([*s.names, "ghost"])])
            pod["status"] = {"nominatedNodeName": node}


def nominated(r):
    """Pods nominated to nodes that other pods would like as well."""
    s = Scene(r, (3, 6)).build((0, 2), 8, lambda: {"cpu": "4", "memory": "16Gi", "pods": "5"})
    s.mode = r.choice(["explain", "preempt"])
    for pod in s.pods:
        running = "nodeName" in pod["spec"]
        pod["spec"]["priority"] = r.choice([0, 0, 10, 100])
        requests = {"cpu": r.choice(["500m", "1"] if running else ["1", "2", "3"])}
        pod["spec"]["containers"] = [draw.container(r, "c", requests)]
        if running:
            pod["status"]["startTime"] = f"2026-01-01T{r.randint(0, 23):02d}:00:00Z"
            if r.chance(0.15):
                draw.terminating(r, pod)
    nominate(s, 0.5)
    for pod in s.waiting:
        if r.chance(0.1):  # a scheduler leaves no room for what another one places
            pod["spec"]["schedulerName"] = "other"
    part = r.random()
    if part < 0.2:
        give_pod_affinity(s, 0.6, 0.2, 0.6, 0.2)
    elif part < 0.4:
        give_spread(s, 0.9, 0.6)
    elif part < 0.55:
        give_ports(s, 0.4)
    elif part < 0.8:  # also on nodes that lack the key
        for pod in s.pods:
            pod["metadata"]["labels"] = {"app": r.choice(["web", "db"])}
        for node in s.nodes:
            if r.chance(0.3):
                node["metadata"]["labels"].pop(HOST, None)
        give_tight_affinity(s)
    return s


def fill(s, priorities):
    """Fills nodes with running pods of whole cores and GPUs, so that removing some helps."""
    r = s.r
    s.running = []
    for node in s.nodes:
        free = int(node["status"]["allocatable"]["cpu"])
        gpus = int(node["status"]["allocatable"]["nvidia.com/gpu"])
        while free > 0:
            name = f"b{len(s.running):04d}"
            pod = draw.pod(r, name, node["metadata"]["name"], s.namespaces)
            cores = r.choice([c for c in (1, 1, 2, 3) if c <= free])
            free -= cores
            requests = {"cpu": str(cores), "memory": "256Mi"}
            container = draw.container(r, "c", requests)
            if gpus and r.chance(0.5):
                used = r.choice([g for g in (1, 2, 4) if g <= gpus])
                gpus -= used
                requests["nvidia.com/gpu"] = str(used)
                container["resources"]["limits"] = {"nvidia.com/gpu": str(used)}
            pod["spec"]["containers"] = [container]
            pod["spec"]["priority"] = r.choice(priorities)
            hour = r.randint(0, 23)
            pod["status"]["startTime"] = f"2026-01-01T{hour:02d}:{r.randint(0, 59):02d}:00Z"
            s.running.append(pod)


def full_node(r):
    """Draws what a node offers that will be filled."""
    return {
        "cpu": r.choice(["3", "4", "6"]),
        "memory": "32Gi",
        "pods": r.choice(["110", "110", "4"]),
        "nvidia.com/gpu": r.choice(["2", "4", "8"]),
    }


def preempt(r):
    """Full nodes, and waiting pods of higher priority; disruption budgets."""
    s = Scene(r, (3, 8)).build((0, 0), 8, lambda: full_node(r))
    s.mode = "preempt"
    fill(s, r.choice([[0, 1, 5, 10], [0, 10], [5], [-10, 0, 100, 2000]]))
    for pod in s.waiting:
        spec = pod["spec"]
        requests = {"cpu": r.choice(["1", "2", "3", "4"]), "memory": "512Mi"}
        if r.chance(0.4):
            requests["nvidia.com/gpu"] = r.choice(["1", "2"])
        spec["containers"] = [draw.container(r, "c", requests)]
        if "nvidia.com/gpu" in requests:
            limits = {"nvidia.com/gpu": requests["nvidia.com/gpu"]}
            spec["containers"][0]["resources"]["limits"] = limits
        spec["priority"] = r.choice([1, 5, 10, 100, 1000, 1000])
        if r.chance(0.12):
            spec["preemptionPolicy"] = r.choice(["Never", "Never", "PreemptLowerPriority"])
    if r.chance(0.3):
        s.others.extend(priority_classes(r))
        for pod in s.pods:
            known = ["low", "below"] if "nodeName" in pod["spec"] else ["high", "low", "never", ""]
            pod["spec"].pop("priority", None)
            name = r.choice(known)
            if name:  # without one the default class counts
                pod["spec"]["priorityClassName"] = name
    for pod in s.running:
        if r.chance(0.08):  # no budget counts it
            del pod["metadata"]["labels"]
    for i in range(r.randint(0, 4)):
        s.others.append(disruption_budget(s, f"pdb{i}"))
    args = {}
    if r.chance(0.3):
        args["minCandidateNodesPercentage"] = r.choice([0, 10, 50, 100])
    if r.chance(0.3):
        args["minCandidateNodesAbsolute"] = r.choice([1, 2, 3, 100])
    if args.get("minCandidateNodesPercentage", 1) + args.get("minCandidateNodesAbsolute", 1) == 0:
        args = {}
    if args:
        s.config = with_args(DefaultPreemption=args)
    return s


def disruption_budget(s, name):
    """Draws a disruption budget of the scene's pods."""
    r = s.r
    namespace = r.choice(s.namespaces)
    status = {
        "disruptionsAllowed": r.choice([0, 0, 1, 2]),
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    names = [p["metadata"]["name"] for p in s.running if p["metadata"]["namespace"] == namespace]
    if names and r.chance(0.4):
        chosen = r.some(names, 1, 2)
        status["disruptedPods"] = dict.fromkeys(chosen, "2026-01-01T00:00:00Z")
    spec = {"selector": draw.label_selector(r)} if r.chance(0.95) else {}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }


def preempt_rules(r):
    """Preemption where removing a pod changes what spread, affinity and ports say."""
    s = preempt(r)
    part = r.choice(["affinity", "spread", "ports", "nodes"])
    if part == "affinity":
        give_pod_affinity(s, 0.8, 0.3, 0.7, 0.0)
    elif part == "spread":
        give_spread(s, 1.0, 0.8, 0.0)
    elif part == "ports":
        give_ports(s, 0.7)
    else:
        give_taints(s, 0.3)
        give_node_affinity(s, 0.4)
        cordon(s, 0.15)
    return s


def preempt_budgets(r):
    """Equal pods on full nodes, where budgets and the finer criteria decide."""
    there = {"cpu": "4", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "0"}
    s = Scene(r, (2, 4), ["ml"]).build((0, 0), 8, lambda: there)
    s.mode = "preempt"
    fill(s, r.choice([[5], [0, 5], [5, 5, -2147483648], [5, -2147483648]]))
    for pod in s.running:
        pod["metadata"]["labels"] = {"app": r.choice(["web", "web", "db"])}
        if r.chance(0.2):
            del pod["metadata"]["labels"]
    for pod in s.waiting:
        requests = {"cpu": r.choice(["1", "2", "3", "4"]), "memory": "512Mi"}
        pod["spec"]["containers"] = [draw.container(r, "c", requests)]
        pod["spec"]["priority"] = 10
    selectors = [{"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}}]
    if r.chance(0.3):
        selectors = [{"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}]
    for i, selector in enumerate(selectors[: r.randint(1, 2)]):
        budget = disruption_budget(s, f"pdb{i}")
        budget["spec"]["selector"] = selector
        s.others.append(budget)
    if r.chance(0.4):
        args = {"minCandidateNodesPercentage": r.choice([0, 50, 100])}
        args["minCandidateNodesAbsolute"] = r.choice([1, 1, 2])
        s.config = with_args(DefaultPreemption=args)
    return s


def preempt_tight(r):
    """Room enough, but one pod more or less tips the skew, or an affinity."""
    spaces = ["ml", "ml", "ml", "prod"]
    s = Scene(r, (2, 6), spaces).build((1, 4), 8)
    s.mode = "preempt"
    for i, node in enumerate(s.nodes):
        node["metadata"]["labels"].update(
            {ZONE: f"z{i % 2}", HOST: s.names[i], "rack": f"r{i // 2}"}
        )
    without_taints = r.chance(0.4)  # then a node may be left out of the counts and still be open
    if without_taints:
        off = {"filter": {"disabled": [{"name": "TaintToleration"}]}}
        s.config = configuration({"plugins": off})
    if r.chance(0.7):  # hardly any pod runs in the other zone, where none may go
        for node in s.nodes[1::2]:
            node["spec"]["taints"] = [{"key": "a", "value": "1", "effect": "NoSchedule"}]
        away = set(s.names[1::2])
        kept = 0.8 if without_taints else 0.3
        s.running = [p for p in s.running if p["spec"]["nodeName"] not in away or r.chance(kept)]
    for pod in s.pods:
        pod["metadata"]["labels"] = {"app": r.choice(["web", "web", "web", "db"])}
        running = "nodeName" in pod["spec"]
        pod["spec"]["priority"] = r.choice([0, 1, 5, 50, 50] if running else [10, 10, 100])
        if running:
            pod["status"] = {"startTime": f"2026-01-01T{r.randint(0, 23):02d}:00:00Z"}
            if r.chance(0.15):
                draw.terminating(r, pod)
    part = r.random()
    if part < 0.45:
        give_tight_spread(s, 0.7 if without_taints else 0.3)
    elif part < 0.65:
        give_tight_ports(s)
    else:
        give_tight_affinity(s)
    if r.chance(0.4):
        nominate(s, 0.4)
    return s


def give_tight_spread(s, honor):
    """Gives waiting pods a hard constraint on pods of one application."""
    r = s.r
    for pod in s.waiting:
        constraint = {
            "maxSkew": r.choice([1, 1, 2]),
            "topologyKey": r.choice([ZONE, HOST, "rack", "rack"]),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
        if r.chance(0.3):
            constraint["minDomains"] = r.choice([2, 3, 7])
        if r.chance(honor):
            constraint["nodeTaintsPolicy"] = "Honor"
        pod["spec"]["topologySpreadConstraints"] = [constraint]


def give_tight_ports(s):
    """Has important pods hold a port, or the last place of a node."""
    r = s.r
    for pod in s.pods:
        if r.chance(0.7 if "nodeName" in pod["spec"] else 0.8):
            pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    for node in s.nodes:
        pods = s.node_objects(node["metadata"]["name"])
        important = sum(pod["spec"]["priority"] == 50 for pod in pods)
        if important and r.chance(0.5):
            node["status"]["allocatable"]["pods"] = str(important)


def give_tight_affinity(s):
    """Gives pods one required rule each: to, against or of pods of one application."""
    r = s.r
    for pod in s.pods:
        if "nodeName" in pod["spec"] and r.chance(0.6):
            continue
        kind = "podAntiAffinity" if r.chance(0.7) else "podAffinity"
        selector = {"matchLabels": {"app": r.choice(["web", "web", "db"])}}
        terms = [{"topologyKey": r.choice([ZONE, HOST, HOST]), "labelSelector": selector}]
        rules = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        pod["spec"]["affinity"] = {kind: rules}
        if "nodeName" not in pod["spec"] and r.chance(0.3):
            selector = {"matchLabels": {"app": "web"}}
            near = {"topologyKey": HOST, "labelSelector": selector}
            rules = {"requiredDuringSchedulingIgnoredDuringExecution": [near]}
            pod["spec"]["affinity"]["podAffinity"] = rules


def preempt_nominated(r):
    """Preemption next to nominated pods, and of pods that are nominated already."""
    s = preempt(r)
    nominate(s, 0.6)
    for pod in s.running:
        if r.chance(0.3):
            draw.terminating(r, pod, preempted=r.chance(0.7))
        elif r.chance(0.1):
            draw.disrupted(r, pod)
    return s


def place(r):
    """Many pods, one after another, by priority."""
    s = Scene(r, (4, 12)).build((0, 1), 40, lambda: scarce(r))
    s.mode = "place"
    for pod in s.waiting:
        pod["spec"]["priority"] = r.choice([0, 0, 10, 100, -5])
        requests = {"cpu": r.choice(["250m", "0.5", "1", "2"]), "memory": r.choice(["1Gi", "2Gi"])}
        if r.chance(0.2):
            requests["nvidia.com/gpu"] = "1"
        pod["spec"]["containers"] = [draw.container(r, "c", requests)]
        if r.chance(0.05):
            draw.terminating(r, pod)
    for part in r.some([give_spread, give_taints, give_node_affinity, give_ports], 0, 2):
        part(s)
    return s


def place_affinity(r):
    """Many pods, one after another, that attract and repel each other."""
    s = place(r)
    give_pod_affinity(s, 0.5, 0.3)
    return s


def place_replicas(r):
    """Replicas of a few pods, one after another: what is known of one helps with the next."""
    s = Scene(r, (66, 110) if r.chance(0.3) else (6, 24), ["ml", "ml", "prod"])
    s.build((0, 2), r.randint(1, 3))
    s.mode = "place"
    if r.chance(0.5):  # labels that each node has
        for i, node in enumerate(s.nodes):
            node["metadata"]["labels"].update({ZONE: f"z{i % 3}", HOST: s.names[i]})
    give_sizes(s)
    parts = [
        lambda: give_spread(s, 0.5, 0.7),
        lambda: give_own_spread(s),
        lambda: give_own_spread(s),
        lambda: give_tight_spread(s, 0.4),
        lambda: give_pod_affinity(s, 0.7, 0.2, 0.4, 0.6),
        lambda: give_own_affinity(s),
        lambda: give_own_affinity(s),
        lambda: give_tight_affinity(s),
        lambda: give_taints(s, 0.4),
        lambda: give_preferences(s),
        lambda: give_ports(s, 0.3),
        lambda: give_images(s),
        lambda: s.others.extend(draw.controllers(r, NAMESPACES)),
    ]
    for part in r.some(parts, 1, 4):
        part()
    s.waiting.extend(twin(s, pod) for pod in r.some(s.waiting, 1, 2))
    if r.chance(0.4):  # the node that scores best by itself has pods of the kind
        strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
        s.config = with_args(NodeResourcesFit={"scoringStrategy": strategy})
    if r.chance(0.3):
        for pod in s.waiting:
            pod["spec"]["priority"] = r.choice([0, 10, 100])
    s.waiting = replicas(r, s.waiting, 24)
    return s


def place_packed(r):
    """Many small pods on few nodes, each of which fills up step by step."""
    there = {"cpu": "10", "memory": "10Gi", "pods": "110"}
    s = Scene(r, (2, 4)).build((0, 1), 2, lambda: there)
    s.mode = "place"
    for pod in s.waiting:
        requests = {"cpu": r.choice(["100m", "150m"]), "memory": r.choice(["103Mi", "155Mi"])}
        pod["spec"]["containers"] = [draw.container(r, "c", requests)]
    if r.chance(0.2):
        give_spread(s, 0.3, 0.5)
    strategy = scoring_strategy(r, "RequestedToCapacityRatio")
    if r.chance(0.85):
        strategy = {"type": "MostAllocated"}
    s.config = with_args(NodeResourcesFit={"scoringStrategy": strategy})
    s.waiting = replicas(r, s.waiting[: r.choice([1, 1, 1, 2])], 95)
    return s


def give_sizes(s):
    """Has pods ask for more or less."""
    r = s.r
    for pod in s.waiting:
        requests = {"cpu": r.choice(["100m", "500m", "1", "3"])}
        if r.chance(0.8):
            requests["memory"] = r.choice(["200Mi", "1Gi", "4Gi"])
        pod["spec"]["containers"] = [draw.container(r, "c", requests)]


def give_own_spread(s):
    """Spreads waiting pods over nodes and zones by applications, mostly as a preference."""
    r = s.r
    for pod in s.waiting:
        pod["metadata"]["labels"] = {"app": r.choice(["web", "web", "db"])}
        selector = {"matchLabels": {"app": r.choice(["web", "web", "db"])}}
        constraints = pod["spec"]["topologySpreadConstraints"] = []
        soft = r.chance(0.5)
        for key in r.choice([[HOST, ZONE], [HOST, ZONE], [HOST], [ZONE], ["rack"]]):
            hard = not soft and r.chance(0.7)
            constraint = {
                "maxSkew": r.choice([1, 1, 2]),
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
                "labelSelector": selector,
            }
            if r.chance(0.3):
                constraint["nodeTaintsPolicy"] = "Honor"
            constraints.append(constraint)


def give_own_affinity(s):
    """Has waiting pods prefer, or avoid, the domains of applications."""
    r = s.r
    for pod in s.waiting:
        pod["metadata"]["labels"] = {"app": r.choice(["web", "web", "db"])}
        affinity = pod["spec"].setdefault("affinity", {})
        for kind in r.some(["podAffinity", "podAntiAffinity"], 1, 2):
            rules = []
            for key in r.some([ZONE, HOST, "rack"], 1, 2):
                selector = {"matchLabels": {"app": r.choice(["web", "web", "db"])}}
                term = {"topologyKey": key, "labelSelector": selector}
                rules.append({"weight": r.choice([1, 2, 10]), "podAffinityTerm": term})
            affinity[kind] = {"preferredDuringSchedulingIgnoredDuringExecution": rules}


def give_preferences(s):
    """Gives waiting pods preferences for labels of nodes, and nodes taints that are avoided."""
    r = s.r
    for node in s.nodes:
        if r.chance(0.4):
            node["spec"]["taints"] = [
                {"key": key, "value": "1", "effect": "PreferNoSchedule"}
                for key in r.some(["a", "b"], 1, 2)
            ]
    for pod in s.waiting:
        terms = [
            {"weight": r.choice([1, 10, 50]), "preference": draw.node_term(r, s.names, 0)}
            for _ in range(r.randint(1, 3))
        ]
        rule = {"preferredDuringSchedulingIgnoredDuringExecution": terms}
        pod["spec"].setdefault("affinity", {})["nodeAffinity"] = rule
        if r.chance(0.3):
            pod["spec"]["tolerations"] = [{"key": "a", "operator": "Exists"}]


def twin(s, pod):
    """Copies a pod, and changes one thing that it asks for."""
    r = s.r
    out = copy.deepcopy(pod)
    spec = out["spec"]
    parts = ["tolerations"] * 3
    parts += ["nodeSelector", "labels", "namespace", "ownerReferences", "init"]
    parts += ["affinity"] if "affinity" in spec else []
    parts += ["spread"] * 3 if "topologySpreadConstraints" in spec else []
    part = r.choice(parts)
    if part == "tolerations":
        spec[part] = [{"key": "a", "operator": "Exists"}]
        for node in s.nodes:
            if r.chance(0.4):
                effect = r.choice(["NoSchedule", "PreferNoSchedule"])
                node["spec"]["taints"] = [{"key": r.choice(["a", "b"]), "effect": effect}]
    elif part == "nodeSelector":
        spec[part] = {"disk": r.choice(["ssd", "hdd"])}
    elif part == "labels":
        out["metadata"]["labels"] = draw.pod_labels(r)
    elif part == "namespace":
        out["metadata"][part] = "prod" if out["metadata"][part] == "ml" else "ml"
    elif part == "ownerReferences":
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o0", "uid": "u"}
        out["metadata"][part] = [{**owner, "controller": True}]
    elif part == "init":
        spec["initContainers"] = [draw.container(r, "i0", {"cpu": "4"})]
    elif part == "affinity":
        del spec[part]
    elif r.chance(0.5):
        del spec["topologySpreadConstraints"]
    else:
        constraint = r.choice(spec["topologySpreadConstraints"])
        constraint["maxSkew"] = r.choice([1, 2, 3, 5])
    return out


def replicas(r, pods, number):
    """Copies pods, in random order, until there are so many."""
    out = []
    for i in range(number):
        out.append(copy.deepcopy(r.choice(pods)))
        out[-1]["metadata"]["name"] = f"p{i:04d}"
    return out


def sampled(r):
    """Sampling of nodes: from which node on, how many, in the order of zones."""
    roomy = r.chance(0.3)  # more nodes fit than are looked at
    s = Scene(r, (90, 420)).build((0, 0), 12, None if roomy else lambda: scarce(r))
    s.mode = "cycle"
    zones = r.choice([["z1"], ["z1", "z2"], ["z1", "z2", "z3", "z4", ""]])
    for node in s.nodes:
        labels = node["metadata"]["labels"]
        labels.pop(ZONE, None)
        if r.chance(0.9):
            labels[ZONE] = r.choice(zones)
        if r.chance(0.3):
            labels["topology.kubernetes.io/region"] = r.choice(["r1", "r2"])
        if r.chance(0.1):
            labels["failure-domain.beta.kubernetes.io/zone"] = r.choice(["z1", "z9"])
    for pod in s.waiting:
        spec = pod["spec"]
        requests = {"cpu": r.choice(["500m", "1", "3", "5"]), "memory": r.choice(["1Gi", "7Gi"])}
        spec["containers"] = [draw.container(r, "c", requests)]
        if r.chance(0.3):
            spec["nodeSelector"] = draw.node_selector(r)
        if r.chance(0.15):
            terms = [draw.node_term(r, s.names, 0.9)]
            rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            spec["affinity"] = {"nodeAffinity": rule}
    if r.chance(0.5):
        nominate(s, 0.4)
    if r.chance(0.3):
        give_spread(s, 0.5, 0.5)
    percentage = r.choice([None, None, 0, 5, 20, 50, 90, 100])
    if roomy:
        percentage = r.choice([None, 0, 30, 60])
    fields = {} if percentage is None else {"percentageOfNodesToScore": percentage}
    profile = {"percentageOfNodesToScore": r.choice([0, 10, 40, 100])} if r.chance(0.4) else {}
    point = r.random()
    if point < 0.2:  # then one node is enough, or every node fits
        none = {"disabled": [{"name": "*"}]}
        profile["plugins"] = {"score": none} if point < 0.12 else {"filter": none}
    s.config = configuration(profile, **fields)
    return s


def vast(r):
    """So many nodes that the least percentage of them is looked at."""
    s = Scene(r, (5700, 6000)).build((0, 0), 6)
    s.mode = "cycle"
    for node in s.nodes:
        node["metadata"]["labels"] = {"disk": r.choice(["ssd", "hdd"])}
        node["status"] = {"allocatable": node["status"]["allocatable"]}
    for pod in s.waiting:
        if r.chance(0.5):
            pod["spec"]["nodeSelector"] = {"disk": "ssd"}
    return s


# Each kind with its share of the pods.
KINDS = {
    default: 2,
    resources: 8,
    resize: 5,
    strategies: 7,
    shapes: 4,
    extremes: 4,
    taints: 5,
    node_affinity: 5,
    node_name: 2,
    host_ports: 4,
    host_addresses: 2,
    images: 4,
    spread: 8,
    spread_tight: 6,
    default_spread: 5,
    pod_affinity: 8,
    pod_affinity_tight: 6,
    pod_affinity_scope: 8,
    profiles: 3,
    plugin_sets: 5,
    mixed: 8,
    empty: 1,
    large: 2,
    admission: 4,
    nominated: 4,
    preempt: 6,
    preempt_rules: 6,
    preempt_budgets: 12,
    preempt_tight: 22,
    preempt_nominated: 4,
    place: 3,
    place_affinity: 3,
    place_replicas: 24,
    place_packed: 5,
    sampled: 6,
    vast: 0.02,
}


def cases(pods, seed, kinds=None):
    """Yields cases until there are that many waiting pods, each kind getting its share."""
    chosen = [k for k in KINDS if kinds is None or k.__name__ in kinds]
    given = dict.fromkeys(chosen, 0)
    total = 0
    while total < pods:
        kind = min(chosen, key=lambda k: given[k] / KINDS[k])
        number = given[kind]
        name = f"{kind.__name__}-{number:05d}"
        scene = kind(Draw(f"{seed}-{name}"))
        # Pods that are being deleted, or have finished, get no answer.
        asked = sum(
            "deletionTimestamp" not in pod["metadata"]
            and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            for pod in scene.waiting
        )
        given[kind] += max(1, asked)
        total += asked
        yield {
            "name": name,
            "kind": kind.__name__,
            "mode": scene.mode,
            "cluster": scene.cluster(),
            "config": scene.config,
        }


def write(case, folder):
    """Writes a case as a folder of its name: cluster.json, config.yaml if any, and mode."""
    place = Path(folder) / case["name"]
    place.mkdir(parents=True)
    text = json.dumps(case["cluster"], separators=(",", ":"))
    (place / "cluster.json").write_text(text, encoding="utf-8")
    if case["config"] is not None:
        # JSON is YAML as well.
        text = json.dumps(case["config"], indent=1)
        (place / "config.yaml").write_text(text, encoding="utf-8")
    (place / "mode").write_text(case["mode"] + "\n", encoding="utf-8")
