#include "schedfw/topology/bandwidth.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bandwidth.h"
#include "schedfw/topology/host_staging.h"
#include "schedfw/topology/node_topology.h"
#include "support.h"

namespace schedfw::python {
namespace {

struct BandwidthField {
  const char* name;
  double LinkBandwidths::*member;
};

constexpr std::array<BandwidthField, 20> kFields{{
    {"nvlink", &LinkBandwidths::nvlink},
    {"nvlink_efficiency", &LinkBandwidths::nvlink_efficiency},
    {"xgmi", &LinkBandwidths::xgmi},
    {"xgmi_efficiency", &LinkBandwidths::xgmi_efficiency},
    {"pix", &LinkBandwidths::pix},
    {"pxb", &LinkBandwidths::pxb},
    {"phb", &LinkBandwidths::phb},
    {"node", &LinkBandwidths::node},
    {"sys", &LinkBandwidths::sys},
    {"unknown", &LinkBandwidths::unknown},
    {"nic", &LinkBandwidths::nic},
    {"ring_overhead_us", &LinkBandwidths::ring_overhead_us},
    {"ring_direct_us", &LinkBandwidths::ring_direct_us},
    {"ring_pcie_us", &LinkBandwidths::ring_pcie_us},
    {"ring_network_us", &LinkBandwidths::ring_network_us},
    {"tree_overhead_us", &LinkBandwidths::tree_overhead_us},
    {"tree_direct_us", &LinkBandwidths::tree_direct_us},
    {"tree_pcie_us", &LinkBandwidths::tree_pcie_us},
    {"tree_network_us", &LinkBandwidths::tree_network_us},
    {"tree_efficiency", &LinkBandwidths::tree_efficiency},
}};
constexpr const char* kLinksField = "nvlinks_per_gpu";

std::string Shown(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

double Positive(const std::string& name, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    Raise(exceptions().config, name + ": must be a finite number above 0, not " + Shown(value));
  }
  return value;
}

LinkBandwidths MakeBandwidths(const std::string& gpu_model, const py::kwargs& values) {
  LinkBandwidths out = DeclaredBandwidths(gpu_model);
  for (const auto& [key, value] : values) {
    const auto name = key.cast<std::string>();
    if (name == kLinksField) {
      out.nvlinks_per_gpu = value.cast<std::int32_t>();
      continue;
    }
    bool known = false;
    for (const BandwidthField& field : kFields) {
      if (name != field.name) continue;
      out.*field.member = Positive(name, value.cast<double>());
      known = true;
    }
    if (known) continue;
    std::string allowed = kLinksField;
    for (const BandwidthField& field : kFields) allowed += std::string(", ") + field.name;
    Raise(exceptions().config, name + ": is not allowed (allowed: " + allowed + ")");
  }
  return out;
}

py::dict ToDict(const LinkBandwidths& bandwidths) {
  py::dict out;
  for (const BandwidthField& field : kFields) out[field.name] = bandwidths.*field.member;
  out[kLinksField] = bandwidths.nvlinks_per_gpu;
  return out;
}

// GPU numbers as a mask; `count` GPUs are there.
GpuMask MaskOf(const std::vector<std::int32_t>& gpus, std::int32_t count) {
  GpuMask out = 0;
  for (const std::int32_t gpu : gpus) {
    if (gpu < 0 || gpu >= count) {
      Raise(exceptions().error, "there is no GPU " + std::to_string(gpu) + " (there are " +
                                    std::to_string(count) + ")");
    }
    out = static_cast<GpuMask>(out | 1U << gpu);
  }
  return out;
}

// A node's devices and what was prepared of them.
struct PyBandwidthModel {
  PyBandwidthModel(NodeTopology node, const LinkBandwidths* bandwidths)
      : topology(std::move(node)),
        model(topology,
              bandwidths != nullptr ? *bandwidths : DeclaredBandwidths(topology.gpu_model)) {}
  GpuMask Mask(const std::vector<std::int32_t>& gpus) const { return MaskOf(gpus, model.gpus()); }

  NodeTopology topology;
  BandwidthModel model;
};

void CheckBytes(double bytes) {
  if (!(bytes > 0) || !std::isfinite(bytes)) {
    Raise(exceptions().error, "size: must be a finite number above 0, not " + Shown(bytes));
  }
}

// (node, GPUs, rack, spine)
using PyFabricNode =
    std::tuple<const PyBandwidthModel*, std::vector<std::int32_t>, std::int32_t, std::int32_t>;

AllReduceResult Across(const std::vector<PyFabricNode>& nodes, double bytes,
                       const LinkBandwidths& bandwidths, std::int32_t rails,
                       double rack_oversubscription, double spine_oversubscription) {
  CheckBytes(bytes);
  std::vector<FabricNode> out;
  out.reserve(nodes.size());
  for (const auto& [node, gpus, rack, spine] : nodes) {
    out.push_back({&node->topology, node->Mask(gpus), rack, spine});
  }
  const Fabric fabric{rails, Positive("rack_oversubscription", rack_oversubscription),
                      Positive("spine_oversubscription", spine_oversubscription)};
  return AllReduceAcross(out, bytes, bandwidths, fabric);
}

StagingResult StageAllReduce(double local_bandwidth, double remote_ratio, double message,
                             double arrivals_per_s, double remote_share, double shards,
                             double sharded_share) {
  const auto share = [](const char* name, double value) {
    if (!(value >= 0 && value <= 1)) {
      Raise(exceptions().config, std::string(name) + ": must be 0 to 1, not " + Shown(value));
    }
    return value;
  };
  if (!(shards >= 1)) Raise(exceptions().config, "shards: must be at least 1");
  if (!(arrivals_per_s >= 0)) Raise(exceptions().config, "arrivals_per_s: must not be below 0");
  return Stage(
      {Positive("local_bandwidth", local_bandwidth), Positive("remote_ratio", remote_ratio),
       Positive("message", message), arrivals_per_s},
      {share("remote_share", remote_share), shards, share("sharded_share", sharded_share)});
}

void BindResults(py::module_& m) {
  py::class_<GpuRing>(m, "GpuRing", "The rings that an AllReduce of some GPUs of a node uses.")
      .def_readonly("busbw", &GpuRing::busbw_gb_s, "Bus bandwidth, GB/s; 0 below two GPUs.")
      .def_readonly("channels", &GpuRing::channels, "Rings over disjoint links.")
      .def_property_readonly(
          "order",
          [](const GpuRing& r) {
            return std::vector<int>(r.order.begin(), r.order.begin() + r.gpus);
          },
          "The GPUs, in the order of the first ring.")
      .def_property_readonly("bottleneck", &BandwidthModel::BottleneckText,
                             "The narrowest link, and how many edges of the ring share it.")
      .def_readonly("cross_numa_share", &GpuRing::cross_numa_share,
                    "Of all edges: those between GPUs of different NUMA nodes.")
      .def("__repr__", [](const GpuRing& r) {
        return "<GpuRing of " + std::to_string(r.gpus) + " GPUs: " + Shown(r.busbw_gb_s) +
               " GB/s, " + BandwidthModel::BottleneckText(r) + ">";
      });
  py::class_<AllReduceResult>(m, "AllReduceResult", "An AllReduce as nccl-tests reports it.")
      .def_property_readonly(
          "algorithm",
          [](const AllReduceResult& r) { return std::string(AllReduceAlgorithmName(r.algorithm)); },
          "\"ring\" or \"tree\", whichever is faster; \"none\" below two GPUs.")
      .def_readonly("busbw", &AllReduceResult::busbw_gb_s,
                    "Bus bandwidth, GB/s: size / time × 2 (n - 1) / n.")
      .def_readonly("peak_busbw", &AllReduceResult::peak_busbw_gb_s,
                    "What it comes to as messages grow, GB/s.")
      .def_readonly("time_us", &AllReduceResult::time_us, "µs.")
      .def_readonly("bottleneck", &AllReduceResult::bottleneck, "The narrowest link.")
      .def_readonly("cross_numa_share", &AllReduceResult::cross_numa_share,
                    "Of all edges: those between GPUs of different NUMA nodes.")
      .def("__repr__", [](const AllReduceResult& r) {
        return "<AllReduceResult by " + std::string(AllReduceAlgorithmName(r.algorithm)) + ": " +
               Shown(r.busbw_gb_s) + " GB/s, " + Shown(r.time_us) + " µs, " + r.bottleneck + ">";
      });
  py::class_<StagingResult>(m, "StagingResult", "An AllReduce that goes through host memory.")
      .def_readonly("bandwidth", &StagingResult::bandwidth, "Data a second.")
      .def_readonly("service_ms", &StagingResult::service_ms, "A message alone, ms.")
      .def_readonly("utilization", &StagingResult::utilization,
                    "Of the path, by all arrivals; from 1 on it never catches up.")
      .def_readonly("p99_ms", &StagingResult::p99_ms,
                    "99 % of messages take less, ms, waiting included.")
      .def("__repr__", [](const StagingResult& r) {
        return "<StagingResult: " + Shown(r.bandwidth) + " a second, p99 " + Shown(r.p99_ms) +
               " ms>";
      });
}

}  // namespace

void BindBandwidth(py::module_& m) {
  py::class_<LinkBandwidths>(
      m, "LinkBandwidths",
      "What links carry in one direction, in GB/s, and how long steps take, in µs.\n\n"
      "Public figures for a model of GPU, and values of one's own by name.")
      .def(py::init(&MakeBandwidths), py::arg("gpu_model") = "")
      .def("to_dict", &ToDict, "Return name → value.")
      .def("__eq__", [](const LinkBandwidths& a, const LinkBandwidths& b) { return a == b; })
      .def("__repr__", [](const LinkBandwidths& b) {
        return "<LinkBandwidths: NVLink " + Shown(b.nvlink) + ", PIX " + Shown(b.pix) + ", SYS " +
               Shown(b.sys) + " GB/s>";
      });
  BindResults(m);
  py::class_<PyBandwidthModel>(
      m, "BandwidthModel",
      "How fast sets of GPUs of a node AllReduce. GPUs are numbered in the topology's order.\n\n"
      "Bandwidths that aren't given are those that LinkBandwidths has for the model of GPU.")
      .def(py::init([](const NodeTopology& topology, const LinkBandwidths* bandwidths) {
             return PyBandwidthModel(topology, bandwidths);
           }),
           py::arg("topology"), py::arg("bandwidths"))
      .def_property_readonly(
          "bandwidths", [](const PyBandwidthModel& p) { return p.model.bandwidths(); },
          "What links carry.")
      .def_property_readonly(
          "numa",
          [](const PyBandwidthModel& p) {
            std::vector<std::int32_t> out;
            for (std::int32_t i = 0; i < p.model.gpus(); ++i) {
              out.push_back(p.model.numa(static_cast<std::size_t>(i)));
            }
            return out;
          },
          "By GPU: a number for its NUMA node.")
      .def(
          "ring",
          [](const PyBandwidthModel& p, const std::vector<std::int32_t>& gpus) {
            return p.model.Ring(p.Mask(gpus));
          },
          py::arg("gpus"), "Return the best rings of a set.")
      .def(
          "all_reduce",
          [](const PyBandwidthModel& p, const std::vector<std::int32_t>& gpus, double bytes) {
            CheckBytes(bytes);
            return p.model.AllReduce(p.Mask(gpus), bytes);
          },
          py::arg("gpus"), py::arg("size") = 1e9, "Return an AllReduce of `size` bytes on each.")
      .def(
          "together",
          [](const PyBandwidthModel& p, const std::vector<std::vector<std::int32_t>>& jobs) {
            std::vector<GpuMask> masks;
            masks.reserve(jobs.size());
            for (const auto& gpus : jobs) masks.push_back(p.Mask(gpus));
            return p.model.Together(masks);
          },
          py::arg("jobs"), "Return the bus bandwidth of each set when all AllReduce at once, GB/s.")
      .def(
          "table",
          [](const PyBandwidthModel& p) {
            const std::vector<float> table = p.model.RingBandwidths();
            return py::array_t<float>(static_cast<py::ssize_t>(table.size()), table.data());
          },
          "Return the bus bandwidth of each set, GB/s: 2^n of them, by mask.")
      .def("__len__", [](const PyBandwidthModel& p) { return p.model.gpus(); })
      .def("__repr__", [](const PyBandwidthModel& p) {
        return "<BandwidthModel of " + std::to_string(p.model.gpus()) + " GPUs, " +
               p.topology.source + ">";
      });
  m.def("all_reduce_across", &Across, py::arg("nodes"), py::arg("size"), py::arg("bandwidths"),
        py::arg("rails"), py::arg("rack_oversubscription"), py::arg("spine_oversubscription"),
        "Return an AllReduce over GPUs of several nodes.");
  m.def("stage_all_reduce", &StageAllReduce, py::arg("local_bandwidth"), py::arg("remote_ratio"),
        py::arg("message"), py::arg("arrivals_per_s"), py::arg("remote_share"), py::arg("shards"),
        py::arg("sharded_share"), "Return an AllReduce that goes through host memory.");
}

}  // namespace schedfw::python
