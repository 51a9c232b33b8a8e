// Views: what Python plugins see of a cycle and its nodes while they are called.
#ifndef SCHEDFW_PYTHON_BINDINGS_VIEWS_H_
#define SCHEDFW_PYTHON_BINDINGS_VIEWS_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedfw/framework/plugin.h"

namespace schedfw::python {

namespace py = pybind11;

/// Raised as schedfw.Error when a view is used after the call it was made for.
struct StaleView : std::runtime_error {
  StaleView()
      : std::runtime_error(
            "this object was valid only while the plugin was called; copy what you need") {}
};

/// A pointer that its owner takes back: the views of one plugin call share it.
template <typename T>
using Lease = std::shared_ptr<const T*>;

template <typename T>
const T& Get(const Lease<T>& lease) {
  if (*lease == nullptr) throw StaleView();
  return **lease;
}

/// The state that a scheduler's pods are queued in; plugins are asked there without a cycle.
struct QueueView {
  std::shared_ptr<const Snapshot> snapshot;
};

/// A pod, kept as long as Python wants it.
struct PodView {
  PodPtr pod;
  /// Keeps the interned names of resources alive.
  std::shared_ptr<const Snapshot> snapshot;

  std::int64_t Request(std::string_view resource) const {
    return pod->plan->Request(snapshot->dictionary().Resource(resource));
  }
};

/// One node of a cycle.
struct NodeView {
  Lease<Cycle> cycle;
  Row row;

  const Snapshot& snapshot() const { return Get(cycle).snapshot; }
};

/// Several nodes of a cycle, in row order: columns as numpy arrays.
struct NodesView {
  Lease<Cycle> cycle;
  std::vector<Row> rows;

  const Snapshot& snapshot() const { return Get(cycle).snapshot; }

  /// value_of(row) for the rows of this view, as a new array.
  template <typename F>
  py::array_t<std::int64_t> Column(F&& value_of) const {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(rows.size()));
    std::int64_t* data = out.mutable_data();
    for (std::size_t i = 0; i < rows.size(); ++i) data[i] = value_of(rows[i]);
    return out;
  }
};

/// A cycle: the pod to be placed.
struct CycleView {
  Lease<Cycle> cycle;
};

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_VIEWS_H_
