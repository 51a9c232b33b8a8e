"""The faults that the differential test must find: one wrong rule each.

The text must be in the file exactly once. The part between ⟦ and ⟧ is an expression, or statements
if it ends with a semicolon; the replacement stands for it. NodeName has none: a waiting pod names
no node.
"""

from collections import namedtuple

Fault = namedtuple("Fault", "name file text replacement")

PLUGINS = "include/schedfw/plugins/"
CLUSTER = "include/schedfw/cluster/"
FIT = PLUGINS + "node_resources_fit.h"
BALANCED = PLUGINS + "node_resources_balanced_allocation.h"
ALLOCATION = PLUGINS + "resource_allocation.h"
TAINTS = PLUGINS + "taint_toleration.h"
TOLERATIONS = PLUGINS + "tolerations.h"
AFFINITY = PLUGINS + "node_affinity.h"
MATCH = PLUGINS + "node_match.h"
PORTS = PLUGINS + "node_ports.h"
IMAGES = PLUGINS + "image_locality.h"
SPREAD = PLUGINS + "pod_topology_spread.h"
REQUESTS = CLUSTER + "pod_requests.h"

FAULTS = [
    Fault(
        "NodeResourcesFit: one pod fewer",
        FIT,
        "codes[i] = ⟦pods[i] + 1 > allowed[i]⟧ ? kTooManyPods",
        "pods[i] + 1 >= allowed[i]",
    ),
    Fault(
        "NodeResourcesFit: a node that would be full",
        FIT,
        "lacks = ⟦amount > allocatable[i] - requested[i]⟧ ? bit",
        "amount >= allocatable[i] - requested[i]",
    ),
    Fault(
        "NodeResourcesFit: never fits if it fills the node",
        FIT,
        "never = ⟦amount > allocatable[i]⟧ ? bit",
        "amount >= allocatable[i]",
    ),
    Fault(
        "NodeResourcesFit: ignored resources aren't",
        FIT,
        "return ⟦std::find(ignored_.begin(), ignored_.end(), name) != ignored_.end()⟧ ||",
        "false",
    ),
    Fault(
        "NodeResourcesFit: ignored groups by name",
        FIT,
        "group = ⟦name.substr(0, name.find('/'))⟧;",
        "name.substr(name.find('/') + 1)",
    ),
    Fault(
        "NodeResourcesFit: LeastAllocated, one unit off",
        FIT,
        "⟦Percent(capacity - requested, capacity)⟧",
        "Percent(std::min(capacity - requested + 1, capacity), capacity)",
    ),
    Fault(
        "NodeResourcesFit: MostAllocated above capacity",
        FIT,
        "return Percent(⟦std::min(requested, capacity)⟧, capacity)",
        "requested > capacity ? std::int64_t{0} : requested",
    ),
    Fault(
        "NodeResourcesFit: weights count once",
        FIT,
        "sum += score(resource.allocated[row] + resource.request, capacity) * resource.weight;\n"
        "        weights += ⟦resource.weight⟧;",
        "std::int64_t{1}",
    ),
    Fault(
        "NodeResourcesFit: shape, between points",
        FIT,
        "(b.score - a.score) * (⟦utilization - a.utilization⟧) /",
        "utilization - a.utilization + 1",
    ),
    Fault(
        "NodeResourcesFit: shape, a score of 0 counts",
        FIT,
        "if (⟦score <= 0⟧) continue;",
        "score < 0",
    ),
    Fault(
        "NodeResourcesFit: shape, rounded down",
        FIT,
        "⟦std::round(static_cast<double>(sum) /\n"
        "                                                                   "
        "static_cast<double>(weights))⟧",
        "std::floor(static_cast<double>(sum) / static_cast<double>(weights))",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: two resources",
        BALANCED,
        "deviation = ⟦std::abs((fractions[0] - fractions[1]) / 2)⟧;",
        "std::abs(fractions[0] - fractions[1])",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: more resources",
        BALANCED,
        "std::sqrt(⟦sum / static_cast<double>(count)⟧)",
        "sum / static_cast<double>(count - 1)",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: not before the pod",
        BALANCED,
        "⟦Balance(*state, rows[i], /*with_pod=*/false, fractions)⟧",
        "Balance(*state, rows[i], /*with_pod=*/true, fractions)",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: best effort is scored",
        BALANCED,
        "if (⟦IsBestEffort(cycle)⟧) return Status::Skip();",
        "false",
    ),
    Fault(
        "scores of resources: those not asked for count",
        ALLOCATION,
        "if (⟦id > kPods && resource.request == 0⟧) continue;",
        "false",
    ),
    Fault(
        "requests: sidecars start late",
        REQUESTS,
        "⟦amounts.Add(sidecars);⟧",
        "",
    ),
    Fault(
        "requests: sidecars end",
        REQUESTS,
        "⟦total.Add(amounts);⟧",
        "",
    ),
    Fault(
        "requests: default of memory",
        REQUESTS,
        "out.Set(kMemory, Quantity::FromUnits(⟦kDefaultMemoryRequest⟧));",
        "kDefaultMemoryRequest / 2",
    ),
    Fault(
        "requests: overhead",
        REQUESTS,
        "⟦total.Add(dictionary.Resource(name), quantity);⟧",
        "",
    ),
    Fault(
        "requests: infeasible resizes",
        REQUESTS,
        "return ⟦infeasible⟧ ? nullptr : &container.resources.requests;",
        "false",
    ),
    Fault(
        "requests: what is allocated",
        REQUESTS,
        "    ⟦total.Max(allocated);⟧",
        "",
    ),
    Fault(
        "TaintToleration: NoExecute",
        TOLERATIONS,
        "⟦taint.effect == api::TaintEffect::kNoExecute⟧",
        "false",
    ),
    Fault(
        "TaintToleration: an effect that isn't given",
        TOLERATIONS,
        "if (⟦toleration.effect != api::TaintEffect::kAny && toleration.effect != taint.effect⟧)",
        "toleration.effect != taint.effect",
    ),
    Fault(
        "TaintToleration: values",
        TOLERATIONS,
        "return ⟦toleration.value == taint.value⟧;",
        "true",
    ),
    Fault(
        "TaintToleration: score of each list",
        TAINTS,
        "⟦++out.counts[id];⟧",
        "out.counts[id] = 1;",
    ),
    Fault(
        "TaintToleration: score of tolerated taints",
        TAINTS,
        "⟦!Tolerates(cycle.pod.pod->spec.tolerations, taint)⟧) {\n          ++out",
        "true",
    ),
    Fault(
        "scores to 100: rounding",
        PLUGINS + "normalize.h",
        "score = ⟦kMaxNodeScore * score / max⟧;",
        "(kMaxNodeScore * score + max - 1) / max",
    ),
    Fault(
        "NodeUnschedulable: tolerated",
        PLUGINS + "node_unschedulable.h",
        "if (⟦any != 0 && ToleratesUnschedulable(cycle.pod)⟧)",
        "any != 0",
    ),
    Fault(
        "NodeAffinity: terms are alternatives",
        MATCH,
        "⟦if (term.Matches(row)) return true;⟧",
        "return term.Matches(row);",
    ),
    Fault(
        "NodeAffinity: names of nodes",
        MATCH,
        "if (⟦(node == row) != equal⟧) return false;",
        "node != row",
    ),
    Fault(
        "NodeAffinity: names in one term",
        AFFINITY,
        "⟦std::erase_if(*of_term, [&](const std::string& n) { return !values.contains(n); });⟧",
        "of_term->insert(values.begin(), values.end());",
    ),
    Fault(
        "NodeAffinity: a pod's rule before the configuration's",
        AFFINITY,
        "if (⟦state->added && !state->added->Matches(row)⟧) code",
        "code == 0 && state->added && !state->added->Matches(row)",
    ),
    Fault(
        "NodeAffinity: weights of preferred terms",
        AFFINITY,
        "if (term.Matches(rows[i])) sum += ⟦term.weight()⟧;",
        "std::min(term.weight(), 99)",
    ),
    Fault(
        "selectors: NotIn needs the label",
        CLUSTER + "selector.h",
        "return ⟦value == nullptr || !Has(*value)⟧;",
        "value != nullptr && !Has(*value)",
    ),
    Fault(
        "NodePorts: protocols",
        PORTS,
        "⟦x.protocol == y.protocol⟧",
        "true",
    ),
    Fault(
        "NodePorts: all addresses",
        PORTS,
        "(⟦x.ip == y.ip || x.ip == any_ip || y.ip == any_ip⟧)",
        "x.ip == y.ip || x.ip == any_ip",
    ),
    Fault(
        "ImageLocality: the most that counts",
        IMAGES,
        "max_threshold = ⟦1000 * kMegabyte * count⟧;",
        "1000 * kMegabyte",
    ),
    Fault(
        "ImageLocality: the least that counts",
        IMAGES,
        "if (⟦sum < kMinThreshold⟧) {",
        "false",
    ),
    Fault(
        "ImageLocality: spread of an image",
        IMAGES,
        "⟦static_cast<std::int64_t>(static_cast<double>(state->size_bytes) * spread)⟧",
        "spread < 1 ? state->size_bytes : state->size_bytes",
    ),
    Fault(
        "PodTopologySpread: skew",
        SPREAD,
        "verdicts[i] = ⟦matching + self - least > constraint.max_skew⟧ ?",
        "matching + self - least >= constraint.max_skew",
    ),
    Fault(
        "PodTopologySpread: the pod counts itself",
        SPREAD,
        "c.self = ⟦constraint.selector.Matches(PodLabels(cycle), cycle.snapshot.dictionary())⟧ ?",
        "true",
    ),
    Fault(
        "PodTopologySpread: minDomains",
        SPREAD,
        "if (⟦domains < constraint.min_domains⟧) least = 0;",
        "domains <= constraint.min_domains",
    ),
    Fault(
        "PodTopologySpread: every key is needed",
        SPREAD,
        "if (⟦require_all_keys_ && !HasAllKeys(row)⟧) return false;",
        "false",
    ),
    Fault(
        "PodTopologySpread: nodeAffinityPolicy Honor",
        SPREAD,
        "if (⟦constraint.honor_affinity && !affinity_.Matches(row)⟧) return false;",
        "false",
    ),
    Fault(
        "PodTopologySpread: nodeAffinityPolicy of another constraint",
        SPREAD,
        "if (⟦constraint.honor_affinity && !affinity_.Matches(row)⟧) return false;",
        "!affinity_.Matches(row)",
    ),
    Fault(
        "PodTopologySpread: nodeTaintsPolicy",
        SPREAD,
        "return ⟦!constraint.honor_taints⟧ ||",
        "true",
    ),
    Fault(
        "PodTopologySpread: deleting pods",
        CLUSTER + "domains.h",
        "if (⟦pod.ns != ns || pod.terminating⟧) return false;",
        "pod.ns != ns",
    ),
    Fault(
        "PodTopologySpread: other namespaces",
        CLUSTER + "domains.h",
        "⟦if (pod.ns != ns || pod.terminating) return false;⟧",
        "if (pod.terminating) return false;",
    ),
    Fault(
        "PodTopologySpread: weight of a constraint",
        SPREAD,
        "c.weight = Log(⟦static_cast<double>(domains + 2)⟧);",
        "static_cast<double>(domains + 1)",
    ),
    Fault(
        "PodTopologySpread: maxSkew in the score",
        SPREAD,
        "⟦static_cast<double>(c.max_skew - 1)⟧;",
        "static_cast<double>(c.max_skew)",
    ),
    Fault(
        "PodTopologySpread: rounding of the score",
        SPREAD,
        "out[i] = static_cast<std::int64_t>(⟦std::round(score)⟧);",
        "score",
    ),
    Fault(
        "PodTopologySpread: normalized score",
        SPREAD,
        "⟦kMaxNodeScore * (max + min - scores[i]) / max⟧",
        "kMaxNodeScore * (max - scores[i]) / max",
    ),
    Fault(
        "PodTopologySpread: domains of nodes that don't fit",
        SPREAD,
        "if (⟦present[ordinal] == 0 || !eligibility.Includes(constraint, row)⟧) continue;",
        "present[ordinal] == 0",
    ),
    Fault(
        "SchedulingGates: ignored",
        PLUGINS + "scheduling_gates.h",
        "if (⟦gates.empty()⟧) return {};",
        "true",
    ),
    Fault(
        "PrioritySort: by arrival only",
        PLUGINS + "priority_sort.h",
        "if (⟦a.pod->priority != b.pod->priority⟧)",
        "false",
    ),
]
