#include "kubectl_text.h"

#include <string_view>

#include "schedfw/base/value.h"

namespace schedfw::benchmarks {
namespace {

// What differs between objects: @i@ is the object's number, @node@ that of the pod's node.
constexpr std::string_view kNode = R"({
"apiVersion": "v1", "kind": "Node", "metadata": {
  "annotations": {
    "csi.volume.kubernetes.io/nodeid": "{\"ebs.csi.aws.com\":\"i-0b22a22eec53b9321\"}",
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
  "creationTimestamp": "2026-01-05T10:00:00Z",
  "labels": {
    "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": "node-@i@",
    "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": "m6i.4xlarge",
    "topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": "eu-west-1a"},
  "managedFields": [{
    "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {
      "f:metadata": {"f:annotations": {".": {}, "f:node.alpha.kubernetes.io/ttl": {}},
                     "f:labels": {".": {}, "f:kubernetes.io/arch": {}, "f:kubernetes.io/os": {}}},
      "f:spec": {"f:podCIDR": {}, "f:podCIDRs": {".": {}, "v:\"100.64.0.0/24\"": {}}}},
    "manager": "kubelet", "operation": "Update", "time": "2026-01-05T10:00:00Z"}],
  "name": "node-@i@", "resourceVersion": "183625",
  "uid": "9d13f0a7-5be8-4c1c-9a55-0000@i@"},
"spec": {"podCIDR": "100.64.0.0/24", "podCIDRs": ["100.64.0.0/24"],
         "providerID": "aws:///eu-west-1a/i-0b22a22eec53b9321"},
"status": {
  "addresses": [{"address": "10.11.12.13", "type": "InternalIP"},
                {"address": "node-@i@", "type": "Hostname"}],
  "allocatable": {"cpu": "15890m", "ephemeral-storage": "95551679124", "hugepages-2Mi": "0",
                  "memory": "63299272Ki", "pods": "110"},
  "capacity": {"cpu": "16", "ephemeral-storage": "104845292Ki", "hugepages-2Mi": "0",
               "memory": "64328912Ki", "pods": "110"},
  "conditions": [
    {"lastHeartbeatTime": "2026-01-31T10:00:00Z", "lastTransitionTime": "2026-01-05T10:00:00Z",
     "message": "kubelet has sufficient memory available", "reason": "KubeletHasSufficientMemory",
     "status": "False", "type": "MemoryPressure"},
    {"lastHeartbeatTime": "2026-01-31T10:00:00Z", "lastTransitionTime": "2026-01-05T10:00:00Z",
     "message": "kubelet is posting ready status", "reason": "KubeletReady", "status": "True",
     "type": "Ready"}],
  "images": [
    {"names": ["registry.example.com/platform/service-17@sha256:f2baa0505d1b84fb88917b65c364156f",
               "registry.example.com/platform/service-17:v1.21.0"], "sizeBytes": 218412212},
    {"names": ["registry.example.com/platform/proxy@sha256:58a0505d1b84fb8864156f917b65c3f2",
               "registry.example.com/platform/proxy:v1.22.3"], "sizeBytes": 88120033}],
  "nodeInfo": {"architecture": "amd64", "bootID": "53270830-0ff7-4300-a8bb-599b2849b588",
               "kernelVersion": "5.15.0-1068-aws", "kubeletVersion": "v1.33.4",
               "operatingSystem": "linux", "osImage": "Ubuntu 22.04.5 LTS"}}})";

constexpr std::string_view kPod = R"({
"apiVersion": "v1", "kind": "Pod", "metadata": {
  "annotations": {
    "checksum/config": "f2baa0505d1b84fb88917b65c364156fa1a4ad007d00b43c6a755cfa05489e4f",
    "prometheus.io/scrape": "true"},
  "creationTimestamp": "2026-01-17T22:16:18Z", "generateName": "worker-9d4lfffd2t-",
  "labels": {"app.kubernetes.io/instance": "worker", "app.kubernetes.io/name": "worker",
             "app.kubernetes.io/version": "1.32.6", "pod-template-hash": "9d4lfffd2t"},
  "managedFields": [{
    "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {
      "f:metadata": {
        "f:annotations": {".": {}, "f:checksum/config": {}, "f:prometheus.io/scrape": {}},
        "f:generateName": {}, "f:labels": {".": {}, "f:app.kubernetes.io/name": {}},
        "f:ownerReferences": {".": {}, "k:{\"uid\":\"53270830-0ff7-4300-a8bb-599b2849b588\"}": {}}},
      "f:spec": {
        "f:containers": {"k:{\"name\":\"app\"}": {
          ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:livenessProbe": {
            ".": {}, "f:failureThreshold": {}, "f:httpGet": {".": {}, "f:path": {}, "f:port": {}}},
          "f:name": {}, "f:resources": {".": {}, "f:limits": {".": {}, "f:memory": {}}}}},
        "f:dnsPolicy": {}, "f:restartPolicy": {}, "f:schedulerName": {}}},
    "manager": "kube-controller-manager", "operation": "Update", "time": "2026-01-17T22:16:18Z"}],
  "name": "worker-9d4lfffd2t-@i@", "namespace": "ingest-prod",
  "ownerReferences": [{
    "apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": "ReplicaSet",
    "name": "worker-9d4lfffd2t", "uid": "53270830-0ff7-4300-a8bb-599b2849b588"}],
  "resourceVersion": "4226424790", "uid": "921e5b33-5923-4322-ac63-0000@i@"},
"spec": {
  "containers": [{
    "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "POD_NAME", "valueFrom": {
      "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}],
    "image": "registry.example.com/platform/service-17:v1.21.0", "imagePullPolicy": "IfNotPresent",
    "livenessProbe": {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080,
                      "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 2},
    "name": "app", "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
    "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "volumeMounts": [{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                      "name": "kube-api-access-tb7jt", "readOnly": true}]}],
  "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "nodeName": "node-@node@",
  "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always",
  "schedulerName": "default-scheduler", "securityContext": {"fsGroup": 1000},
  "serviceAccountName": "worker", "terminationGracePeriodSeconds": 30,
  "tolerations": [
    {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists",
     "tolerationSeconds": 300},
    {"effect": "NoExecute", "key": "node.kubernetes.io/unreachable", "operator": "Exists",
     "tolerationSeconds": 300}],
  "volumes": [{"name": "kube-api-access-tb7jt", "projected": {"defaultMode": 420, "sources": [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
    {"downwardAPI": {"items": [{"fieldRef": {"apiVersion": "v1",
      "fieldPath": "metadata.namespace"}, "path": "namespace"}]}}]}}]},
"status": {
  "conditions": [
    {"lastProbeTime": null, "lastTransitionTime": "2026-01-17T22:16:18Z", "status": "True",
     "type": "PodReadyToStartContainers"},
    {"lastProbeTime": null, "lastTransitionTime": "2026-01-17T22:16:18Z", "status": "True",
     "type": "Initialized"},
    {"lastProbeTime": null, "lastTransitionTime": "2026-01-17T22:16:18Z", "status": "True",
     "type": "Ready"}],
  "containerStatuses": [{
    "containerID": "containerd://7b65c364156fa1a4f2baa0505d1b84fb889ad007d00b43c6a755cfa05489e4f1",
    "image": "registry.example.com/platform/service-17:v1.21.0", "lastState": {}, "name": "app",
    "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-17T22:16:21Z"}}}],
  "hostIP": "10.11.12.13", "phase": "Running", "podIP": "100.64.1.2",
  "podIPs": [{"ip": "100.64.1.2"}], "qosClass": "Burstable",
  "startTime": "2026-01-17T22:16:18Z"}})";

constexpr std::int64_t kPodsOfANode = 10;

// `text` with all of `what` replaced.
std::string Replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// An object's text on lines, as an item of a List.
std::string Item(std::string_view object) {
  return Replaced("\n" + ToJson(*ParseValue(object), 4), "\n", "\n        ");
}

}  // namespace

std::string KubectlText(std::int64_t pods) {
  const std::string node = Item(kNode), pod = Item(kPod);
  std::string out = "{\n    \"apiVersion\": \"v1\",\n    \"items\": [";
  for (std::int64_t i = 0; i < pods / kPodsOfANode; ++i) {
    out += Replaced(node, "@i@", std::to_string(10000000 + i)) + ",";
  }
  for (std::int64_t i = 0; i < pods; ++i) {
    out += Replaced(Replaced(pod, "@i@", std::to_string(10000000 + i)), "@node@",
                    std::to_string(10000000 + i / kPodsOfANode));
    out += i + 1 == pods ? "" : ",";
  }
  return out +
         "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n"
         "        \"resourceVersion\": \"\"\n    }\n}\n";
}

}  // namespace schedfw::benchmarks
