// PythonPlugin: a plugin whose extension points are methods of a Python object.
#ifndef SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_
#define SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_

#include <pybind11/pybind11.h>

#include <memory>

#include "schedfw/framework/registry.h"
#include "views.h"

namespace schedfw::python {

/// Describes a Python plugin for a registry: its extension points are those whose methods it has.
///
/// Throws py::type_error when it is a class, has no name or no method of an extension point, or has
/// a method that would never be called. Instances must not outlive the interpreter. PreEnqueue
/// looks up what pods request in `queue`. Needs the GIL.
PluginSpec DescribePythonPlugin(const pybind11::object& plugin, std::shared_ptr<QueueView> queue);

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_
