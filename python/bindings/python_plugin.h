// PythonPlugin: a plugin whose extension points are methods of a Python object.
#ifndef SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_
#define SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_

#include <pybind11/pybind11.h>

#include "schedfw/framework/registry.h"

namespace schedfw::python {

/// Describes a Python plugin for a registry: its extension points are those whose methods it has.
///
/// Throws py::type_error when it has no name or no method of an extension point. Instances must not
/// outlive the interpreter. Needs the GIL.
PluginSpec DescribePythonPlugin(const pybind11::object& plugin);

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_PYTHON_PLUGIN_H_
