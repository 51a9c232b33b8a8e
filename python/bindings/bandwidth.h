// The bandwidth of sets of GPUs, for Python.
#ifndef SCHEDFW_PYTHON_BINDINGS_BANDWIDTH_H_
#define SCHEDFW_PYTHON_BINDINGS_BANDWIDTH_H_

#include <pybind11/pybind11.h>

namespace schedfw::python {

/// NodeTopology must be bound before.
void BindBandwidth(pybind11::module_& m);

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_BANDWIDTH_H_
