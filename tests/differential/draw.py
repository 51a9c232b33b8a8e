"""Random parts of Kubernetes objects: values that one plugin or another looks at closely."""

import random

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
NAMESPACES = ["default", "ml", "prod"]
APPS = ["web", "db", "train", ""]
TIERS = ["gold", "silver", ""]
REVISIONS = ["1", "2", ""]
POD_LABELS = {"app": APPS, "tier": TIERS, "rev": REVISIONS}

# Label values of nodes; the numbers of `gen` include some that Gt and Lt can't or hardly parse.
NODE_LABELS = {
    ZONE: ["z1", "z2", "z3", ""],
    "rack": ["r1", "r2", "r3"],
    "gen": [
        "1",
        "9",
        "0",
        "007",
        "5",
        "12",
        "9223372036854775807",
        "9223372036854775808",
        "abc",
        "",
    ],
    "empty": ["", "", "a"],
    "disk": ["ssd", "hdd"],
    "x/y": ["1", "true", "a.b_c-d"],
}
TAINT_KEYS = ["a", "b", "dedicated", "node.kubernetes.io/unschedulable"]
TAINT_VALUES = ["1", "2", "", "-3", "x"]
# Of these every pod tolerates NoExecute, unless it says itself what it does.
NODE_CONDITIONS = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
IMAGES = [
    "nginx",
    "nginx:1",
    "nginx:latest",
    "reg.io/app",
    "reg.io/app:v1",
    "reg.io:5000/app",
    "reg.io:5000/app:v2",
    "reg.io/app@sha256:" + "ab" * 32,
    "reg.io:5000/app@sha256:" + "cd" * 32,
    "docker.io/library/nginx:latest",
    "a/b/c",
]
MIB = 1 << 20
IMAGE_SIZES = [0, 5 * MIB, 23 * MIB, 24 * MIB, 300 * MIB, 900 * MIB, 1500 * MIB, 3 << 30, 1 << 40]

# Names that are, or only look like, names of extended resources.
_LONG = ".".join(["a" * 60] * 4)  # 243 characters; "requests." in front must stay within 253
RESOURCES = [
    "nvidia.com/gpu",
    "example.com/foo",
    "foo",
    "kubernetes.io/x",
    "requests.foo",
    "requests.example.com/foo",
    "hugepages-2Mi",
    "hugepages-1Gi",
    "attachable-volumes-aws-ebs",
    "a.kubernetes.io/dev",
    "pods",
    "storage",
    "A.com/x",
    "example.com/" + "y" * 63,
    "example.com/" + "y" * 64,
    "sub.kubernetes.io.example/dev",
    "xkubernetes.io/y",
    "example.com/a/b",
    "example.com/-bad",
    "hugepages-",
    "requests.kubernetes.io/z",
    _LONG + "b/d",
    _LONG + ".b/d",
    _LONG + ".bb/d",
]

CPUS = [
    "100m",
    "250m",
    "1",
    "1500m",
    "0.1",
    "0.0001",
    "1n",
    "1u",
    "999u",
    "100.5m",
    "1e-3",
    "2e0",
    "1E-1",
    "0",
    "0.5",
    "2",
    "3",
    "1.0001",
    "1500000u",
    "1500000000n",
    "0.01k",
    "00.5",
    "+1",
    "0m",
    ".5",
    "5.",
]
MEMORIES = [
    "64Mi",
    "1Gi",
    "1.5Gi",
    "500M",
    "1e9",
    "1E9",
    "128974848",
    "1G",
    "1000m",
    "1500m",
    "1n",
    "1u",
    "0",
    "100Ki",
    "123456k",
    "0.5Gi",
    "2Gi",
    "3Gi",
    "1073741824000m",
    "5E-1",
    "0.001Gi",
    "1e3",
    ".5Gi",
    "200Mi",
    "4Gi",
]
PLAIN = {
    "cpu": ["250m", "500m", "1", "2"],
    "memory": ["256Mi", "1Gi", "2Gi", "3Gi"],
    "ephemeral-storage": ["1Gi", "4Gi", "10Gi"],
}
COUNTS = ["1", "2", "3", "0", "1500m", "4", "0.5", "1n"]
STORAGES = ["1Gi", "10G", "0", "500Mi", "100m", "5e9", "20Gi"]
HUGE_PAGES = ["0", "2Mi", "4Mi", "4Mi", "6Mi"]
# What the containers of resized pods ask for, and what they have meanwhile.
RESIZED = {
    "cpu": ["250m", "500m", "1"],
    "memory": ["512Mi", "1Gi", "2Gi"],
    "ephemeral-storage": ["1Gi", "2Gi"],
    "nvidia.com/gpu": ["1", "2"],
    "hugepages-2Mi": ["2Mi", "4Mi"],
}
GROWN = {
    "cpu": ["1500m", "3", "5"],
    "memory": ["3Gi", "5Gi", "9Gi"],
    "ephemeral-storage": ["5Gi", "20Gi"],
    "nvidia.com/gpu": ["3", "5"],
    "hugepages-2Mi": ["8Mi", "20Mi"],
}
# The resources that several pods and nodes of a cluster have.
COMMON = ["nvidia.com/gpu", "example.com/foo", "hugepages-2Mi", "hugepages-1Gi", "foo"]


class Draw(random.Random):
    """A seeded generator with the words that the generators of objects use."""

    def chance(self, probability):
        """Is true with that probability."""
        return self.random() < probability

    def some(self, values, least, most):
        """Draws between `least` and `most` different ones, in random order."""
        return self.sample(values, self.randint(least, min(most, len(values))))


def amount(r, resource):
    """Draws a quantity of that resource, often a strange spelling of one."""
    if resource in PLAIN and r.chance(0.5):
        return r.choice(PLAIN[resource])
    if resource == "cpu":
        return r.choice(CPUS)
    if resource == "memory":
        return r.choice(MEMORIES)
    if resource == "ephemeral-storage":
        return r.choice(STORAGES)
    if resource.startswith("hugepages-"):
        return r.choice(HUGE_PAGES)
    return r.choice(COUNTS)


def amounts(r, resources, least=0, most=3):
    """Draws quantities of some of the resources."""
    return {name: amount(r, name) for name in r.some(resources, least, most)}


def node_labels(r, name):
    """Draws labels of a node; any may be missing, and the hostname may be another."""
    labels = {}
    for key, values in NODE_LABELS.items():
        if r.chance(0.8):
            labels[key] = r.choice(values)
    if r.chance(0.9):
        labels[HOST] = name if r.chance(0.93) else r.choice(["h1", "h2", ""])
    return labels


def node(r, name, allocatable=None, **spec):
    """Makes a node; big if `allocatable` isn't given."""
    big = {"cpu": "16", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    amounts_there = dict(allocatable or big)
    out = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": node_labels(r, name)},
        "spec": spec,
        "status": {"capacity": dict(amounts_there), "allocatable": amounts_there},
    }
    if r.chance(0.3):  # the image of the plain pods
        out["status"]["images"] = [{"names": ["reg.io/app:v1"], "sizeBytes": 900 * MIB}]
    return out


def pod_labels(r):
    """Draws labels of a pod."""
    return {key: r.choice(values) for key, values in POD_LABELS.items() if r.chance(0.75)}


def container(r, name="c", requests=None):
    """Makes a container with little needs."""
    requests = {"cpu": "100m", "memory": "100Mi"} if requests is None else requests
    return {"name": name, "image": "reg.io/app:v1", "resources": {"requests": requests}}


def pod(r, name, node_name=None, namespaces=NAMESPACES):
    """Makes a small pod, running on `node_name` if that is given."""
    out = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": r.choice(namespaces),
            "labels": pod_labels(r),
        },
        "spec": {"containers": [container(r)]},
    }
    if node_name is not None:
        out["spec"]["nodeName"] = node_name
        out["status"] = {}
        if r.chance(0.05):
            phases = ["Succeeded", "Failed", "Succeeded", "Failed", "Pending", "Running", "Unknown"]
            out["status"]["phase"] = r.choice(phases)
    return out


def disrupted(r, target):
    """Gives a pod the condition that it is preempted, or about to go for another reason."""
    reason = r.choice([*["PreemptionByScheduler"] * 4, "EvictionByEvictionAPI"])
    status = {"status": "True" if r.chance(0.9) else "False", "reason": reason}
    target["status"]["conditions"] = [{"type": "DisruptionTarget", **status}]


def terminating(r, target, preempted=False):
    """Marks a pod as being deleted, maybe because it was preempted."""
    if preempted:
        disrupted(r, target)
    target["metadata"].update(
        deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=30, finalizers=["x/y"]
    )


def taint(r):
    """Draws a taint, now and then one of a node that isn't ready."""
    if r.chance(0.15):
        return {"key": r.choice(NODE_CONDITIONS), "effect": r.choice(["NoSchedule", "NoExecute"])}
    out = {
        "key": r.choice(TAINT_KEYS[:3]),
        "effect": r.choice(["NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute"]),
    }
    if r.chance(0.75):
        out["value"] = r.choice(TAINT_VALUES)
    return out


def toleration(r):
    """Draws a toleration, with every operator and effect."""
    out = {}
    if r.chance(0.85):
        out["key"] = r.choice(NODE_CONDITIONS if r.chance(0.15) else TAINT_KEYS)
        out["operator"] = r.choice(["Exists", "Exists", "Equal", "Equal", "Equal", "", "Gt", "Lt"])
        if r.chance(0.1):
            del out["operator"]
    else:
        out["operator"] = "Exists"
    if out.get("operator") != "Exists":
        out["value"] = r.choice(TAINT_VALUES)
    if r.chance(0.6):
        out["effect"] = r.choice(["NoSchedule", "PreferNoSchedule", "NoExecute", ""])
    return out


def node_expression(r):
    """Draws a requirement on a node's labels."""
    key = r.choice([*NODE_LABELS, HOST, "missing"])
    operator = r.choice(["In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Gt", "Lt"):
        bound = r.choice(["0", "5", "1", "007", "9223372036854775806", "10"])
        key = r.choice(["gen", "gen", "gen", "gen", "empty", ZONE, "missing", "x/y"])
        return {"key": key, "operator": operator, "values": [bound]}
    out = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        values = NODE_LABELS.get(key, ["n000", "n001", "n002", "", "h1"])
        out["values"] = r.choices(values, k=2) if r.chance(0.2) else r.some(values, 1, 3)
    return out


def node_term(r, names, fields=0.3):
    """Draws a term of a node selector; a few are empty and match nothing."""
    out = {}
    if r.chance(0.9):
        out["matchExpressions"] = [node_expression(r) for _ in range(r.choice([1, 1, 1, 2, 2, 0]))]
    if r.chance(fields):
        out["matchFields"] = [
            {
                "key": "metadata.name",
                "operator": r.choice(["In", "In", "NotIn"]),
                "values": [r.choice([*names, "ghost"])],
            }
            for _ in range(r.choice([1, 1, 1, 2]))
        ]
    return out


def label_selector(r, of=None):
    """Draws a selector of pods; one that selects the pod `of` more often than not, if given."""
    draw = r.random()
    if draw < 0.04:
        return {}
    if of is not None and draw < 0.5 and of["metadata"].get("labels"):
        labels = of["metadata"]["labels"]
        return {"matchLabels": {key: labels[key] for key in r.some(sorted(labels), 1, 2)}}
    out = {}
    if r.chance(0.6):
        keys = r.some(["app", "tier"], 1, 2)
        out["matchLabels"] = {key: r.choice(POD_LABELS[key]) for key in keys}
    if not out or r.chance(0.4):
        out["matchExpressions"] = [pod_expression(r) for _ in range(r.randint(1, 2))]
    return out


def pod_expression(r):
    """Draws a requirement on a pod's labels; keys may come up twice in a selector."""
    key = r.choice(["app", "app", "tier", "rev", "missing"])
    operator = r.choice(["In", "In", "NotIn", "Exists", "DoesNotExist"])
    out = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        out["values"] = r.choices(POD_LABELS.get(key, APPS), k=r.randint(1, 3))
    return out


def spread_constraint(r, of=None, hard=0.5):
    """Draws a topology spread constraint with any of its fields."""
    out = {
        "maxSkew": r.choice([1, 1, 1, 2, 3, 2147483647]),
        "topologyKey": r.choice([ZONE, ZONE, HOST, "rack", "rack", "empty", "missing"]),
        "whenUnsatisfiable": "DoNotSchedule" if r.chance(hard) else "ScheduleAnyway",
    }
    if r.chance(0.95):
        out["labelSelector"] = label_selector(r, of)
        if r.chance(0.3):
            out["matchLabelKeys"] = r.some(["rev", "tier", "missing"], 1, 2)
    if out["whenUnsatisfiable"] == "DoNotSchedule" and r.chance(0.35):
        out["minDomains"] = r.choice([1, 2, 3, 4, 5, 2147483647])
    chosen = of is not None and ("nodeSelector" in of["spec"] or "affinity" in of["spec"])
    if r.chance(0.6 if chosen else 0.1):
        out["nodeAffinityPolicy"] = r.choice(["Honor", "Ignore", "Ignore", "Ignore"])
    if r.chance(0.4):
        out["nodeTaintsPolicy"] = r.choice(["Honor", "Honor", "Honor", "Ignore"])
    return out


def spread_constraints(r, of=None, hard=0.5, most=2):
    """Draws constraints with different (key, action) pairs, as the API server demands."""
    out = {}
    for _ in range(r.randint(1, most)):
        constraint = spread_constraint(r, of, hard)
        out.setdefault((constraint["topologyKey"], constraint["whenUnsatisfiable"]), constraint)
    return list(out.values())


def namespace_selector(r):
    """Draws a selector of namespaces: all, some, none, and by what a namespace lacks."""
    return r.choice(
        [
            {},
            {"matchLabels": {"team": "a"}},
            {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
            {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]},
            {"matchLabels": {"kubernetes.io/metadata.name": "ml"}},
        ]
    )


def affinity_term(r, of=None):
    """Draws a term of inter-pod affinity with any of its fields."""
    out = {"topologyKey": r.choice([ZONE, ZONE, HOST, HOST, "rack", "rack", "empty", "missing"])}
    if r.chance(0.97):
        out["labelSelector"] = label_selector(r, of)
    draw = r.random()
    if draw < 0.3:
        out["namespaces"] = r.some([*NAMESPACES, "bare", "ghost"], 1, 3)
    if 0.2 < draw < 0.55:
        out["namespaceSelector"] = namespace_selector(r)
    if out.get("labelSelector") is not None and r.chance(0.35):
        selector = out["labelSelector"]
        used = set(selector.get("matchLabels", ()))
        used.update(x["key"] for x in selector.get("matchExpressions", ()))
        free = [key for key in ("rev", "tier", "app") if key not in used]
        free += ["missing"] if r.chance(0.1) else []
        if free:
            kind = r.choice(["matchLabelKeys", "mismatchLabelKeys"])
            out[kind] = r.some(free, 1, 2)
    return out


def pod_affinity(r, of=None, required=0.4, preferred=0.4):
    """Draws affinity and anti-affinity to pods, or {}."""
    out = {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = {}
        if r.chance(required):
            rules["requiredDuringSchedulingIgnoredDuringExecution"] = [
                affinity_term(r, of) for _ in range(r.choice([1, 1, 2]))
            ]
        if r.chance(preferred):
            rules["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {
                    "weight": r.choice([1, 100, r.randint(1, 100)]),
                    "podAffinityTerm": affinity_term(r, of),
                }
                for _ in range(r.choice([1, 1, 2]))
            ]
        if rules:
            out[kind] = rules
    return out


def node_affinity(r, names, required=0.5, preferred=0.6):
    """Draws node affinity, or {}."""
    out = {}
    if r.chance(required):
        out["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [node_term(r, names) for _ in range(r.choice([1, 1, 2, 3]))]
        }
    if r.chance(preferred):
        out["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {
                "weight": r.choice([1, 100, r.randint(1, 100)]),
                "preference": node_term(r, names, 0.15),
            }
            for _ in range(r.randint(1, 3))
        ]
    return out


def node_selector(r):
    """Draws a node selector of a pod."""
    keys = r.some(["disk", "rack", ZONE, "empty"], 1, 2 if r.chance(0.2) else 1)
    return {key: r.choice(NODE_LABELS[key]) for key in keys}


def ports(r):
    """Draws ports of a container, with and without a host port."""
    out = []
    for _ in range(r.choice([1, 1, 2])):
        port = {"containerPort": r.choice([80, 81, 53])}
        if r.chance(0.8):
            port["hostPort"] = r.choice([80, 81, 53])
        if r.chance(0.6):
            port["protocol"] = r.choice(["TCP", "UDP", "UDP", "SCTP"])
        if r.chance(0.6):
            port["hostIP"] = r.choice(["127.0.0.1", "0.0.0.0", "10.0.0.1", "::", "::1", ""])
        out.append(port)
    return out


def owner(r):
    """Draws an owner reference, now and then to what isn't there."""
    kind, version = r.choice(
        [
            ("ReplicaSet", "apps/v1"),
            ("ReplicaSet", "apps/v1"),
            ("StatefulSet", "apps/v1"),
            ("StatefulSet", "apps/v1"),
            ("ReplicationController", "v1"),
            ("ReplicationController", "v1"),
            ("ReplicaSet", "apps/v1beta1"),
            ("Job", "batch/v1"),
        ]
    )
    name = r.choice(["o0", "o1", "o0", "o1", "ghost"])
    out = {"apiVersion": version, "kind": kind, "name": name, "uid": "u"}
    if r.chance(0.9):
        out["controller"] = r.chance(0.95)
    return out


def controllers(r, namespaces):
    """Draws Services and the controllers that `owner` names."""
    out = []
    for number in range(r.randint(0, 3)):
        spec = {}
        if r.chance(0.9):
            keys = r.some(["app", "tier", "rev"], 1, 2)
            spec["selector"] = {key: r.choice(POD_LABELS[key]) for key in keys}
        meta = {"name": f"s{number}", "namespace": r.choice(namespaces)}
        out.append({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}
    for namespace in namespaces:
        for name in ("o0", "o1"):
            meta = {"name": name, "namespace": namespace}
            for kind in ("ReplicaSet", "StatefulSet"):
                spec = {"template": template}
                if r.chance(0.95):
                    spec["selector"] = label_selector(r)
                if r.chance(0.8):
                    head = {"apiVersion": "apps/v1", "kind": kind, "metadata": dict(meta)}
                    out.append({**head, "spec": spec})
            if r.chance(0.8):
                selector = {"app": r.choice(APPS)}
                head = {"apiVersion": "v1", "kind": "ReplicationController"}
                out.append({**head, "metadata": dict(meta), "spec": {"selector": selector}})
    return out


def resource_status(r, target):
    """Gives a running pod what a kubelet reports of in-place resizes."""
    status = target["status"]

    def some(known):
        if r.chance(0.3):
            return amounts(r, known, 1)
        return {name: r.choice(GROWN[name]) for name in r.some(known, 1, 3)}

    def of(parent):
        out = {"name": parent["name"]}
        if r.chance(0.6):
            known = {"cpu", "memory", *parent["resources"].get("requests", ())}
            out["allocatedResources"] = some(sorted(known))
        if r.chance(0.6):
            out["resources"] = {"requests": some(["cpu", "memory"])}
        return out

    spec = target["spec"]
    status["containerStatuses"] = [of(c) for c in spec["containers"] if r.chance(0.9)]
    if spec.get("initContainers"):
        status["initContainerStatuses"] = [of(c) for c in spec["initContainers"] if r.chance(0.9)]
    if r.chance(0.5):
        reason = r.choice(["Infeasible", "Infeasible", "Infeasible", "Deferred", ""])
        state = r.choice(["True", "True", "False"])
        status["conditions"] = [
            {"type": "Ready", "status": "True"},
            {"type": "PodResizePending", "status": state, "reason": reason},
        ]
    if "resources" in spec and r.chance(0.7):
        status["allocatedResources"] = some(["cpu", "memory", "hugepages-2Mi"])
    if "resources" in spec and r.chance(0.7):
        status["resources"] = {"requests": some(["cpu", "memory", "hugepages-2Mi"])}
