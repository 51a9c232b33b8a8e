// The devices of nodes, for Python.
#ifndef SCHEDFW_PYTHON_BINDINGS_TOPOLOGY_H_
#define SCHEDFW_PYTHON_BINDINGS_TOPOLOGY_H_

#include <pybind11/pybind11.h>

namespace schedfw::python {

void BindTopology(pybind11::module_& m);

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_TOPOLOGY_H_
