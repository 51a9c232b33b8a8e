#include "topology.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedfw/base/value.h"
#include "schedfw/cluster/read_node_topology.h"
#include "schedfw/topology/islands.h"
#include "schedfw/topology/node_topology.h"
#include "schedfw/topology/numactl.h"
#include "schedfw/topology/nvidia_smi.h"
#include "schedfw/topology/presets.h"
#include "schedfw/topology/topology_json.h"
#include "support.h"

namespace schedfw::python {
namespace {

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

NodeTopology WithNuma(const NodeTopology& topology, const NumaFacts& facts) {
  NodeTopology out = topology;
  Unwrap(AddNumaFacts(out, facts));
  return out;
}

}  // namespace

void BindTopology(py::module_& m) {
  // Never changes, so that calls without the GIL may read it at the same time.
  py::class_<NodeTopology, std::shared_ptr<NodeTopology>>(
      m, "NodeTopology", "The GPUs and NICs of a node, and what lies between them.")
      .def_static(
          "read",
          [](const std::string& path, bool or_preset, const std::string& node) {
            return UnwrapWithoutGil([&]() -> Result<NodeTopology> {
              if (or_preset) {
                if (auto preset = TopologyPreset(path)) return preset;
              }
              return ReadNodeTopology(path, node);
            });
          },
          py::arg("path"), py::arg("or_preset"), py::arg("node"),
          "Read a file of any known format.")
      .def_static(
          "parse",
          [](const std::string& text, const std::string& name, const std::string& node) {
            return UnwrapWithoutGil([&] { return ParseNodeTopology(text, name, node); });
          },
          py::arg("text"), py::arg("name"), py::arg("node"), "Read a text; the name is for errors.")
      .def_static(
          "preset", [](const std::string& name) { return Unwrap(TopologyPreset(name)); },
          py::arg("name"), "Return the preset of that name.")
      .def(
          "read_numactl",
          [](const NodeTopology& self, const std::string& path) {
            return WithNuma(self, UnwrapWithoutGil([&] { return ReadNumactl(path); }));
          },
          py::arg("path"), "Return it with the NUMA nodes of a file.")
      .def(
          "parse_numactl",
          [](const NodeTopology& self, const std::string& text, const std::string& name) {
            return WithNuma(self, Unwrap(ParseNumactl(text, name)));
          },
          py::arg("text"), py::arg("name"), "Return it with the NUMA nodes of a text.")
      .def(
          "to_json", [](const NodeTopology& self) { return ToJson(TopologyValue(self)); },
          "Return it as JSON on one line.")
      .def("to_nvidia_smi", &NvidiaSmiText, "Return it as nvidia-smi topo -m prints it.")
      .def_property_readonly("islands", &NvLinkIslands, "The number of each GPU's island.")
      .def(
          "__eq__", [](const NodeTopology& a, const NodeTopology& b) { return a == b; },
          py::is_operator());
  m.def(
      "topology_presets",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> out;
        for (const TopologyPresetInfo& info : kTopologyPresets) {
          out.emplace_back(info.name, info.about, info.source);
        }
        return out;
      },
      "Return (name, sentence, source) of each preset.");
}

}  // namespace schedfw::python
