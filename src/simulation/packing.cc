#include "schedfw/simulation/packing.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "io/json_number.h"
#include "schedfw/api/normalize.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/framework/config.h"
#include "schedfw/plugins/registry.h"

namespace schedfw {

namespace {

struct PolicyNames {
  std::string_view name, published, plugin;
};
constexpr std::array<PolicyNames, kPackPolicyCount> kPolicies = {{
    {"random", "01-Random", "GpuRandom"},
    {"dotprod", "02-DotProd", "DotProduct"},
    {"clustering", "03-GpuClustering", "GpuClustering"},
    {"packing", "04-GpuPacking", "GpuPacking"},
    {"bestfit", "05-BestFit", "BestFit"},
    {"fgd", "06-FGD", "FragmentationGradientDescent"},
}};
const PolicyNames& NamesOf(PackPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

constexpr std::int64_t kPodsOfNode = 1001;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

// As Python's round(x, 2): the decimal number that is nearest to the double itself.
double Round2(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.2f", value);
  return std::strtod(text, nullptr);
}

// The profile of a policy, as a KubeSchedulerConfiguration.
std::string ConfigOf(PackPolicy policy, const std::vector<TypicalPod>& typical,
                     std::uint64_t seed) {
  const std::string plugin(NamesOf(policy).plugin);
  std::string args;
  if (policy == PackPolicy::kRandom) {
    args = R"({"name": "GpuRandom", "args": {"seed": )" +
           std::to_string(seed & std::numeric_limits<std::int64_t>::max()) + "}}";
  } else if (policy == PackPolicy::kFragmentationGradientDescent) {
    for (const TypicalPod& pod : typical) {
      args += std::string(args.empty() ? "" : ", ") + R"({"cpuMilli": )" +
              std::to_string(pod.cpu_milli) + R"(, "gpus": )" + std::to_string(pod.gpus) +
              R"(, "gpuMilli": )" + std::to_string(pod.gpu_milli) + R"(, "models": )";
      io::AppendJsonString(pod.models, &args);
      args += R"(, "weight": )" + internal::NumberText(pod.weight) + "}";
    }
    args = R"({"name": ")" + plugin + R"(", "args": {"typicalPods": [)" + args + "]}}";
  }
  const auto only = [](const std::string& point, const std::string& enabled) {
    return "\"" + point + R"(": {"disabled": [{"name": "*"}], "enabled": [)" + enabled + "]}";
  };
  return R"({"apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {)" +
         only("multiPoint",
              R"({"name": "PrioritySort"}, {"name": "NodeResourcesFit"}, {"name": "DeviceShare"},
                 {"name": "DefaultBinder"}, {"name": ")" +
                  plugin + "\"}") +
         R"(, "preScore": {"disabled": [{"name": "NodeResourcesFit"}]},
            "score": {"disabled": [{"name": "NodeResourcesFit"}]}},
       "pluginConfig": [)" +
         args + "]}]}";
}

// A name with its rank before it, so that of equal nodes the one with the lower rank comes first.
std::string RankedName(std::uint32_t rank, const std::string& name) {
  char text[16];
  std::snprintf(text, sizeof(text), "%08u-", rank);
  return text + name;
}

api::Node NodeOf(const GpuTraceNode& node, std::uint32_t rank) {
  api::Node out;
  out.metadata.name = RankedName(rank, node.name);
  if (node.gpus > 0) out.metadata.labels[std::string(kGpuModelKey)] = node.model;
  out.status.capacity = {{"cpu", Quantity::FromMilli(node.cpu_milli)},
                         {"memory", Quantity::FromUnits(node.memory_mib * kMebibyte)},
                         {"pods", Quantity::FromUnits(kPodsOfNode)}};
  if (node.gpus > 0) {
    out.status.capacity[std::string(kGpuResource)] = Quantity::FromUnits(node.gpus);
  }
  return out;
}

// All but its name.
api::Pod PodOf(const GpuTracePod& pod) {
  api::Pod out;
  out.metadata.ns = "default";
  api::Container& container = out.spec.containers.emplace_back();
  container.name = "main";
  api::ResourceList& requests = container.resources.requests;
  requests = {{"cpu", Quantity::FromMilli(pod.cpu_milli)},
              {"memory", Quantity::FromUnits(pod.memory_mib * kMebibyte)}};
  if (pod.gpus > 0) {
    api::StringMap& annotations = out.metadata.annotations;
    annotations[std::string(kGpuMilliAnnotation)] = std::to_string(pod.gpu_milli);
    annotations[std::string(kGpuCountAnnotation)] = std::to_string(pod.gpus);
    if (!pod.gpu_spec.empty()) annotations[std::string(kGpuModelKey)] = pod.gpu_spec;
    // A share takes no whole GPU, which is all that the resource could say.
    if (pod.gpu_milli == kGpuMilli) {
      requests[std::string(kGpuResource)] = Quantity::FromUnits(pod.gpus);
    }
  }
  api::SetDefaults(out);
  return out;
}

Result<void> Check(const std::vector<GpuTraceNode>& nodes, const std::vector<GpuTracePod>& pods,
                   const GpuTraceOrder& order) {
  if (order.ranks.size() != nodes.size()) {
    return ArgumentError("ranks: there are " + std::to_string(order.ranks.size()) + " for " +
                         std::to_string(nodes.size()) + " nodes");
  }
  std::vector<bool> seen(nodes.size());
  for (const std::uint32_t rank : order.ranks) {
    if (rank >= nodes.size() || seen[rank]) {
      return ArgumentError("ranks: " + std::to_string(rank) +
                           " is there twice or not allowed (allowed: 0 to " +
                           std::to_string(nodes.size() - 1) + ", each once)");
    }
    seen[rank] = true;
  }
  for (const std::uint32_t pod : order.pods) {
    if (pod < pods.size()) continue;
    return ArgumentError("arrivals: there is no pod " + std::to_string(pod) + " (there are " +
                         std::to_string(pods.size()) + ")");
  }
  return {};
}

// Means over events by percent of arrivals (the published analysis: bucket, then mean).
void FillCurves(PackResult& out) {
  const std::size_t events = out.arrived_milli.size();
  out.allocation.fill(std::numeric_limits<double>::quiet_NaN());
  out.frag_ratio.fill(std::numeric_limits<double>::quiet_NaN());
  if (out.total_milli == 0) return;
  const double percent = static_cast<double>(out.total_milli) / 100;
  struct Sum {
    double allocation = 0, frag_ratio = 0;
    std::int64_t events = 0;
  };
  std::vector<Sum> sums(kPackColumns + 2);
  for (std::size_t i = 0; i < events; ++i) {
    const double x = std::nearbyint(static_cast<double>(out.arrived_milli[i]) / percent);
    if (!(x < static_cast<double>(sums.size()))) continue;
    Sum& sum = sums[static_cast<std::size_t>(x)];
    double idle = 0;
    for (const double milli : out.idle[i].milli) idle += milli;
    const double frag = idle - out.idle[i].milli[GpuFragmentation::kSatisfied];
    sum.allocation += Round2(static_cast<double>(out.used_milli[i]) / percent);
    sum.frag_ratio += idle > 0 ? Round2(100 * frag / idle) : 0;
    ++sum.events;
  }
  for (std::size_t c = 0; c < kPackColumns; ++c) {
    Sum sum = sums[c];
    if (sum.events == 0) {
      for (const std::size_t near : {c - 1, c + 1}) {
        if (near >= sums.size()) continue;
        sum.allocation += sums[near].allocation;
        sum.frag_ratio += sums[near].frag_ratio;
        sum.events += sums[near].events;
      }
    }
    if (sum.events == 0) continue;
    out.allocation[c] = Round2(sum.allocation / static_cast<double>(sum.events));
    out.frag_ratio[c] = sum.frag_ratio / static_cast<double>(sum.events);
  }
}

}  // namespace

std::string_view PackPolicyName(PackPolicy policy) { return NamesOf(policy).name; }

std::string_view PackPolicyPublishedName(PackPolicy policy) { return NamesOf(policy).published; }

std::optional<PackPolicy> ParsePackPolicy(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    if (name == kPolicies[i].name || name == kPolicies[i].published) {
      return static_cast<PackPolicy>(i);
    }
  }
  return std::nullopt;
}

std::vector<TypicalPod> TypicalPods(const std::vector<GpuTracePod>& pods, double share) {
  using Kind = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::string>;
  std::map<Kind, std::int64_t> counts;
  for (const GpuTracePod& pod : pods) {
    ++counts[{pod.cpu_milli, pod.gpu_milli, pod.gpus, pod.gpu_spec}];
  }
  std::vector<std::pair<std::int64_t, Kind>> kinds;
  for (const auto& [kind, count] : counts) kinds.emplace_back(count, kind);
  std::sort(kinds.begin(), kinds.end(), std::greater<>());
  const auto total = static_cast<double>(pods.size());
  std::size_t typical = 0;
  std::int64_t cumulative = 0;
  while (typical < kinds.size() && static_cast<double>(cumulative) < share * total) {
    cumulative += kinds[typical++].first;
  }
  std::vector<TypicalPod> out;
  for (std::size_t i = 0; i < typical; ++i) {
    const auto& [cpu, milli, gpus, models] = kinds[i].second;
    const double weight =
        (static_cast<double>(kinds[i].first) / total) / (static_cast<double>(cumulative) / total);
    out.push_back({cpu, gpus, milli, models, weight});
  }
  return out;
}

Result<PackResult> Pack(const std::vector<GpuTraceNode>& nodes,
                        const std::vector<GpuTracePod>& pods, const GpuTraceOrder& order,
                        const PackOptions& options) {
  if (auto done = Check(nodes, pods, order); !done) return done.error();
  const std::vector<TypicalPod> typical = TypicalPods(pods);
  const Registry registry = InTreeRegistry();
  const auto config =
      ParseConfig(ConfigOf(options.policy, typical, options.seed), registry, "policy");
  if (!config) return config.error();
  SchedulerOptions scheduler_options;
  scheduler_options.executor.threads = options.threads;
  auto scheduler = Scheduler::Create(*config, registry, scheduler_options);
  if (!scheduler) return scheduler.error();

  PackResult out;
  Cluster cluster;
  std::vector<std::uint32_t> node_of(nodes.size());  // by rank, which is the row
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    node_of[order.ranks[i]] = i;
    out.total_milli += std::int64_t{nodes[i].gpus} * kGpuMilli;
  }
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    if (auto done = cluster.AddNode(NodeOf(nodes[node_of[rank]], rank)); !done) {
      return done.error();
    }
  }
  const GpuFragmentationMeter meter(typical, cluster.view().dictionary());
  std::vector<GpuFragmentation> idle(nodes.size());
  GpuFragmentation sum;
  const auto measure = [&](Row row) {
    const Snapshot& view = cluster.view();
    if (view.Gpus() == nullptr) return;
    const GpuFragmentation now =
        meter.Measure(view.Allocatable(kCpu)[row] - view.Requested(kCpu)[row], view.Gpus()[row]);
    for (std::size_t c = 0; c < now.milli.size(); ++c) {
      sum.milli[c] += now.milli[c] - idle[row].milli[c];
    }
    idle[row] = now;
  };
  for (Row row = 0; row < nodes.size(); ++row) measure(row);

  const std::size_t events = order.pods.size();
  out.arrived_milli.reserve(events);
  out.used_milli.reserve(events);
  out.idle.reserve(events);
  out.node.reserve(events);
  out.gpus.reserve(events);
  std::int64_t arrived = 0, used = 0;
  for (std::size_t event = 0; event < events; ++event) {
    if (options.progress && event % 64 == 0 && !options.progress(event, events)) {
      return ArgumentError("packing was ended after " + std::to_string(event) + " of " +
                           std::to_string(events) + " arrivals");
    }
    const GpuTracePod& pod = pods[order.pods[event]];
    api::Pod object = PodOf(pod);
    object.metadata.name = pod.name + "-" + std::to_string(event);
    const std::string name = object.metadata.name;
    auto added = cluster.AddNormalizedPod(std::make_shared<const api::Pod>(std::move(object)));
    if (!added) return added.error();
    const ScheduleResult result = (*scheduler)->ScheduleOne(cluster, **added);
    arrived += pod.TotalGpuMilli();
    if (result.row) {
      used += pod.TotalGpuMilli();
      out.used_cpu_milli += pod.cpu_milli;
      measure(*result.row);
      out.node.push_back(static_cast<std::int32_t>(node_of[*result.row]));
      out.gpus.push_back(cluster.view().GpusOf((*added)->Key()));
    } else {
      if (!result.status.IsRejected()) return Error(ErrorKind::kPlugin, result.status.message());
      ++out.failed;
      if (auto done = cluster.DeletePod("default", name); !done) return done.error();
      out.node.push_back(-1);
      out.gpus.push_back(0);
    }
    out.arrived_milli.push_back(arrived);
    out.used_milli.push_back(used);
    out.idle.push_back(sum);
  }
  if (options.progress) options.progress(events, events);
  FillCurves(out);
  return out;
}

}  // namespace schedfw
