// GPU traces and the packing of their pods, for Python.
#ifndef SCHEDFW_PYTHON_BINDINGS_PACKING_H_
#define SCHEDFW_PYTHON_BINDINGS_PACKING_H_

#include <pybind11/pybind11.h>

namespace schedfw::python {

void BindPacking(pybind11::module_& m);

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_PACKING_H_
