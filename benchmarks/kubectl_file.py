"""Prints a cluster as `kubectl get nodes,pods -A -o json --show-managed-fields` does.

The objects have what real ones have, also what scheduling doesn't read: managed fields, volumes
with projected tokens, environments, probes, images, full status. Names, uids, times and amounts
differ from object to object; the same arguments give the same text. 5,000 nodes and 50,000 pods
are 690 MB; with --full they are 1.4 GB, because all managed fields are there and every pod has
what only every third has otherwise.
"""

import argparse
import json
import random
import re
import sys

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # of the suffixes that Kubernetes makes up
ZONES = ["eu-west-1a", "eu-west-1b", "eu-west-1c"]
POOLS = [  # name, cores, memory in KiB, pods, GPUs, instance type
    ("general", 16, 64328912, 110, 0, "m6i.4xlarge"),
    ("general-large", 48, 195846492, 234, 0, "m6i.12xlarge"),
    ("memory", 32, 260834900, 234, 0, "r6i.8xlarge"),
    ("compute", 64, 130042312, 234, 0, "c6i.16xlarge"),
    ("burst", 8, 32086580, 58, 0, "t3.2xlarge"),
    ("gpu", 96, 1176364020, 110, 8, "p4d.24xlarge"),
]
NAMESPACES = [
    f"{team}-{stage}"
    for team in ("payments", "search", "catalog", "identity", "ml-training", "ingest", "web", "ads")
    for stage in ("prod", "staging")
]
MERGE_KEYS = ("mountPath", "containerPort", "type", "uid", "name")  # of lists that are like maps


def managed(value):
    """The fields of `value` as server-side apply tracks them (FieldsV1)."""
    out = {}
    for key, child in value.items():
        out[f"f:{key}"] = managed_value(child)
    return out


def managed_value(value):
    if isinstance(value, dict):
        return {".": {}} | managed(value)
    if isinstance(value, list) and value and isinstance(value[0], dict):
        out = {".": {}}
        for item in value:
            by = next((k for k in MERGE_KEYS if k in item), None)
            if by is None:
                return {}
            key = (
                {"containerPort": item[by], "protocol": "TCP"}
                if by == "containerPort"
                else {by: item[by]}
            )
            out["k:" + json.dumps(key, separators=(",", ":"))] = {".": {}} | managed(item)
        return out
    return {}


class Template:
    """The text of an object in which @name@ stands for what differs."""

    def __init__(self, value):
        text = json.dumps(value, indent=4, sort_keys=True)
        # kubectl escapes what HTML would misread.
        text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        self._pieces = re.split(r"@(\w+)@", text.replace("\n", "\n        "))

    def fill(self, values):
        pieces = self._pieces[:]
        pieces[1::2] = [values[name] for name in pieces[1::2]]
        return "        " + "".join(pieces)


class Cluster:
    def __init__(self, nodes, pods, full):
        self._random = random.Random(20260131)
        self._nodes = nodes
        self._pods = pods
        self._full = full
        self._images = [self._image_text(i) for i in range(400)]

    def suffix(self, length):
        return "".join(self._random.choices(ALPHABET, k=length))

    def uid(self):
        h = f"{self._random.getrandbits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def time(self):
        r = self._random.randrange
        return f"2026-01-{r(1, 31):02}T{r(24):02}:{r(60):02}:{r(60):02}Z"

    def ip(self):
        bits = self._random.getrandbits(24)
        return f"10.{bits >> 16}.{bits >> 8 & 255}.{bits & 255}"

    def digest(self):
        return f"{self._random.getrandbits(256):064x}"

    def objects(self):
        yield from self._node_texts()
        yield from self._pod_texts()

    def _image_text(self, i):
        name = f"registry.example.com/platform/service-{i % 97:02}"
        image = {
            "names": [f"{name}@sha256:{self.digest()}", f"{name}:v1.{i % 31}.{i // 31}"],
            "sizeBytes": self._random.randrange(700_000, 2_000_000_000),
        }
        text = json.dumps(image, indent=4, sort_keys=True)
        return text.replace("\n", "\n                    ")

    def _meta_managed(self, parts):
        """managedFields of `parts`: manager, subresource or None, and what it manages."""
        entries = []
        for manager, subresource, value in parts if self._full else parts[:1]:
            entry = {
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": managed(value),
                "manager": manager,
                "operation": "Update",
                "time": "@time@",
            }
            if subresource:
                entry["subresource"] = subresource
            entries.append(entry)
        return {"managedFields": entries}

    def _node_template(self, pool):
        name, cores, memory, pods, gpus, instance = pool
        capacity = {
            "cpu": str(cores),
            "ephemeral-storage": "104845292Ki",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "memory": f"{memory}Ki",
            "pods": str(pods),
        }
        allocatable = capacity | {
            "cpu": f"{cores * 1000 - 110}m",
            "ephemeral-storage": "95551679124",
            "memory": "@allocatable@Ki",
        }
        if gpus:
            capacity["nvidia.com/gpu"] = allocatable["nvidia.com/gpu"] = str(gpus)
        metadata = {
            "annotations": {
                "alpha.kubernetes.io/provided-node-ip": "@ip@",
                "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"i-@instance@",'
                '"efs.csi.aws.com":"i-@instance@"}',
                "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///var/run/containerd/containerd.sock",
                "node.alpha.kubernetes.io/ttl": "0",
                "projectcalico.org/IPv4Address": "@ip@/20",
                "projectcalico.org/IPv4IPIPTunnelAddr": "@ip@",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/instance-type": instance,
                "beta.kubernetes.io/os": "linux",
                "failure-domain.beta.kubernetes.io/region": "eu-west-1",
                "failure-domain.beta.kubernetes.io/zone": "@zone@",
                "k8s.io/cloud-provider-aws": "@instance@",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": "@name@",
                "kubernetes.io/os": "linux",
                "node.example.com/pool": name,
                "node.kubernetes.io/instance-type": instance,
                "topology.ebs.csi.aws.com/zone": "@zone@",
                "topology.kubernetes.io/rack": "rack-@rack@",
                "topology.kubernetes.io/region": "eu-west-1",
                "topology.kubernetes.io/zone": "@zone@",
            },
        }
        spec = {
            "podCIDR": "@cidr@",
            "podCIDRs": ["@cidr@"],
            "providerID": "aws:///@zone@/i-@instance@",
        }
        if gpus:
            spec["taints"] = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "value": "true"}]
        conditions = [
            ("NetworkUnavailable", "False", "CalicoIsUp", "Calico is running on this node"),
            (
                "MemoryPressure",
                "False",
                "KubeletHasSufficientMemory",
                "kubelet has sufficient memory available",
            ),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
            (
                "PIDPressure",
                "False",
                "KubeletHasSufficientPID",
                "kubelet has sufficient PID available",
            ),
            ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        ]
        status = {
            "addresses": [
                {"address": "@ip@", "type": "InternalIP"},
                {"address": "@name@", "type": "Hostname"},
                {"address": "@name@.eu-west-1.compute.internal", "type": "InternalDNS"},
            ],
            "allocatable": allocatable,
            "capacity": capacity,
            "conditions": [
                {
                    "lastHeartbeatTime": "@time2@",
                    "lastTransitionTime": "@time@",
                    "message": message,
                    "reason": reason,
                    "status": state,
                    "type": kind,
                }
                for kind, state, reason, message in conditions
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "@boot@",
                "containerRuntimeVersion": "containerd://1.7.22",
                "kernelVersion": "5.15.0-1068-aws",
                "kubeProxyVersion": "v1.33.4",
                "kubeletVersion": "v1.33.4",
                "machineID": "@machine@",
                "operatingSystem": "linux",
                "osImage": "Ubuntu 22.04.5 LTS",
                "swap": {"capacity": 0},
                "systemUUID": "@machine@",
            },
            "runtimeHandlers": [
                {
                    "features": {"recursiveReadOnlyMounts": True, "userNamespaces": False},
                    "name": handler,
                }
                for handler in ("", "runc", "nvidia")
            ],
        }
        extra = self._meta_managed(
            [
                ("kubelet", None, {"metadata": metadata, "spec": {"providerID": ""}}),
                ("kube-controller-manager", None, {"spec": {"podCIDR": "", "podCIDRs": {"x": ""}}}),
                ("calico-node", "status", {"status": {"conditions": status["conditions"][:1]}}),
                ("kubelet", "status", {"status": status | {"images": ""}}),
            ]
        )
        metadata |= extra | {
            "creationTimestamp": "@time@",
            "name": "@name@",
            "resourceVersion": "@version@",
            "uid": "@uid@",
        }
        status["images"] = ["@images@"]
        return Template(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": metadata,
                "spec": spec,
                "status": status,
            }
        )

    def _node_texts(self):
        templates = [self._node_template(pool) for pool in POOLS]
        self._node_names = []
        self._node_ips = []
        for i in range(self._nodes):
            pool = self._random.choices(range(len(POOLS)), [30, 25, 15, 15, 10, 5])[0]
            ip = self.ip()
            name = f"ip-{ip.replace('.', '-')}-{i:05}"
            self._node_names.append(name)
            self._node_ips.append(ip)
            images = self._random.sample(self._images, self._random.randrange(14, 27))
            text = templates[pool].fill(
                {
                    "name": name,
                    "ip": ip,
                    "uid": self.uid(),
                    "boot": self.uid(),
                    "machine": self.uid(),
                    "time": self.time(),
                    "time2": self.time(),
                    "instance": f"{self._random.getrandbits(68):017x}",
                    "zone": ZONES[i % 3],
                    "rack": f"{i // 40:03}",
                    "cidr": f"100.{64 + i // 256 % 64}.{i % 256}.0/24",
                    "version": str(self._random.randrange(1 << 32)),
                    "allocatable": str(POOLS[pool][2] - self._random.randrange(900_000, 1_100_000)),
                    "images": "\0",
                }
            )
            yield text.replace('"\0"', ",\n                    ".join(images))

    def _deployment(self, i):
        """A template of the pods of a deployment, and the values that all of them share."""
        r = self._random
        app = f"{r.choice(['api', 'worker', 'frontend', 'gateway', 'indexer', 'cache'])}-{i:03}"
        namespace = NAMESPACES[i % len(NAMESPACES)]
        hash_ = self.suffix(10)
        gpu = i % 25 == 24
        rich = self._full or i % 3 == 0
        labels = {
            "app.kubernetes.io/instance": app,
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/version": f"1.{r.randrange(40)}.{r.randrange(9)}",
            "pod-template-hash": hash_,
            "team": namespace.rsplit("-", 1)[0],
        }
        annotations = {
            "checksum/config": self.digest(),
            "prometheus.io/port": "9090",
            "prometheus.io/scrape": "true",
        }
        token = {
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            "name": "kube-api-access-@token@",
            "readOnly": True,
        }
        volumes = []
        mounts = []
        if rich:
            volumes.append(
                {"configMap": {"defaultMode": 420, "name": f"{app}-config"}, "name": "config"}
            )
            mounts.append({"mountPath": "/etc/app", "name": "config", "readOnly": True})
        if i % 3 == 0:
            volumes.append({"emptyDir": {}, "name": "tmp"})
            mounts.append({"mountPath": "/tmp", "name": "tmp"})
        volumes.append(
            {
                "name": "kube-api-access-@token@",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {
                            "configMap": {
                                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                                "name": "kube-root-ca.crt",
                            }
                        },
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "fieldRef": {
                                            "apiVersion": "v1",
                                            "fieldPath": "metadata.namespace",
                                        },
                                        "path": "namespace",
                                    }
                                ]
                            }
                        },
                    ],
                },
            }
        )
        mounts.append(token)
        requests = {
            "cpu": f"{r.choice([100, 250, 500, 1000, 2000])}m",
            "memory": r.choice(["256Mi", "512Mi", "1Gi", "1536Mi", "4Gi"]),
        }
        limits = {"memory": requests["memory"]}
        if gpu:
            requests["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = str(r.choice([1, 2, 4]))
        image = f"registry.example.com/platform/service-{i % 97:02}:v1.{i % 31}.0"

        def probe(path):
            return {
                "failureThreshold": 3,
                "httpGet": {"path": path, "port": 8080, "scheme": "HTTP"},
                "initialDelaySeconds": 10,
                "periodSeconds": 10,
                "successThreshold": 1,
                "timeoutSeconds": 2,
            }

        container = {
            "image": image,
            "imagePullPolicy": "IfNotPresent",
            "name": "app",
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
            "resources": {"limits": limits, "requests": requests},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": mounts,
        }
        if rich:
            container["livenessProbe"] = probe("/healthz")
            container["readinessProbe"] = probe("/ready")
            container["env"] = [
                {"name": "LOG_LEVEL", "value": "info"},
                {
                    "name": "POD_NAME",
                    "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
                },
                {"name": "JAVA_OPTS", "value": f'-Xmx{r.randrange(200, 900)}m -Da<b>="c&d"'},
            ]
        containers = [container]
        if i % 5 == 0:
            containers.append(
                {
                    "image": "registry.example.com/platform/proxy:v1.22.3",
                    "imagePullPolicy": "IfNotPresent",
                    "name": "proxy",
                    "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "volumeMounts": [token],
                }
            )
        owner = {
            "apiVersion": "apps/v1",
            "blockOwnerDeletion": True,
            "controller": True,
            "kind": "ReplicaSet",
            "name": f"{app}-{hash_}",
            "uid": self.uid(),
        }
        tolerations = [
            {
                "effect": "NoExecute",
                "key": f"node.kubernetes.io/{what}",
                "operator": "Exists",
                "tolerationSeconds": 300,
            }
            for what in ("not-ready", "unreachable")
        ]
        if gpu:
            tolerations.insert(
                0, {"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}
            )
        spec = {
            "containers": containers,
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "nodeName": "@node@",
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {"fsGroup": 1000, "runAsNonRoot": True},
            "serviceAccount": app,
            "serviceAccountName": app,
            "terminationGracePeriodSeconds": 30,
            "tolerations": tolerations,
            "volumes": volumes,
        }
        if i % 4 == 1:
            spec["affinity"] = {
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "podAffinityTerm": {
                                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                                "topologyKey": "kubernetes.io/hostname",
                            },
                            "weight": 100,
                        }
                    ]
                }
            }
        if i % 4 == 2:
            spec["topologySpreadConstraints"] = [
                {
                    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": app}},
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                }
            ]
        if i % 7 == 3:
            spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
        status = {
            "conditions": [
                {
                    "lastProbeTime": None,
                    "lastTransitionTime": "@started@",
                    "status": "True",
                    "type": kind,
                }
                for kind in (
                    "PodReadyToStartContainers",
                    "Initialized",
                    "Ready",
                    "ContainersReady",
                    "PodScheduled",
                )
            ],
            "containerStatuses": [
                {
                    "containerID": "containerd://@container@",
                    "image": c["image"],
                    "imageID": f"{c['image'].rsplit(':', 1)[0]}@sha256:{self.digest()}",
                    "lastState": {},
                    "name": c["name"],
                    "ready": True,
                    "restartCount": 0,
                    "started": True,
                    "state": {"running": {"startedAt": "@started@"}},
                }
                for c in containers
            ],
            "hostIP": "@host_ip@",
            "hostIPs": [{"ip": "@host_ip@"}],
            "phase": "Running",
            "podIP": "@ip@",
            "podIPs": [{"ip": "@ip@"}],
            "qosClass": "Burstable",
            "startTime": "@started@",
        }
        waiting = {
            "conditions": [
                {
                    "lastProbeTime": None,
                    "lastTransitionTime": "@time@",
                    "message": "0/5000 nodes are available: 5000 Insufficient cpu.",
                    "reason": "Unschedulable",
                    "status": "False",
                    "type": "PodScheduled",
                }
            ],
            "phase": "Pending",
            "qosClass": "Burstable",
        }

        def template(pod_spec, pod_status, manager):
            metadata = {
                "annotations": annotations,
                "generateName": f"{app}-{hash_}-",
                "labels": labels,
            }
            created = {
                k: v
                for k, v in pod_spec.items()
                if k not in ("nodeName", "volumes", "serviceAccountName", "tolerations")
            }
            extra = self._meta_managed(
                [
                    (
                        "kube-controller-manager",
                        None,
                        {"metadata": metadata | {"ownerReferences": [owner]}}
                        | ({"spec": created} if self._full else {}),
                    ),
                    (manager, "status", {"status": pod_status}),
                ]
            )
            metadata = (
                metadata
                | extra
                | {
                    "creationTimestamp": "@time@",
                    "name": f"{app}-{hash_}-@suffix@",
                    "namespace": namespace,
                    "ownerReferences": [owner],
                    "resourceVersion": "@version@",
                    "uid": "@uid@",
                }
            )
            return Template(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": metadata,
                    "spec": pod_spec,
                    "status": pod_status,
                }
            )

        pending = {k: v for k, v in spec.items() if k != "nodeName"}
        return (template(spec, status, "kubelet"), template(pending, waiting, "kube-scheduler"))

    def _pod_texts(self):
        deployments = [self._deployment(i) for i in range(500)]
        for i in range(self._pods):
            bound, pending = deployments[self._random.randrange(len(deployments))]
            node = self._random.randrange(max(self._nodes, 1))
            waits = self._nodes == 0 or i % 50 == 49
            yield (pending if waits else bound).fill(
                {
                    "suffix": self.suffix(4) + f"{i:x}",
                    "token": self.suffix(5),
                    "uid": self.uid(),
                    "time": self.time(),
                    "started": self.time(),
                    "ip": self.ip(),
                    "container": self.digest(),
                    "version": str(self._random.randrange(1 << 32)),
                    "node": "" if waits else self._node_names[node],
                    "host_ip": "" if waits else self._node_ips[node],
                }
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("nodes", type=int, help="how many nodes")
    parser.add_argument("pods", type=int, help="how many pods")
    parser.add_argument(
        "--full",
        action="store_true",
        help="all objects with all managed fields, environments, probes",
    )
    args = parser.parse_args()

    out = sys.stdout
    out.write('{\n    "apiVersion": "v1",\n    "items": [')
    separator = "\n"
    for text in Cluster(args.nodes, args.pods, args.full).objects():
        out.write(separator)
        out.write(text)
        separator = ",\n"
    out.write("\n    ]," if separator != "\n" else "],")
    out.write('\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')


if __name__ == "__main__":
    main()
