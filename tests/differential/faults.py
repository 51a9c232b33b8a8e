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
SPREAD_COUNTS = PLUGINS + "spread_counts.h"
NEAR = PLUGINS + "inter_pod_affinity.h"
NEAR_COUNTS = PLUGINS + "affinity_counts.h"
TERMS = CLUSTER + "affinity.h"
PREEMPT = PLUGINS + "preemption.h"
REQUESTS = CLUSTER + "pod_requests.h"
TREE = CLUSTER + "node_tree.h"
COUNTS = CLUSTER + "domains.h"
CHANGES = CLUSTER + "row_changes.h"
ROWS = CLUSTER + "cluster.h"
PLANS = CLUSTER + "pod_plans.h"
API = "include/schedfw/api/normalize.h"
FRAMEWORK = "include/schedfw/framework/framework_inl.h"
GROUPS = "include/schedfw/framework/plan_cache.h"
PLUGIN = "include/schedfw/framework/plugin.h"
SCHEDULER = "include/schedfw/scheduler/scheduler_inl.h"

FAULTS = [
    Fault(
        "NodeResourcesFit: one pod fewer",
        FIT,
        "simd::Mask(⟦have[i] >= allowed[i]⟧)",
        "have[i] + 1 >= allowed[i]",
    ),
    Fault(
        "NodeResourcesFit: a node that would be full",
        FIT,
        "lacks = simd::Mask(⟦amount > has[i] - taken[i]⟧);",
        "amount >= has[i] - taken[i]",
    ),
    Fault(
        "NodeResourcesFit: never fits if it fills the node",
        FIT,
        "never = simd::Mask(⟦amount > has[i]⟧);",
        "amount >= has[i]",
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
        "part = kMost ? c[i] - left : ⟦left⟧;",
        "std::min(left + 1, c[i])",
    ),
    Fault(
        "NodeResourcesFit: MostAllocated above capacity",
        FIT,
        "part = kMost ? ⟦c[i] - left⟧ : left;",
        "u[i] + request > c[i] ? std::int64_t{0} : c[i] - left",
    ),
    Fault(
        "NodeResourcesFit: weights count once",
        FIT,
        "weight_sum[i] += ⟦static_cast<std::int32_t>(~lacks) & weight⟧;",
        "static_cast<std::int32_t>(~lacks) & 1",
    ),
    Fault(
        "NodeResourcesFit: the mean, rounded up",
        FIT,
        "mean[i] = static_cast<std::int32_t>(⟦static_cast<float>(sum[i])⟧ /",
        "static_cast<float>(sum[i] + weight[i] - lacks - 1)",
    ),
    Fault(
        "NodeResourcesFit: a resource that the node lacks counts",
        FIT,
        "weight_sum[i] += static_cast<std::int32_t>(⟦~lacks⟧) & weight;",
        "std::int64_t{-1}",
    ),
    Fault(
        "NodeResourcesFit: great amounts aren't told apart",
        FIT,
        "⟦!AreDoubleAmounts(bits)⟧",
        "false",
    ),
    Fault(
        "NodeResourcesFit: great amounts, LeastAllocated",
        FIT,
        ": ⟦Percent(capacity - requested, capacity)⟧;",
        "Percent(std::min(capacity - requested + 1, capacity), capacity)",
    ),
    Fault(
        "NodeResourcesFit: great amounts, MostAllocated above capacity",
        FIT,
        "Percent(⟦std::min(requested, capacity)⟧, capacity)",
        "requested > capacity ? std::int64_t{0} : requested",
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
        "with =\n"
        "                std::abs(⟦((with_a < 1.0 ? with_a : 1.0) - (with_b < 1.0 ? with_b : "
        "1.0)) / 2⟧);",
        "(with_a < 1.0 ? with_a : 1.0) - (with_b < 1.0 ? with_b : 1.0)",
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
        "static_cast<std::int32_t>((1 - ⟦without⟧) * 100.0);",
        "with",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: a node that lacks one",
        BALANCED,
        "both = ⟦~(lacks_a | lacks_b)⟧;",
        "std::int64_t{-1}",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: more than the node has",
        BALANCED,
        "without_a = ⟦simd::ToDouble(taken_a[i])⟧ / whole_a;",
        "simd::ToDouble(taken_a[i] + request_a)",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: two of several resources",
        BALANCED,
        "deviation = ⟦std::abs((fractions[0] - fractions[1]) / 2)⟧;",
        "std::abs(fractions[0] - fractions[1])",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: several resources, not before the pod",
        BALANCED,
        "⟦Balance(*state, rows[i], /*with_pod=*/false, fractions)⟧",
        "Balance(*state, rows[i], /*with_pod=*/true, fractions)",
    ),
    Fault(
        "NodeResourcesBalancedAllocation: best effort is scored",
        BALANCED,
        "if (⟦IsBestEffort(cycle, columns_)⟧) return Status::Skip();",
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
        "scaled = ⟦kMaxNodeScore * scores[i] / bounds.max⟧;",
        "(kMaxNodeScore * scores[i] + bounds.max - 1) / bounds.max",
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
        "if (⟦state->added && !state->added->Matches(rows[i])⟧) code",
        "code == 0 && state->added && !state->added->Matches(rows[i])",
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
        "sum = ⟦out[i] < kMinThreshold⟧   ? kMinThreshold",
        "false",
    ),
    Fault(
        "ImageLocality: spread of an image",
        IMAGES,
        "⟦static_cast<std::int64_t>(static_cast<double>(state->size_bytes) * spread)⟧",
        "spread < 1 ? state->size_bytes : state->size_bytes",
    ),
    Fault(
        "ImageLocality: an image that nodes have",
        IMAGES,
        "if (⟦cycle.snapshot.Image(image) != nullptr⟧) return std::nullopt;",
        "false",
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
        "c.self = ⟦selector.Matches(PodLabels(cycle), cycle.snapshot.dictionary())⟧ ? 1 : 0;",
        "true",
    ),
    Fault(
        "PodTopologySpread: minDomains",
        SPREAD_COUNTS,
        "enough_domains_ = ⟦domains >= fixed->constraint.min_domains⟧;",
        "domains > fixed->constraint.min_domains",
    ),
    Fault(
        "PodTopologySpread: every key is needed",
        SPREAD_COUNTS,
        "if (⟦key_.require_all_keys⟧) {",
        "false",
    ),
    Fault(
        "PodTopologySpread: every node has the key",
        SPREAD_COUNTS,
        "all_take_part =\n          ⟦fixed->complete⟧ &&",
        "true",
    ),
    Fault(
        "PodTopologySpread: every node has the keys of the others",
        SPREAD_COUNTS,
        "[](const LabelColumn* column) { return ⟦column->complete⟧; })) &&",
        "true",
    ),
    Fault(
        "PodTopologySpread: every node takes part, nodeAffinityPolicy",
        SPREAD_COUNTS,
        "(⟦!fixed->constraint.honor_affinity⟧ || affinity.Empty())",
        "true",
    ),
    Fault(
        "PodTopologySpread: every node takes part, nodeTaintsPolicy",
        SPREAD_COUNTS,
        "(⟦!fixed->constraint.honor_taints⟧ || untolerated.empty());",
        "true",
    ),
    Fault(
        "PodTopologySpread: nodes that take no part",
        SPREAD_COUNTS,
        "if (⟦!takes_part(fixed->constraint, row)⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: domains without pods",
        SPREAD_COUNTS,
        "if (i != but && ⟦counts[i] != kNoDomain⟧)",
        "counts[i] > 0",
    ),
    Fault(
        "PodTopologySpread: nodes without the key are a domain",
        SPREAD_COUNTS,
        "fixed->empty_value = ⟦key_.require_all_keys ? 0 : columns[i]->OrdinalOf(0)⟧;",
        "0",
    ),
    Fault(
        "PodTopologySpread: nodeAffinityPolicy Honor",
        SPREAD_COUNTS,
        "if (⟦constraint.honor_affinity && !affinity.Matches(row)⟧) return false;",
        "false",
    ),
    Fault(
        "PodTopologySpread: nodeAffinityPolicy of another constraint",
        SPREAD_COUNTS,
        "if (⟦constraint.honor_affinity⟧ && !affinity.Matches(row)) return false;",
        "true",
    ),
    Fault(
        "PodTopologySpread: nodeTaintsPolicy",
        SPREAD_COUNTS,
        "return ⟦!constraint.honor_taints⟧ || untolerated.empty()",
        "true",
    ),
    Fault(
        "PodTopologySpread: deleting pods",
        SPREAD_COUNTS,
        ".selector = selector, .terminating = ⟦false⟧}",
        "true",
    ),
    Fault(
        "PodTopologySpread: other namespaces",
        SPREAD_COUNTS,
        "⟦if (selector.IsNothing() || selector.Empty()) return nullptr;⟧",
        "if (selector.IsNothing() || selector.Empty()) return nullptr; return "
        "std::make_shared<const PodMatcher>(PodMatcher{.any_namespace = true, .selector = "
        "selector, .terminating = false});",
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
        "c.addend = static_cast<double>(⟦count.fixed->constraint.max_skew - 1⟧);",
        "count.fixed->constraint.max_skew",
    ),
    Fault(
        "PodTopologySpread: rounding of the score",
        SPREAD,
        "rounded[i] = ⟦whole + twice⟧;",
        "whole",
    ),
    Fault(
        "PodTopologySpread: rounding of great scores",
        SPREAD,
        "static_cast<std::int64_t>(⟦std::round(sums[i])⟧);",
        "sums[i]",
    ),
    Fault(
        "PodTopologySpread: nodes without a key score",
        SPREAD,
        "⟦out[i] = state->ignored[rows[i]] != 0 ? 0 : out[i];⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: nodes without a key count for the bounds",
        SPREAD,
        "if (⟦state->ignored[rows[i]] == 0⟧) bounds",
        "true",
    ),
    Fault(
        "PodTopologySpread: nodes without the hostname score",
        SPREAD,
        "simd::Mask(⟦ordinal[i] != 0⟧)",
        "true",
    ),
    Fault(
        "PodTopologySpread: nodes without the zone score",
        SPREAD,
        "⟦c.scores[0] = 0;⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: defaults of another pod",
        SPREAD,
        "(⟦known.plan != pod.plan && !HaveSameDefaults(*known.plan, *pod.plan)⟧)) {",
        "false",
    ),
    Fault(
        "PodTopologySpread: one domain for all values",
        SPREAD,
        "return ⟦std::popcount(seen)⟧;",
        "std::popcount(seen) != 0 ? 1 : 0",
    ),
    Fault(
        "PodTopologySpread: normalized score",
        SPREAD,
        "simd::ToDouble(⟦max + min - score[i]⟧) * 100 /",
        "max - score[i]",
    ),
    Fault(
        "PodTopologySpread: domains of nodes that don't fit",
        SPREAD,
        "CountDomains(*count.fixed, out, ⟦feasible.rows⟧);",
        "std::span<const Row>(cycle.snapshot.NameRank())",
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
        "if (⟦a.priority != b.priority⟧)",
        "false",
    ),
    Fault(
        "PodTopologySpread: a pod comes or goes",
        SPREAD,
        "c.count.Change(fixed.column->ordinals[node.row()], ⟦delta⟧);",
        "-delta",
    ),
    Fault(
        "PodTopologySpread: what comes to a node that takes no part",
        SPREAD,
        "if (⟦fixed.eligible[node.row()] == 0⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: the least follows changes",
        SPREAD_COUNTS,
        "⟦least = std::min(least_of_others_, counts[ordinal]);⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: changes with too few domains",
        SPREAD_COUNTS,
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
        "if (⟦!fixed.constraint.selector.Matches(labels, cycle.snapshot.dictionary())⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: changes of deleting pods",
        SPREAD,
        "if (⟦filter == nullptr⟧ || pod.ns() != cycle.pod.ns()) return {};",
        "filter == nullptr || pod.terminating()",
    ),
    Fault(
        "PodTopologySpread: what is kept, as it was",
        SPREAD_COUNTS,
        "delta = ⟦pods[row] - known[row]⟧;",
        "0",
    ),
    Fault(
        "PodTopologySpread: what is kept, counted twice",
        SPREAD_COUNTS,
        "⟦known[row] = pods[row];⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: what is kept, nodes that take no part",
        SPREAD_COUNTS,
        "if (⟦count.fixed->eligible[row] == 0⟧) continue;",
        "false",
    ),
    Fault(
        "PodTopologySpread: what is kept, the least",
        SPREAD_COUNTS,
        "⟦if (counts != nullptr) count.FindLeast();⟧",
        "",
    ),
    Fault(
        "PodTopologySpread: what is kept for other constraints",
        SPREAD_COUNTS,
        "⟦key.constraints != constraints⟧",
        "false",
    ),
    Fault(
        "PodTopologySpread: what is kept for another node affinity",
        SPREAD_COUNTS,
        "⟦key.affinity != required⟧",
        "false",
    ),
    Fault(
        "PodTopologySpread: what is kept for other tolerations",
        SPREAD_COUNTS,
        "⟦key.tolerations != tolerations⟧",
        "false",
    ),
    Fault(
        "InterPodAffinity: required affinity",
        NEAR,
        "(first || ⟦counts[ordinal] > 0⟧);",
        "counts[ordinal] >= 0",
    ),
    Fault(
        "InterPodAffinity: a node without the key",
        NEAR,
        "passes = ⟦ordinal != 0⟧ && (first",
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
        "⟦all.And(matcher);⟧",
        "all = matcher;",
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
        "codes[i] == 0 && ⟦counts[ordinals[rows[i]]] > 0⟧ ? code",
        "counts[ordinals[rows[i]]] > 1",
    ),
    Fault(
        "InterPodAffinity: existing anti-affinity, pods without rules",
        NEAR,
        "if (⟦out.existing_anti.total() == 0⟧ && pod.affinity == nullptr",
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
        "⟦pod->affinity_keys.push_back(term->term.topology_key);⟧",
        "pod->affinity_keys.push_back(term->term.topology_key); "
        "pod->preferred.push_back({std::make_shared<const PodMatcher>(matcher), "
        "term->term.topology_key, Weight(*term)});",
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
        "if (⟦args_.ignore_preferred_terms_of_existing_pods⟧ && pod",
        "false",
    ),
    Fault(
        "InterPodAffinity: ignorePreferredTermsOfExistingPods, also if it prefers",
        NEAR,
        "ignore_preferred_terms_of_existing_pods && ⟦pod.preferred.empty()⟧)",
        "true",
    ),
    Fault(
        "InterPodAffinity: nothing found scores 0",
        NEAR,
        "if (⟦out.scores.total() != 0⟧) return {};",
        "true",
    ),
    Fault(
        "InterPodAffinity: rounding of the score",
        NEAR,
        "range > 0\n"
        "                      ? "
        "⟦static_cast<std::int64_t>(static_cast<double>(kMaxNodeScore) *\n"
        "                                                  (static_cast<double>(scores[i] - "
        "bounds.min) /\n"
        "                                                   static_cast<double>(range)))⟧",
        "std::int64_t{std::lround(100.0 * static_cast<double>(scores[i] - bounds.min) / "
        "static_cast<double>(range))}",
    ),
    Fault(
        "InterPodAffinity: affinity, a pod comes or goes",
        NEAR,
        "⟦filter->affinity.Change(key, cycle.snapshot, row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: anti-affinity, a pod comes or goes",
        NEAR,
        "⟦filter->anti.Change(term.topology_key, cycle.snapshot, row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: existing anti-affinity, a pod comes or goes",
        NEAR,
        "⟦filter->existing_anti.Change(term.topology_key, cycle.snapshot, row, delta);⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: what comes must match",
        NEAR,
        "if (⟦!term.matcher->Matches(pod, dictionary)⟧) continue;",
        "false",
    ),
    Fault(
        "InterPodAffinity: changes of nodes without the key",
        NEAR_COUNTS,
        "if (⟦ordinal == 0⟧) return;",
        "false",
    ),
    Fault(
        "InterPodAffinity: counts of nodes without the key",
        NEAR_COUNTS,
        "if (⟦ordinal == 0⟧ || pods == 0) return;",
        "false",
    ),
    Fault(
        "InterPodAffinity: how many pods were found",
        NEAR_COUNTS,
        "counts.Mutable()[ordinal] += pods;\n    ⟦total += pods;⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: how many pods are left",
        NEAR_COUNTS,
        "⟦total_ += pods;⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: the weight of the first term of a key",
        NEAR_COUNTS,
        "if (it == domains_.end() && ⟦weight == 1⟧) {",
        "true",
    ),
    Fault(
        "InterPodAffinity: several terms of a key",
        NEAR_COUNTS,
        "sums[i] += ⟦count.counts[i] * weight⟧;",
        "it == domains_.end() ? count.counts[i] * weight : std::int64_t{0}",
    ),
    Fault(
        "InterPodAffinity: what is kept, as it was",
        NEAR_COUNTS,
        "match.count.Add(row, ⟦pods[row] - match.known[row]⟧);",
        "0",
    ),
    Fault(
        "InterPodAffinity: what is kept, counted twice",
        NEAR_COUNTS,
        "⟦match.known[row] = pods[row];⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: what is kept for another matcher",
        NEAR_COUNTS,
        "if (match->key != key || ⟦!(*match->matcher == *matcher)⟧) continue;",
        "false",
    ),
    Fault(
        "InterPodAffinity: what is kept for another key",
        NEAR_COUNTS,
        "if (⟦match->key != key⟧ || !(",
        "false",
    ),
    Fault(
        "InterPodAffinity: terms of existing pods, as they were",
        NEAR_COUNTS,
        "⟦term.version != counts.version(id)⟧",
        "false",
    ),
    Fault(
        "InterPodAffinity: terms of existing pods, which is the latest",
        CLUSTER + "term_counts.h",
        "⟦entry.version = version;⟧",
        "",
    ),
    Fault(
        "InterPodAffinity: rules of another pod",
        NEAR,
        "if (⟦out.plan == cycle.pod.plan⟧ && out.objects_id",
        "out.plan != nullptr",
    ),
    Fault(
        "InterPodAffinity: terms that select another pod",
        NEAR,
        "⟦out.selected_by.clear();⟧",
        "",
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
        "⟦candidate.value < out.object->value⟧)",
        "candidate.value > out.object->value",
    ),
    Fault(
        "API server: preemptionPolicy of the PriorityClass",
        API,
        "if (⟦!spec.preemption_policy && found->object⟧)",
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
        "if (⟦status.ok()⟧) continue;\n    rejected_by_[*row]",
        "status.ok() && (rejected_by_[*row] == 0 || (rejected_by_[*row] = 0, "
        "feasible_.insert(std::lower_bound(feasible_.begin(), feasible_.end(), *row), *row), "
        "true))",
    ),
    Fault(
        "nominated pods: not left room for when preempting",
        FRAMEWORK,
        "if (⟦!nominated.empty()⟧) {\n    Status status = FilterWith",
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
        "⟦static_cast<std::int32_t>(w)⟧;",
        "1",
    ),
    Fault(
        "counts of pods: what comes",
        COUNTS,
        "tracker.counts.Mutable()[row] += ⟦delta⟧;",
        "0",
    ),
    Fault(
        "counts of pods: of other namespaces",
        COUNTS,
        "if (⟦!matcher->MatchesNamespace(pod.ns())⟧) return false;",
        "false",
    ),
    Fault(
        "counts of pods: deleting pods",
        COUNTS,
        "if (⟦pod.terminating() && !matcher->terminating⟧) return false;",
        "false",
    ),
    Fault(
        "counts of pods: answers for other labels",
        COUNTS,
        "answer = matcher->selector.Matches(labels, dictionary) ? 2 : 1;\n"
        "      }\n"
        "      return ⟦answer == 2⟧;",
        "known.back() == 2",
    ),
    Fault(
        "counts of pods: of another matcher",
        COUNTS,
        "if (⟦*tracker.matcher != *matcher⟧) continue;",
        "tracker.matcher->namespaces != matcher->namespaces",
    ),
    Fault(
        "changes of rows: not said",
        ROWS,
        "⟦state_.generations_.Set(row, Advance());⟧",
        "Advance();",
    ),
    Fault(
        "changes of rows: not said of blocks",
        ROWS,
        "⟦state_.block_generations_.Set(row / kRowsOfBlock, state_.generation_);⟧",
        "",
    ),
    Fault(
        "changes of rows: said of the first block only",
        ROWS,
        "block_generations_.Set(⟦row / kRowsOfBlock⟧, state",
        "row * 0",
    ),
    Fault(
        "changes of rows: the first of a block",
        CHANGES,
        "⟦changed.push_back(row);⟧",
        "if (row != begin) changed.push_back(row);",
    ),
    Fault(
        "changes of rows: the last of a block",
        CHANGES,
        "end = std::min(snapshot.size(), ⟦begin + kRowsOfBlock⟧);",
        "begin + kRowsOfBlock - 1",
    ),
    Fault(
        "changes of rows: other blocks than the first",
        CHANGES,
        "if (⟦blocks[b] == blocks_[b]⟧) continue;",
        "b != 0 || blocks[b] == blocks_[b]",
    ),
    Fault(
        "pods on nodes: cpu by default",
        ROWS,
        "state_.non_zero_cpu_.Mutable()[row] += ⟦sign * pod.plan->non_zero_cpu⟧;",
        "0",
    ),
    Fault(
        "pods on nodes: what they take",
        ROWS,
        "state_.requested_, request.resource).Mutable()[row] += ⟦sign * request.amount⟧;",
        "0",
    ),
    Fault(
        "pods on nodes: ports",
        ROWS,
        "⟦state_.host_port_pods_.Mutable()[row] += sign;⟧",
        "state_.host_port_pods_.Mutable()[row] = 0;",
    ),
    Fault(
        "pods on nodes: how many",
        ROWS,
        "⟦state_.pod_count_.Mutable()[row] += sign;⟧",
        "",
    ),
    Fault(
        "plans of pods: other tolerations",
        PLANS,
        "⟦x.tolerations == y.tolerations⟧",
        "true",
    ),
    Fault(
        "plans of pods: another affinity",
        PLANS,
        "⟦x.affinity == y.affinity⟧",
        "true",
    ),
    Fault(
        "plans of pods: another node selector",
        PLANS,
        "⟦x.node_selector == y.node_selector⟧",
        "true",
    ),
    Fault(
        "plans of pods: other constraints of spread",
        PLANS,
        "⟦x.topology_spread_constraints == y.topology_spread_constraints⟧",
        "true",
    ),
    Fault(
        "plans of pods: other labels",
        PLANS,
        "return ⟦m.labels == n.labels⟧ &&",
        "true",
    ),
    Fault(
        "plans of pods: another owner",
        PLANS,
        "⟦m.owner_references == n.owner_references⟧",
        "true",
    ),
    Fault(
        "plans of pods: other init containers",
        PLANS,
        "⟦x.init_containers == y.init_containers⟧",
        "true",
    ),
    Fault(
        "plans of pods: resizes",
        PLANS,
        "⟦s.container_statuses == t.container_statuses⟧",
        "true",
    ),
    Fault(
        "groups of nodes: by label",
        FRAMEWORK,
        "? ⟦std::int64_t{ordinal} - kNoLabel⟧",
        "-kNoLabel",
    ),
    Fault(
        "groups of nodes: by the counts of single nodes",
        FRAMEWORK,
        ": ⟦column.counts[ordinal]⟧;",
        "std::int64_t{0}",
    ),
    Fault(
        "groups of nodes: by matching pods",
        FRAMEWORK,
        "out[i * key_size] = ⟦pods[rows[i]]⟧;",
        "0",
    ),
    Fault(
        "groups of nodes: by scores that are normalised",
        FRAMEWORK,
        "key_buffer_[i * key_size + at] = ⟦scores[i]⟧;",
        "0",
    ),
    Fault(
        "groups of nodes: by the counts of labels in common",
        PLUGIN,
        "{&column, ⟦column.unique⟧ ? by_ordinal",
        "true",
    ),
    Fault(
        "groups of nodes: the hostname",
        SPREAD,
        "if (⟦c.by_host && c.fixed->matcher⟧) out",
        "false",
    ),
    Fault(
        "groups of nodes: columns of spread",
        SPREAD,
        "if (⟦!c.by_host || !c.fixed->complete⟧) out",
        "false",
    ),
    Fault(
        "groups of nodes: columns of affinity",
        NEAR,
        "if (⟦state != nullptr⟧) AddColumns(state->scores, out);",
        "false",
    ),
    Fault(
        "groups of nodes: filters that ask for the group",
        FRAMEWORK,
        "if (⟦all_codes[i] != 0⟧) continue;",
        "false",
    ),
    Fault(
        "groups of nodes: filters that ask for the node",
        FRAMEWORK,
        "if (⟦all_codes[i] == 0⟧) {\n      cache.Pass",
        "true",
    ),
    Fault(
        "groups of nodes: how many nodes they have",
        SPREAD,
        ": ⟦std::int64_t{feasible.counts[i]}⟧;",
        "std::int64_t{0}",
    ),
    Fault(
        "groups of nodes: weights of plugins",
        FRAMEWORK,
        "AddWeighted(scores, ⟦entry.weight⟧, static_cast<Row>(left), totals)",
        "1",
    ),
    Fault(
        "groups of nodes: scores of the node alone",
        FRAMEWORK,
        "totals[i] = ⟦cache.sum(group_rows_[i])⟧ + uniform_total;",
        "0",
    ),
    Fault(
        "groups of nodes: the first by name of several",
        FRAMEWORK,
        "⟦cache.rank(group_rows_[i]) < cache.rank(group_rows_[best])⟧",
        "false",
    ),
    Fault(
        "groups of nodes: too many",
        GROUPS,
        "⟦too_many_groups = true;⟧",
        "",
    ),
    Fault(
        "groups of nodes: a node that fits no more",
        GROUPS,
        "Leave(row);\n    ⟦group_of_[row] = kNone;⟧",
        "",
    ),
    Fault(
        "groups of nodes: a node that scores less",
        GROUPS,
        "if (group_of_[row] == group && ⟦sum_[row] == sum⟧) return;",
        "true",
    ),
    Fault(
        "groups of nodes: a node in another group",
        GROUPS,
        "if (⟦group_of_[row] == group⟧ && sum_[row] == sum) return;",
        "group_of_[row] != kNone",
    ),
    Fault(
        "groups of nodes: what is no longer so",
        GROUPS,
        "while (⟦!IsCurrent(heap.front(), group)⟧) {",
        "false",
    ),
    Fault(
        "groups of nodes: what scored more",
        GROUPS,
        "group_of_[candidate.row] == group && ⟦sum_[candidate.row] == candidate.sum⟧;",
        "true",
    ),
    Fault(
        "groups of nodes: the last by name in a group",
        GROUPS,
        ": ⟦a.rank > b.rank⟧;",
        "a.rank < b.rank",
    ),
    Fault(
        "groups of nodes: the order of the first nodes",
        GROUPS,
        "⟦std::make_heap(heap.begin(), heap.end(), IsWorse);⟧",
        "",
    ),
    Fault(
        "groups of nodes: the order of what came later",
        GROUPS,
        "⟦std::push_heap(heap.begin(), heap.end(), IsWorse);⟧",
        "",
    ),
    Fault(
        "groups of nodes: the order after sweeping",
        GROUPS,
        "{ return ⟦IsWorse(b, a)⟧; }",
        "IsWorse(a, b)",
    ),
    Fault(
        "placing: what is placed takes no room",
        SCHEDULER,
        "if (⟦result.status.ok()⟧) {\n    if (Status status = BindAt",
        "false",
    ),
    Fault(
        "placing: pods that are being deleted",
        SCHEDULER,
        "if (⟦pod->terminating()⟧) continue;\n    const auto timestamp",
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
        "⟦framework.profile().percentage_of_nodes_to_score().value_or(percentage_of_nodes_to_"
        "score_)⟧;",
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
        "for (std::size_t i = 0; ⟦i < order.size()⟧; ++i) {\n    const Row row = order[(start",
        "i < order.size() && found.size() < enough",
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
        "? ⟦snapshot.Find(nomination)⟧",
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
