"""The faults that the differential test must find: one wrong rule each.

The text must be in the file exactly once. The part between ⟦ and ⟧ is an expression, or statements
if it ends with a semicolon; the replacement stands for it. NodeName has none: a waiting pod names
no node. Neither has DefaultBinder: without an API server it only keeps the books.
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
NEAR = PLUGINS + "inter_pod_affinity.h"
TERMS = CLUSTER + "affinity.h"
PREEMPT = PLUGINS + "preemption.h"
REQUESTS = CLUSTER + "pod_requests.h"
TREE = CLUSTER + "node_tree.h"
API = "include/schedfw/api/normalize.h"
FRAMEWORK = "include/schedfw/framework/framework_inl.h"
SCHEDULER = "include/schedfw/scheduler/scheduler_inl.h"

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
        "⟦matching > most⟧ ? kMismatch",
        "matching >= most",
    ),
    Fault(
        "PodTopologySpread: the pod counts itself",
        SPREAD,
        "⟦constraint.selector.Matches(PodLabels(cycle), cycle.snapshot.dictionary())⟧ ? 1 : 0",
        "true",
    ),
    Fault(
        "PodTopologySpread: minDomains",
        SPREAD,
        "enough_domains_ = ⟦domains >= fixed->constraint.min_domains⟧;",
        "domains > fixed->constraint.min_domains",
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
        SPREAD,
        ".selector = selector, .terminating = ⟦false⟧}",
        "true",
    ),
    Fault(
        "PodTopologySpread: other namespaces",
        SPREAD,
        "⟦if (selector.IsNothing() || selector.Empty()) return {};⟧\n"
        "    return cycle.snapshot.CountPods(",
        "if (!selector.IsNothing() && !selector.Empty()) return cycle.snapshot.CountPods("
        "{.any_namespace = true, .selector = selector, .terminating = false});",
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
        "if (⟦a.pod->priority() != b.pod->priority()⟧)",
        "false",
    ),
    Fault(
        "PodTopologySpread: a pod comes or goes",
        SPREAD,
        "c.Change(c.fixed->column->ordinals[node.row()], ⟦delta⟧);",
        "-delta",
    ),
    Fault(
        "PodTopologySpread: what comes to a node that takes no part",
        SPREAD,
        "if (⟦c.fixed->eligible[node.row()] == 0⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: the least follows changes",
        SPREAD,
        "⟦least = std::min(least_of_others_, counts[ordinal]);⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: changes with too few domains",
        SPREAD,
        "if (⟦!enough_domains_⟧) return;",
        "false",
    ),
    Fault(
        "PodTopologySpread: changes in other namespaces",
        SPREAD,
        "if (filter == nullptr || ⟦pod.ns() != cycle.pod.ns()⟧) return {};",
        "false",
    ),
    Fault(
        "PodTopologySpread: changes that the selector leaves out",
        SPREAD,
        "if (⟦!selector.Matches(labels, cycle.snapshot.dictionary())⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: changes of deleting pods",
        SPREAD,
        "if (⟦filter == nullptr⟧ || pod.ns() != cycle.pod.ns()) return {};",
        "filter == nullptr || pod.terminating()",
    ),
    Fault(
        "InterPodAffinity: required affinity",
        NEAR,
        "(first || ⟦counts[ordinals[i]] > 0⟧);",
        "counts[ordinals[i]] >= 0",
    ),
    Fault(
        "InterPodAffinity: a node without the key",
        NEAR,
        "passes = ⟦ordinals[i] != 0⟧ &&",
        "true",
    ),
    Fault(
        "InterPodAffinity: the first of a group, though others match",
        NEAR,
        "first = ⟦state->affinity.total() == 0⟧ && state",
        "true",
    ),
    Fault(
        "InterPodAffinity: the first of a group, itself not matching",
        NEAR,
        "total() == 0 && ⟦state->pod->matches_itself⟧;",
        "true",
    ),
    Fault(
        "InterPodAffinity: required terms one by one",
        NEAR,
        "⟦pod->affinity.And(IncomingMatcher(term, cycle.snapshot));⟧",
        "pod->affinity = IncomingMatcher(term, cycle.snapshot);",
    ),
    Fault(
        "InterPodAffinity: anti-affinity of the pod",
        NEAR,
        "⟦Reject(state->anti, rows, kAntiAffinity, codes);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: anti-affinity of existing pods",
        NEAR,
        "⟦Reject(state->existing_anti, rows, kExistingAntiAffinity, codes);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: anti-affinity to one pod",
        NEAR,
        "codes[i] == 0 && ⟦counts[ordinals[i]] > 0⟧ ? code",
        "counts[ordinals[i]] > 1",
    ),
    Fault(
        "InterPodAffinity: existing anti-affinity, pods without rules",
        NEAR,
        "if (⟦out.existing_anti.total() == 0⟧ && !has_affinity",
        "true",
    ),
    Fault(
        "InterPodAffinity: empty namespaceSelector, every namespace",
        NEAR,
        "out.any_namespace = ⟦term.namespace_selector.Empty()⟧;",
        "false",
    ),
    Fault(
        "InterPodAffinity: namespaceSelector of the pod",
        NEAR,
        "if (⟦term.namespace_selector.Matches(dictionary.InternLabels(ns.metadata.labels),\n       "
        "                                   dictionary)⟧) {",
        "false",
    ),
    Fault(
        "InterPodAffinity: namespaces of the pod",
        NEAR,
        "out.namespaces = ⟦term.namespaces⟧;",
        "std::vector<StringId>{}",
    ),
    Fault(
        "InterPodAffinity: required terms of the pod score",
        NEAR,
        "if (⟦IsRequired(term->kind)⟧) continue;",
        "false",
    ),
    Fault(
        "InterPodAffinity: preferred anti-affinity scores up",
        NEAR,
        "return ⟦-std::int64_t{term.term.weight}⟧;",
        "std::int64_t{term.term.weight}",
    ),
    Fault(
        "InterPodAffinity: weight of preferred affinity",
        NEAR,
        "return ⟦term.term.weight⟧;",
        "std::min(term.term.weight, 99)",
    ),
    Fault(
        "InterPodAffinity: hardPodAffinityWeight",
        NEAR,
        "return ⟦args_.hard_pod_affinity_weight⟧;",
        "1",
    ),
    Fault(
        "InterPodAffinity: ignorePreferredTermsOfExistingPods",
        NEAR,
        "if (⟦args_.ignore_preferred_terms_of_existing_pods⟧ && !prefers)",
        "false",
    ),
    Fault(
        "InterPodAffinity: ignorePreferredTermsOfExistingPods, also if it prefers",
        NEAR,
        "ignore_preferred_terms_of_existing_pods && ⟦!prefers⟧)",
        "true",
    ),
    Fault(
        "InterPodAffinity: nothing found scores 0",
        NEAR,
        "if (⟦out.scores.total() == 0⟧) return Status::Skip();",
        "false",
    ),
    Fault(
        "InterPodAffinity: rounding of the score",
        NEAR,
        "range > 0 ? ⟦static_cast<std::int64_t>(\n                              "
        "static_cast<double>(kMaxNodeScore) *\n                              "
        "(static_cast<double>(score - min) / static_cast<double>(range)))⟧",
        "std::int64_t{std::lround(100.0 * static_cast<double>(score - min) / "
        "static_cast<double>(range))}",
    ),
    Fault(
        "InterPodAffinity: affinity, a pod comes or goes",
        NEAR,
        "⟦filter->affinity.Add(filter->affinity.At(key, cycle.snapshot), row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: anti-affinity, a pod comes or goes",
        NEAR,
        "⟦filter->anti.Add(filter->anti.At(term.topology_key, cycle.snapshot), row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: existing anti-affinity, a pod comes or goes",
        NEAR,
        "⟦counts.Add(counts.At(term.topology_key, cycle.snapshot), row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: what comes must match",
        NEAR,
        "if (⟦!term.matcher.Matches(pod, dictionary)⟧) continue;",
        "false",
    ),
    Fault(
        "InterPodAffinity: own namespace beside others",
        TERMS,
        "if (⟦in.namespaces.empty()⟧ && !in.namespace_selector)",
        "true",
    ),
    Fault(
        "InterPodAffinity: own namespace beside a namespaceSelector",
        TERMS,
        "namespaces.empty() && ⟦!in.namespace_selector⟧)",
        "true",
    ),
    Fault(
        "InterPodAffinity: namespaces of existing pods",
        TERMS,
        "(⟦std::binary_search(namespaces.begin(), namespaces.end(), ns)⟧ ||",
        "false",
    ),
    Fault(
        "InterPodAffinity: namespaceSelector of existing pods",
        TERMS,
        "⟦namespace_selector.Matches(namespace_labels, dictionary)⟧) &&",
        "false",
    ),
    Fault(
        "InterPodAffinity: changes of deleting pods",
        CLUSTER + "pod_matcher.h",
        "⟦(terminating || !pod.terminating())⟧ &&",
        "!pod.terminating()",
    ),
    Fault(
        "API server: matchLabelKeys of affinity",
        API,
        "⟦MergeLabelKeys(term.match_label_keys, SelectorOperator::kIn, pod_labels, "
        "*term.label_selector);⟧",
        "",
    ),
    Fault(
        "API server: mismatchLabelKeys of affinity",
        API,
        "⟦MergeLabelKeys(term.mismatch_label_keys, SelectorOperator::kNotIn, pod_labels,\n         "
        "        *term.label_selector);⟧",
        "",
    ),
    Fault(
        "API server: matchLabelKeys of spread",
        API,
        "constraint.match_label_keys, ⟦SelectorOperator::kIn⟧,",
        "SelectorOperator::kNotIn",
    ),
    Fault(
        "API server: limits become requests",
        API,
        "⟦for (const auto& [name, limit] : resources.limits) resources.requests.try_emplace(name, "
        "limit);⟧",
        "",
    ),
    Fault(
        "API server: ports on the host network",
        API,
        "if (⟦host_network && port.host_port == 0⟧)",
        "false",
    ),
    Fault(
        "API server: default tolerations",
        API,
        "if (⟦add_not_ready⟧) add(not_ready);",
        "false",
    ),
    Fault(
        "API server: default tolerations beside the pod's own",
        API,
        "(t.key.empty() || ⟦t.key == key⟧) &&",
        "false",
    ),
    Fault(
        "API server: default tolerations beside one of another effect",
        API,
        "(⟦t.effect == TaintEffect::kAny || t.effect == TaintEffect::kNoExecute⟧)",
        "true",
    ),
    Fault(
        "API server: default tolerations tolerate NoExecute only",
        API,
        "TolerationOperator::kExists, {}, ⟦TaintEffect::kNoExecute⟧}",
        "TaintEffect::kAny",
    ),
    Fault(
        "API server: the least of the default PriorityClasses",
        API,
        "⟦candidate.value < found->value⟧)",
        "candidate.value > found->value",
    ),
    Fault(
        "API server: preemptionPolicy of the PriorityClass",
        API,
        "if (⟦!spec.preemption_policy && found⟧)",
        "false",
    ),
    Fault(
        "DefaultPreemption: victims of the same priority",
        PREEMPT,
        "finder.UnitsOn(row, ⟦cycle.pod.priority()⟧);",
        "std::int64_t{cycle.pod.priority()} + 1",
    ),
    Fault(
        "DefaultPreemption: preemptionPolicy",
        PREEMPT,
        'if (⟦pod.spec.preemption_policy == "Never"⟧)',
        "false",
    ),
    Fault(
        "DefaultPreemption: not eligible because of pods of its priority",
        PREEMPT,
        "if (⟦finder.PriorityOf(*victim) < cycle.pod.priority()⟧ && IsBeing",
        "true",
    ),
    Fault(
        "DefaultPreemption: eligible beside a preempted pod",
        PREEMPT,
        "&& ⟦IsBeingPreempted(*victim)⟧)",
        "false",
    ),
    Fault(
        "DefaultPreemption: a preempted pod is being deleted",
        PREEMPT,
        "if (⟦!pod.terminating()⟧) return false;",
        "false",
    ),
    Fault(
        "DefaultPreemption: not eligible because of any deletion",
        PREEMPT,
        'return ⟦condition.status == "True" && condition.reason == "PreemptionByScheduler"⟧;',
        "true",
    ),
    Fault(
        "DefaultPreemption: eligible once the nominated node is out",
        PREEMPT,
        "if (⟦status.code() == Code::kUnschedulableAndUnresolvable⟧) return {};",
        "false",
    ),
    Fault(
        "DefaultPreemption: nodes where it doesn't help",
        PREEMPT,
        "⟦diagnosis.status(row).code() == Code::kUnschedulable⟧) out",
        "!diagnosis.status(row).ok()",
    ),
    Fault(
        "DefaultPreemption: one candidate fewer",
        PREEMPT,
        "return ⟦std::min(static_cast<std::size_t>(wanted), potential)⟧;",
        "std::min(static_cast<std::size_t>(wanted), potential) - 1",
    ),
    Fault(
        "DefaultPreemption: minCandidateNodesPercentage",
        PREEMPT,
        "std::max<std::int64_t>(⟦share⟧, args_.",
        "std::int64_t{0}",
    ),
    Fault(
        "DefaultPreemption: minCandidateNodesAbsolute",
        PREEMPT,
        "(share, ⟦args_.min_candidate_nodes_absolute⟧);",
        "0",
    ),
    Fault(
        "DefaultPreemption: goes on until a budget holds",
        PREEMPT,
        "return ⟦unharmed⟧ && candidates.size() >= enough; };",
        "true",
    ),
    Fault(
        "DefaultPreemption: deleting pods are victims",
        PREEMPT,
        "⟦std::erase_if(trials[best].victims, "
        "[](const Victim& v) { return v.pod->terminating(); });⟧",
        "",
    ),
    Fault(
        "DefaultPreemption: the least important is spared first",
        PREEMPT,
        "virtual void SortUnits(const Cycle&, std::vector<VictimUnit>& units) const {\n    "
        "⟦std::sort(units.begin(), units.end(), MoreImportant);⟧",
        "std::sort(units.begin(), units.end(), [](const VictimUnit& a, const VictimUnit& b) { "
        "return MoreImportant(b, a); });",
    ),
    Fault(
        "DefaultPreemption: budgets are spared last",
        PREEMPT,
        "if ((⟦harms[i].violations > 0⟧) != violating) continue;",
        "harms[i].violations == 0",
    ),
    Fault(
        "DefaultPreemption: the most important victim comes first",
        PREEMPT,
        "⟦std::sort(victims.begin(), victims.end());⟧",
        "",
    ),
    Fault(
        "DefaultPreemption: the later start is more important",
        PREEMPT,
        "return ⟦a.earliest_start_ns < b.earliest_start_ns⟧;",
        "a.earliest_start_ns > b.earliest_start_ns",
    ),
    Fault(
        "DefaultPreemption: a budget allows one less",
        PREEMPT,
        "⟦--allowed[i] >= 0⟧) continue;",
        "--allowed[i] > 0",
    ),
    Fault(
        "DefaultPreemption: budgets of other namespaces",
        PREEMPT,
        "if (⟦pod.ns() != budget.ns⟧) return false;",
        "false",
    ),
    Fault(
        "DefaultPreemption: budgets of pods without labels",
        PREEMPT,
        "if (⟦labels.empty()⟧ || !budget",
        "false",
    ),
    Fault(
        "DefaultPreemption: budgets select",
        PREEMPT,
        "|| ⟦!budget.selector.Matches(labels, dictionary_)⟧) return",
        "false",
    ),
    Fault(
        "DefaultPreemption: disruptedPods",
        PREEMPT,
        "return ⟦std::find(gone.begin(), gone.end(), dictionary_.Text(pod.name)) == gone.end()⟧;",
        "true",
    ),
    Fault(
        "DefaultPreemption: empty selectors of budgets",
        PREEMPT,
        "if (⟦!selector || selector->Empty() || selector->IsNothing()⟧) continue;",
        "!selector",
    ),
    Fault(
        "DefaultPreemption: picks by broken budgets",
        PREEMPT,
        "return {⟦trial.violations⟧,",
        "std::int64_t{0}",
    ),
    Fault(
        "DefaultPreemption: picks by the highest priority",
        PREEMPT,
        "-score, ⟦top⟧, sum",
        "0",
    ),
    Fault(
        "DefaultPreemption: picks by the sum of priorities",
        PREEMPT,
        "top, ⟦sum⟧,",
        "0",
    ),
    Fault(
        "DefaultPreemption: picks by the number of victims",
        PREEMPT,
        "⟦trial.victims.size()⟧, -earliest",
        "std::size_t{0}",
    ),
    Fault(
        "DefaultPreemption: picks by the latest start",
        PREEMPT,
        "trial.victims.size(), ⟦-earliest⟧}",
        "std::int64_t{0}",
    ),
    Fault(
        "DefaultPreemption: negative priorities in the sum",
        PREEMPT,
        "sum += ⟦cost + shift⟧;",
        "cost",
    ),
    Fault(
        "DefaultPreemption: start of the most important victims",
        PREEMPT,
        "if (cost > highest || (⟦cost == highest⟧ && start",
        "true",
    ),
    Fault(
        "nominated pods: of the same priority",
        FRAMEWORK,
        "if (⟦nominated->priority() >= pod.priority()⟧ &&",
        "nominated->priority() > pod.priority()",
    ),
    Fault(
        "nominated pods: the pod itself",
        FRAMEWORK,
        "&& ⟦nominated->Key() != pod.Key()⟧ &&",
        "true",
    ),
    Fault(
        "nominated pods: of other schedulers",
        FRAMEWORK,
        "(⟦scheduler_names_.empty()⟧ || std::find(scheduler_names_",
        "true",
    ),
    Fault(
        "nominated pods: not left room for",
        FRAMEWORK,
        "⟦FilterNominated(cycle);⟧",
        "",
    ),
    Fault(
        "nominated pods: counted on",
        FRAMEWORK,
        "if (⟦status.ok()⟧) continue;\n      verdicts_[*row]",
        "status.ok() && (verdicts_[*row] = Verdict{}, true)",
    ),
    Fault(
        "nominated pods: not left room for when preempting",
        FRAMEWORK,
        "if (⟦!nominated.empty()⟧) {\n      Status status = FilterWith",
        "false",
    ),
    Fault(
        "nominated pods: counted on when preempting",
        FRAMEWORK,
        "⟦return RunFilterPluginsOnNode({dry_run.view(), pod, state}, row);⟧",
        "if (nominated.empty()) return RunFilterPluginsOnNode({dry_run.view(), pod, state}, row); "
        "else return {};",
    ),
    Fault(
        "nominated pods: the plugins aren't told",
        FRAMEWORK,
        "status = ⟦RunPreFilterExtensionAddPod(cycle, with, *nominated[added], row)⟧;",
        "Status()",
    ),
    Fault(
        "weights of plugins",
        FRAMEWORK,
        "total_[i] += row[i] * ⟦weight⟧;",
        "1",
    ),
    Fault(
        "placing: what is placed takes no room",
        SCHEDULER,
        "if (⟦!result.status.ok()⟧) return result;\n    if (Status status = BindAt",
        "true",
    ),
    Fault(
        "placing: pods that are being deleted",
        SCHEDULER,
        "if (⟦pod->terminating⟧) continue;\n      const auto timestamp",
        "false",
    ),
    Fault(
        "sampling: percentage",
        SCHEDULER,
        "percentage = ⟦std::max(50 - all / 125, kLeastPercentage)⟧;",
        "std::max(49 - all / 125, kLeastPercentage)",
    ),
    Fault(
        "sampling: percentage, the least",
        SCHEDULER,
        "percentage = std::max(50 - all / 125, ⟦kLeastPercentage⟧);",
        "std::int64_t{4}",
    ),
    Fault(
        "sampling: percentage of the profile",
        SCHEDULER,
        "percentage =\n        "
        "⟦framework.profile().percentage_of_nodes_to_score().value_or(percentage_of_nodes_to_score_"
        ")⟧;",
        "percentage_of_nodes_to_score_",
    ),
    Fault(
        "sampling: at least 100",
        SCHEDULER,
        "return ⟦std::max(static_cast<std::size_t>(all * percentage / 100), kLeast)⟧;",
        "static_cast<std::size_t>(all * percentage / 100)",
    ),
    Fault(
        "sampling: one is enough without scores",
        SCHEDULER,
        "if (⟦!framework.HasScorePlugins()⟧) return 1;",
        "false",
    ),
    Fault(
        "sampling: the start moves on",
        SCHEDULER,
        "⟦start_index_ = (start_index_ + evaluated) % snapshot.size();⟧",
        "",
    ),
    Fault(
        "sampling: one more than enough ends it",
        SCHEDULER,
        "if (⟦!framework.HasFilterPlugins()⟧ && found",
        "true",
    ),
    Fault(
        "sampling: zones in turn",
        SCHEDULER,
        "std::span<const Row> order = ⟦snapshot.TreeOrder()⟧;",
        "snapshot.NameRank()",
    ),
    Fault(
        "sampling: the nominated node first",
        SCHEDULER,
        "nominated = ⟦snapshot.Find(pod.pod->status.nominated_node_name)⟧)",
        'snapshot.Find("")',
    ),
    Fault(
        "sampling: the nominated node, if rejected, counts",
        SCHEDULER,
        "rejected += ⟦tried ? 1 : 0⟧;",
        "0",
    ),
    Fault(
        "sampling: the nominated node counts once",
        SCHEDULER,
        "⟦if (row == tried) tried.reset();⟧",
        "",
    ),
    Fault(
        "sampling: zones of regions",
        TREE,
        'return ⟦region + std::string(":\\0:", 3) + zone⟧;',
        "zone",
    ),
    Fault(
        "sampling: old labels of zones",
        TREE,
        "for (const char* key : {⟦beta⟧, stable})",
        "stable",
    ),
]
