#include "packing.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedfw/cluster/gpus.h"
#include "schedfw/plugins/gpu_fragmentation.h"
#include "schedfw/simulation/gpu_trace.h"
#include "schedfw/simulation/packing.h"
#include "support.h"

namespace schedfw::python {
namespace {

constexpr std::size_t kClassCount = GpuFragmentation::kClasses.size();

// Never changes, so that calls without the GIL may read it at the same time.
struct PyGpuTrace {
  std::vector<GpuTraceNode> nodes;
  std::vector<GpuTracePod> pods;

  std::int64_t TotalMilli() const {
    std::int64_t out = 0;
    for (const GpuTraceNode& node : nodes) out += std::int64_t{kGpuMilli} * node.gpus;
    return out;
  }
  std::int64_t RequestedMilli() const {
    std::int64_t out = 0;
    for (const GpuTracePod& pod : pods) out += pod.TotalGpuMilli();
    return out;
  }
};

// Calls fn() without the GIL and raises what it returns as an error.
template <typename F>
auto UnwrapWithoutGil(F&& fn) {
  std::optional<decltype(fn())> result;
  {
    py::gil_scoped_release release;
    result.emplace(fn());
  }
  return Unwrap(*std::move(result));
}

PyGpuTrace Load(const std::string& nodes, const std::string& pods) {
  return {UnwrapWithoutGil([&] { return ReadGpuTraceNodes(nodes); }),
          UnwrapWithoutGil([&] { return ReadGpuTracePods(pods); })};
}

PyGpuTrace Parse(const std::string& nodes, const std::string& nodes_name, const std::string& pods,
                 const std::string& pods_name) {
  return {UnwrapWithoutGil([&] { return ParseGpuTraceNodes(nodes, nodes_name); }),
          UnwrapWithoutGil([&] { return ParseGpuTracePods(pods, pods_name); })};
}

GpuTraceOrder DrawOrder(const PyGpuTrace& trace, double tune, std::uint64_t seed) {
  return UnwrapWithoutGil([&] { return DrawGpuTraceOrder(trace.nodes, trace.pods, tune, seed); });
}

GpuTraceOrder ReadOrder(const std::string& arrivals, const std::string& ranks,
                        const std::string& seed, const PyGpuTrace& trace) {
  return {UnwrapWithoutGil([&] { return ReadGpuTraceArrivals(arrivals, seed, trace.pods.size()); }),
          UnwrapWithoutGil([&] { return ReadGpuTraceRanks(ranks, seed, trace.nodes); })};
}

PackResult RunPack(const PyGpuTrace& trace, const GpuTraceOrder& order, const std::string& policy,
                   std::uint64_t seed, int threads, const py::object& callback) {
  PackOptions options;
  const auto found = ParsePackPolicy(policy);
  if (!found) {
    std::string allowed;
    for (std::size_t i = 0; i < kPackPolicyCount; ++i) {
      if (i != 0) allowed += ", ";
      allowed += PackPolicyName(static_cast<PackPolicy>(i));
    }
    Raise(exceptions().config,
          "policy: \"" + policy + "\" is not allowed (allowed: " + allowed + ")");
  }
  options.policy = *found;
  options.seed = seed;
  options.threads = threads;
  AllowThreads(threads);
  PythonProgress progress(callback);
  options.progress = progress.function();
  PackResult out = UnwrapWithoutGil([&] { return Pack(trace.nodes, trace.pods, order, options); });
  progress.Finish(out.node.size(), order.pods.size());
  return out;
}

// A member of a result as an array that keeps the result.
template <auto kMember>
py::array Column(const py::object& self) {
  const auto& column = self.cast<const PackResult&>().*kMember;
  return ReadOnly(column.data(), column.size(), self);
}

py::array Idle(const py::object& self) {
  static_assert(sizeof(GpuFragmentation) == kClassCount * sizeof(double));
  const auto& idle = self.cast<const PackResult&>().idle;
  constexpr py::ssize_t kItem = sizeof(double);
  constexpr auto kClasses = static_cast<py::ssize_t>(kClassCount);
  py::array_t<double> out({static_cast<py::ssize_t>(idle.size()), kClasses},
                          {kItem * kClasses, kItem},
                          idle.empty() ? nullptr : idle.front().milli.data(), self);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

void BindTrace(py::module_& m) {
  py::class_<GpuTraceOrder, std::shared_ptr<GpuTraceOrder>>(
      m, "GpuTraceOrder", "In which order pods arrive, and the ranks of nodes.")
      .def_property_readonly(
          "pods",
          [](const py::object& self) {
            const auto& pods = self.cast<const GpuTraceOrder&>().pods;
            return ReadOnly(pods.data(), pods.size(), self);
          },
          "The arriving pods, as indices into the list of pods.")
      .def_property_readonly(
          "ranks",
          [](const py::object& self) {
            const auto& ranks = self.cast<const GpuTraceOrder&>().ranks;
            return ReadOnly(ranks.data(), ranks.size(), self);
          },
          "By node: of equal nodes the one with the lower rank is taken.")
      .def("__len__", [](const GpuTraceOrder& o) { return o.pods.size(); })
      .def("__repr__", [](const GpuTraceOrder& o) {
        return "<GpuTraceOrder of " + std::to_string(o.pods.size()) + " arrivals>";
      });
  py::class_<PyGpuTrace, std::shared_ptr<PyGpuTrace>>(m, "GpuTrace",
                                                      "Nodes with GPUs and the pods that arrive.")
      .def_static("load", &Load, py::arg("nodes_path"), py::arg("pods_path"),
                  "Read a trace from two CSV files, gzip or not.")
      .def_static("parse", &Parse, py::arg("nodes"), py::arg("nodes_name"), py::arg("pods"),
                  py::arg("pods_name"), "Read a trace from two CSV texts; names are for errors.")
      .def_property_readonly(
          "node_count", [](const PyGpuTrace& t) { return t.nodes.size(); }, "How many nodes.")
      .def_property_readonly(
          "pod_count", [](const PyGpuTrace& t) { return t.pods.size(); }, "How many pods.")
      .def_property_readonly(
          "nodes",
          [](const PyGpuTrace& t) {
            std::vector<std::string> out;
            out.reserve(t.nodes.size());
            for (const GpuTraceNode& node : t.nodes) out.push_back(node.name);
            return out;
          },
          "The names of the nodes.")
      .def_property_readonly(
          "pods",
          [](const PyGpuTrace& t) {
            std::vector<std::string> out;
            out.reserve(t.pods.size());
            for (const GpuTracePod& pod : t.pods) out.push_back(pod.name);
            return out;
          },
          "The names of the pods.")
      .def_property_readonly("total_milli", &PyGpuTrace::TotalMilli,
                             "All GPUs, in thousandths of a GPU.")
      .def_property_readonly("requested_milli", &PyGpuTrace::RequestedMilli,
                             "What all pods ask for, in thousandths of a GPU.")
      .def("draw_order", &DrawOrder, py::arg("tune"), py::arg("seed"),
           "Draw an order in which the pods ask for `tune` of all GPUs.")
      .def("__repr__", [](const PyGpuTrace& t) {
        return "<GpuTrace of " + std::to_string(t.nodes.size()) + " nodes, " +
               std::to_string(t.TotalMilli() / 1000) + " GPUs, " + std::to_string(t.pods.size()) +
               " pods>";
      });
}

}  // namespace

void BindPacking(py::module_& m) {
  BindTrace(m);
  py::class_<PackResult, std::shared_ptr<PackResult>>(
      m, "PackResult", "What became of the pods of a trace under one policy.")
      .def_property_readonly(
          "allocation",
          [](const py::object& self) {
            const auto& curve = self.cast<const PackResult&>().allocation;
            return ReadOnly(curve.data(), curve.size(), self);
          },
          "Allocated GPUs in percent of all, at 0 to 130 % of arrivals; NaN: no event near.")
      .def_property_readonly(
          "frag_ratio",
          [](const py::object& self) {
            const auto& curve = self.cast<const PackResult&>().frag_ratio;
            return ReadOnly(curve.data(), curve.size(), self);
          },
          "Fragmented GPUs in percent of the idle ones, at 0 to 130 % of arrivals.")
      .def_property_readonly("arrived_milli", &Column<&PackResult::arrived_milli>,
                             "By event: what had been asked for, in thousandths of a GPU.")
      .def_property_readonly("used_milli", &Column<&PackResult::used_milli>,
                             "By event: what was allocated, in thousandths of a GPU.")
      .def_property_readonly("idle", &Idle,
                             "By event and class: what was idle, in thousandths of a GPU.")
      .def_property_readonly("node", &Column<&PackResult::node>,
                             "By event: the index of the node, or -1 if the pod fit nowhere.")
      .def_property_readonly("gpus", &Column<&PackResult::gpus>,
                             "By event: the GPUs of the node that the pod got, a bit each.")
      .def_readonly("failed", &PackResult::failed, "How many pods fit nowhere.")
      .def_readonly("total_milli", &PackResult::total_milli, "All GPUs, in thousandths of a GPU.")
      .def_readonly("used_cpu_milli", &PackResult::used_cpu_milli,
                    "The CPU that is allocated at the end, in thousandths of a core.")
      .def("__repr__", [](const PackResult& r) {
        return "<PackResult: " + std::to_string(r.node.size() - r.failed) + " of " +
               std::to_string(r.node.size()) + " pods placed>";
      });
  m.attr("GPU_CLASSES") = py::tuple(py::cast(std::vector<std::string>(
      GpuFragmentation::kClasses.begin(), GpuFragmentation::kClasses.end())));
  m.def(
      "pack_policies",
      [] {
        std::vector<std::pair<std::string, std::string>> out;
        for (std::size_t i = 0; i < kPackPolicyCount; ++i) {
          const auto policy = static_cast<PackPolicy>(i);
          out.emplace_back(PackPolicyName(policy), PackPolicyPublishedName(policy));
        }
        return out;
      },
      "Return (name, published name) of each policy.");
  m.def("read_gpu_trace_order", &ReadOrder, py::arg("arrivals_path"), py::arg("ranks_path"),
        py::arg("seed"), py::arg("trace"), "Read the order and the ranks of a seed from files.");
  m.def("pack", &RunPack, py::arg("trace"), py::arg("order"), py::arg("policy"), py::arg("seed"),
        py::arg("threads"), py::arg("progress"), "Place the pods of a trace by one policy.");
}

}  // namespace schedfw::python
