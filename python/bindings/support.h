// What the files of schedfw._core share: errors as exceptions, progress, arrays, threads.
#ifndef SCHEDFW_PYTHON_BINDINGS_SUPPORT_H_
#define SCHEDFW_PYTHON_BINDINGS_SUPPORT_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <tbb/global_control.h>
#include <tbb/info.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "schedfw/base/result.h"
#include "schedfw/scheduler/scheduler.h"

namespace schedfw::python {

namespace py = pybind11;

// The exception types, made once by the module.
struct Exceptions {
  py::object error, parse, config, plugin;
};
inline Exceptions& exceptions() {
  // Never destroyed: the interpreter may be gone first.
  static auto* const kInstance = new Exceptions;
  return *kInstance;
}

[[noreturn]] inline void Raise(const py::object& type, const std::string& message) {
  PyErr_SetString(type.ptr(), message.c_str());
  throw py::error_already_set();
}

[[noreturn]] inline void Raise(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kParse:
      Raise(exceptions().parse, error.message());
    case ErrorKind::kConfig:
      Raise(exceptions().config, error.message());
    case ErrorKind::kPlugin:
      Raise(exceptions().plugin, error.message());
    case ErrorKind::kArgument:
      break;
  }
  Raise(exceptions().error, error.message());
}

template <typename T>
T Unwrap(Result<T> result) {
  if (!result) Raise(result.error());
  return *std::move(result);
}
inline void Unwrap(const Result<void>& result) {
  if (!result) Raise(result.error());
}

// Lets Ctrl-C and a Python callback in during a long call that holds no GIL.
class PythonProgress {
 public:
  explicit PythonProgress(py::object callback) : callback_(std::move(callback)) {}

  // Says the last word; needs the GIL.
  void Finish(std::size_t done, std::size_t total) const {
    if (!callback_.is_none() && total != 0) callback_(done, total);
  }

  Progress function() {
    return [this](std::size_t done, std::size_t total) {
      const auto now = std::chrono::steady_clock::now();
      if (now - last_ < std::chrono::milliseconds(50) && done != 0) return true;
      last_ = now;
      py::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!callback_.is_none()) callback_(done, total);
      return true;
    };
  }

 private:
  py::object callback_;
  std::chrono::steady_clock::time_point last_{};
};

// A vector as a read-only array that shares its memory; `owner` keeps it.
template <typename T>
py::array ReadOnly(const T* data, std::size_t size, const py::object& owner) {
  py::array_t<T> out({static_cast<py::ssize_t>(size)}, {sizeof(T)}, data, owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

// TBB has as many threads as there are cores, and warns on standard error when asked for more: a
// scheduler that wants them raises the limit, which is one of the process and never falls.
inline void AllowThreads(int threads) {
  static std::size_t allowed = static_cast<std::size_t>(tbb::info::default_concurrency());
  static tbb::global_control* control = nullptr;
  const auto wanted = static_cast<std::size_t>(std::max(threads, 0));
  if (wanted <= allowed) return;
  delete control;  // the lowest limit counts
  control = new tbb::global_control(tbb::global_control::max_allowed_parallelism, wanted);
  allowed = wanted;
}

}  // namespace schedfw::python

#endif  // SCHEDFW_PYTHON_BINDINGS_SUPPORT_H_
