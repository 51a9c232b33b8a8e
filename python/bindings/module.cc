// schedfw._core: the library for Python. The package schedfw wraps and documents it.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text_file.h"
#include "python_plugin.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/report.h"
#include "schedfw/scheduler/scheduler.h"
#include "views.h"

namespace schedfw::python {
namespace {

// The exception types, made once by the module.
struct Exceptions {
  py::object error, parse, config, plugin;
};
Exceptions& exceptions() {
  static auto* kInstance = new Exceptions;  // never destroyed: the interpreter may be gone first
  return *kInstance;
}

[[noreturn]] void Raise(const py::object& type, const std::string& message) {
  PyErr_SetString(type.ptr(), message.c_str());
  throw py::error_already_set();
}

[[noreturn]] void Raise(const Error& error) {
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
void Unwrap(const Result<void>& result) {
  if (!result) Raise(result.error());
}

// A status of Error means that a plugin failed, which a caller must not miss.
void RaiseOnFault(const Status& status) {
  if (status.code() == Code::kError) Raise(exceptions().plugin, status.message());
}

// Lets Ctrl-C and a Python callback in during a long call that holds no GIL.
class PythonProgress {
 public:
  explicit PythonProgress(py::object callback) : callback_(std::move(callback)) {}

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

// A cluster and the kinds of objects its files held that scheduling doesn't read.
struct PyCluster {
  Cluster cluster;
  std::map<std::string, std::int64_t> ignored;
};

PyCluster FromObjects(Result<api::ObjectList> objects) {
  if (!objects) Raise(objects.error());
  Unwrap(api::Normalize(*objects));
  return {Unwrap(Cluster::FromObjects(*objects)), std::move(objects->ignored)};
}

PodPtr FindPod(const Snapshot& snapshot, const std::string& full_name) {
  const auto slash = full_name.find('/');
  const std::string ns = slash == std::string::npos ? "default" : full_name.substr(0, slash);
  const std::string name = slash == std::string::npos ? full_name : full_name.substr(slash + 1);
  PodPtr pod = snapshot.FindPod(ns, name);
  if (!pod) Raise(exceptions().error, "there is no Pod " + ns + "/" + name);
  return pod;
}

PodPtr FindWaitingPod(const Snapshot& snapshot, const std::string& full_name) {
  PodPtr pod = FindPod(snapshot, full_name);
  if (!pod->plan) Raise(exceptions().error, "Pod " + pod->FullName() + " has a node already");
  return pod;
}

// A column as a read-only array that shares the snapshot's memory.
template <typename T>
py::array ReadOnly(const T* data, std::size_t size, const py::object& owner) {
  py::array_t<T> out({static_cast<py::ssize_t>(size)}, {sizeof(T)}, data, owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

py::array ReadOnly(const ScoreArray& array, const py::object& owner) {
  const auto rows = static_cast<py::ssize_t>(array.rows());
  const auto cols = static_cast<py::ssize_t>(array.cols());
  constexpr py::ssize_t kItem = sizeof(std::int64_t);
  py::array_t<std::int64_t> out({rows, cols}, {kItem * cols, kItem}, array.data(), owner);
  out.attr("setflags")(py::arg("write") = false);
  return out;
}

std::vector<std::string> NodeNames(const Snapshot& snapshot, const std::vector<Row>& rows) {
  std::vector<std::string> out;
  out.reserve(rows.size());
  for (const Row row : rows) out.push_back(snapshot.name(row));
  return out;
}

std::vector<Row> AllRows(const Snapshot& snapshot) {
  std::vector<Row> out(snapshot.size());
  for (Row row = 0; row < snapshot.size(); ++row) out[row] = row;
  return out;
}

std::vector<std::optional<std::string>> LabelValues(const Snapshot& snapshot,
                                                    const std::vector<Row>& rows,
                                                    const std::string& key) {
  const LabelColumn& column = snapshot.Label(snapshot.dictionary().Intern(key));
  std::vector<std::optional<std::string>> out;
  out.reserve(rows.size());
  for (const Row row : rows) {
    const std::uint32_t ordinal = column.ordinals[row];
    if (ordinal == 0) {
      out.emplace_back();
    } else {
      out.emplace_back(snapshot.dictionary().Text(column.values[ordinal - 1]));
    }
  }
  return out;
}

std::map<std::string, std::int64_t> Requests(const PodView& view) {
  std::map<std::string, std::int64_t> out;
  for (const ResourceAmount& request : view.pod->requests) {
    out.emplace(view.snapshot->dictionary().ResourceName(request.resource), request.amount);
  }
  return out;
}

// A diagnosis and the snapshot that its rows belong to.
struct PyDiagnosis {
  std::shared_ptr<const Snapshot> snapshot;
  Diagnosis diagnosis;

  // (node, code, plugin, reasons) of every node, in name order; plugins and reasons of nodes that
  // passed are empty.
  py::list Table() const {
    py::list out;
    for (const Row row : internal::ByName(*snapshot, AllRows(*snapshot))) {
      const Status& status =
          diagnosis.pre_filter.ok() ? diagnosis.status(row) : diagnosis.pre_filter;
      out.append(py::make_tuple(snapshot->name(row), CodeName(status.code()), status.plugin(),
                                status.reasons()));
    }
    return out;
  }
};

struct PyScores {
  std::shared_ptr<const Snapshot> snapshot;
  ScoreMatrix matrix;
};

struct PyExplanation {
  std::shared_ptr<const Snapshot> snapshot;
  Explanation explanation;  // its scores have moved to `scores`
  std::shared_ptr<PyDiagnosis> diagnosis;
  std::shared_ptr<PyScores> scores;

  Explanation ForReport() const {
    Explanation out = explanation;
    out.scores = scores->matrix;
    return out;
  }
};

Status StatusOf(const Explanation& e) {
  if (!e.known_profile) {
    return Status::Unresolvable("no profile for schedulerName \"" + e.profile + "\"");
  }
  if (!e.pre_enqueue.ok()) return e.pre_enqueue;
  if (!e.score_status.ok()) return e.score_status;
  if (!e.best.empty()) return {};
  return Status::Unschedulable(e.diagnosis.Message());
}

struct PyPlacement {
  std::string pod;
  std::string node;
  Status status;
};

struct PyFit {
  FitResult result;
  std::shared_ptr<PyDiagnosis> diagnosis;
};

// A scheduler and the Python plugins that it runs.
class PyScheduler {
 public:
  PyScheduler(const std::string& config, const std::string& config_name, const py::list& plugins,
              int threads, std::uint32_t grain_rows, bool parallel_normalize, bool seeded,
              std::uint64_t seed) {
    Registry registry = InTreeRegistry();
    for (const auto& plugin : plugins) {
      Unwrap(registry.Add(DescribePythonPlugin(py::reinterpret_borrow<py::object>(plugin))));
    }
    SchedulerConfig parsed;
    if (!config.empty()) parsed = Unwrap(ParseConfig(config, registry, config_name));
    SchedulerOptions options;
    options.executor.threads = threads;
    options.executor.grain_rows = grain_rows;
    options.executor.normalize =
        parallel_normalize ? NormalizeMode::kParallel : NormalizeMode::kSynchronous;
    options.tie_break = seeded ? TieBreak::kSeeded : TieBreak::kFirst;
    options.seed = seed;
    scheduler_ = Unwrap(Scheduler::Create(parsed, registry, options));
  }

  const std::vector<std::string>& profiles() const { return scheduler_->profile_names(); }

  std::map<std::string, std::vector<std::pair<std::string, int>>> Plugins(
      const std::string& profile) const {
    const Framework* framework = scheduler_->framework(profile);
    if (framework == nullptr) Raise(exceptions().error, "there is no profile \"" + profile + "\"");
    std::map<std::string, std::vector<std::pair<std::string, int>>> out;
    for (ExtensionPoint point : AllPoints()) {
      auto& list = out[std::string(PointName(point))];
      for (const PluginRef& ref : framework->profile().at(point)) {
        list.emplace_back(ref.name, ref.weight);
      }
    }
    return out;
  }

  std::string ConfigJson(int indent) const {
    Value::Object out;
    for (const std::string& name : scheduler_->profile_names()) {
      out.emplace_back(name, ToValue(scheduler_->framework(name)->profile()));
    }
    return ToJson(std::move(out), indent);
  }

  std::shared_ptr<PyExplanation> Explain(const PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.cluster.view(), name);
    auto out = std::make_shared<PyExplanation>();
    {
      py::gil_scoped_release release;
      out->snapshot = std::make_shared<const Snapshot>(cluster.cluster.snapshot());
      out->explanation = scheduler_->Explain(*out->snapshot, pod);
    }
    RaiseOnFault(out->explanation.score_status);
    RaiseOnFault(out->explanation.diagnosis.pre_filter);
    for (Row row = 0; row < out->explanation.diagnosis.size(); ++row) {
      RaiseOnFault(out->explanation.diagnosis.status(row));
    }
    out->diagnosis =
        std::make_shared<PyDiagnosis>(PyDiagnosis{out->snapshot, out->explanation.diagnosis});
    out->scores =
        std::make_shared<PyScores>(PyScores{out->snapshot, std::move(out->explanation.scores)});
    return out;
  }

  // The explanations of all waiting pods in the form of the recorded answers, as JSON text.
  std::string ExplainJson(const PyCluster& cluster, int indent) {
    py::gil_scoped_release release;
    const Snapshot snapshot = cluster.cluster.snapshot();
    Value::List out;
    for (const PodPtr& pod : snapshot.Pending()) {
      if (pod->terminating) continue;
      out.push_back(ToValue(scheduler_->Explain(snapshot, pod), snapshot));
    }
    return ToJson(std::move(out), indent);
  }

  PyPlacement Schedule(const PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.cluster.view(), name);
    PyPlacement out{pod->FullName(), "", scheduler_->Admit(*pod)};
    if (out.status.ok()) {
      py::gil_scoped_release release;
      ScheduleResult result = scheduler_->Schedule(cluster.cluster.view(), *pod);
      out.node = std::move(result.node);
      out.status = std::move(result.status);
    }
    RaiseOnFault(out.status);
    return out;
  }

  PyPlacement ScheduleOne(PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.cluster.view(), name);
    PyPlacement out{pod->FullName(), "", scheduler_->Admit(*pod)};
    if (out.status.ok()) {
      py::gil_scoped_release release;
      ScheduleResult result = scheduler_->ScheduleOne(cluster.cluster, *pod);
      out.node = std::move(result.node);
      out.status = std::move(result.status);
    }
    RaiseOnFault(out.status);
    return out;
  }

  std::vector<PyPlacement> Place(PyCluster& cluster, const py::object& callback) {
    PythonProgress progress(callback);
    std::vector<PyPlacement> out;
    {
      py::gil_scoped_release release;
      for (Placement& placement : scheduler_->Place(cluster.cluster, progress.function())) {
        out.push_back(
            {placement.pod->FullName(), std::move(placement.node), std::move(placement.status)});
      }
    }
    for (const PyPlacement& placement : out) RaiseOnFault(placement.status);
    return out;
  }

  // The time of each attempt, for performance work: (pod, node, nanoseconds).
  std::vector<std::tuple<std::string, std::string, std::int64_t>> PlaceTimed(PyCluster& cluster) {
    PythonProgress interrupt{py::none()};
    Progress poll = interrupt.function();
    std::vector<std::tuple<std::string, std::string, std::int64_t>> out;
    py::gil_scoped_release release;
    const auto queue = scheduler_->Queue(cluster.cluster.view());
    for (const QueuedPodInfo& queued : queue) {
      poll(out.size(), queue.size());
      const auto start = std::chrono::steady_clock::now();
      std::string node;
      if (scheduler_->Admit(*queued.pod).ok()) {
        node = scheduler_->ScheduleOne(cluster.cluster, *queued.pod).node;
      }
      const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
      out.emplace_back(queued.pod->FullName(), std::move(node), took.count());
    }
    return out;
  }

  PyFit Fit(const PyCluster& cluster, const std::string& pod_text, const std::string& pod_name,
            std::int64_t limit, const py::object& callback) {
    api::Pod pod;
    if (pod_text.empty()) {
      pod = *FindPod(cluster.cluster.view(), pod_name)->pod;
    } else {
      api::ObjectList objects = Unwrap(api::ParseObjects(pod_text, pod_name));
      if (objects.pods.size() != 1) {
        Raise(exceptions().error,
              pod_name + ": expected one Pod, got " + std::to_string(objects.pods.size()));
      }
      pod = std::move(objects.pods.front());
    }
    PythonProgress progress(callback);
    PyFit out;
    const auto snapshot = std::make_shared<const Snapshot>(cluster.cluster.snapshot());
    std::optional<Result<FitResult>> result;
    {
      py::gil_scoped_release release;
      result.emplace(scheduler_->Fit(*snapshot, pod, limit, progress.function()));
    }
    out.result = Unwrap(*std::move(result));
    RaiseOnFault(out.result.status);
    if (out.result.diagnosis) {
      out.diagnosis = std::make_shared<PyDiagnosis>(PyDiagnosis{snapshot, *out.result.diagnosis});
    }
    return out;
  }

 private:
  std::unique_ptr<Scheduler> scheduler_;
};

py::list DescribePlugins(const Registry& registry) {
  py::list out;
  for (const PluginSpec* spec : registry.All()) {
    py::dict plugin;
    plugin["name"] = spec->name;
    plugin["help"] = spec->help;
    py::list points;
    for (ExtensionPoint point : AllPoints()) {
      if (spec->points.Has(point)) points.append(PointName(point));
    }
    plugin["points"] = points;
    py::list args;
    for (const ArgSpec& arg : spec->args) {
      py::dict entry;
      entry["name"] = arg.name;
      entry["type"] = arg.type;
      entry["default"] = arg.default_value;
      entry["allowed"] = arg.allowed;
      entry["help"] = arg.help;
      args.append(entry);
    }
    plugin["args"] = args;
    plugin["effect"] = !spec->no_effect;
    out.append(plugin);
  }
  return out;
}

void BindStatus(py::module_& m) {
  py::class_<Status>(m, "Status")
      .def_property_readonly("code", [](const Status& s) { return CodeName(s.code()); })
      .def_property_readonly("plugin", &Status::plugin)
      .def_property_readonly("reasons", &Status::reasons)
      .def_property_readonly("message", &Status::message)
      .def("__bool__", &Status::ok)
      .def("__eq__", [](const Status& a, const Status& b) { return a == b; })
      .def("__hash__", [](const Status& s) { return std::hash<std::string>()(s.message()); })
      .def("__repr__", [](const Status& s) {
        std::string out = "<Status " + std::string(CodeName(s.code()));
        if (!s.plugin().empty()) out += " by " + std::string(s.plugin());
        return out + (s.reasons().empty() ? "" : ": " + s.message()) + ">";
      });
}

void BindQuantity(py::module_& m) {
  py::class_<Quantity>(m, "Quantity")
      .def(py::init([](const std::string& text) { return Unwrap(Quantity::Parse(text)); }),
           py::arg("text"))
      .def_property_readonly("value", &Quantity::Value)
      .def_property_readonly("milli_value", &Quantity::MilliValue)
      .def("__str__", &Quantity::ToString)
      .def("__repr__", [](const Quantity& q) { return "Quantity('" + q.ToString() + "')"; })
      .def("__eq__", [](const Quantity& a, const Quantity& b) { return a == b; })
      .def("__lt__", [](const Quantity& a, const Quantity& b) { return a < b; })
      .def("__le__", [](const Quantity& a, const Quantity& b) { return a <= b; })
      .def("__hash__",
           [](const Quantity& q) { return std::hash<std::int64_t>()(q.Value().value_or(0)); });
}

void BindViews(py::module_& m) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const StaleView& stale) {
      PyErr_SetString(exceptions().error.ptr(), stale.what());
    }
  });
  py::class_<PodView>(m, "Pod")
      .def_property_readonly("name", [](const PodView& v) { return v.pod->pod->metadata.name; })
      .def_property_readonly("namespace", [](const PodView& v) { return v.pod->pod->metadata.ns; })
      .def_property_readonly("full_name", [](const PodView& v) { return v.pod->FullName(); })
      .def_property_readonly("labels", [](const PodView& v) { return v.pod->pod->metadata.labels; })
      .def_property_readonly("annotations",
                             [](const PodView& v) { return v.pod->pod->metadata.annotations; })
      .def_property_readonly("priority", [](const PodView& v) { return v.pod->priority; })
      .def_property_readonly("scheduler_name",
                             [](const PodView& v) { return v.pod->pod->spec.scheduler_name; })
      .def_property_readonly("requests", &Requests)
      .def("request", &PodView::Request, py::arg("resource"))
      .def("__repr__", [](const PodView& v) { return "<Pod " + v.pod->FullName() + ">"; });
  py::class_<CycleView>(m, "Cycle")
      .def_property_readonly("pod",
                             [](const CycleView& v) {
                               const Cycle& cycle = Get(v.cycle);
                               return PodView{std::make_shared<const PodInfo>(cycle.pod),
                                              std::make_shared<const Snapshot>(cycle.snapshot)};
                             })
      .def_property_readonly("nodes", [](const CycleView& v) {
        return NodesView{v.cycle, AllRows(Get(v.cycle).snapshot)};
      });
  py::class_<NodeView>(m, "Node")
      .def_property_readonly("name", [](const NodeView& v) { return v.snapshot().name(v.row); })
      .def_property_readonly(
          "labels", [](const NodeView& v) { return v.snapshot().node(v.row).metadata.labels; })
      .def_property_readonly(
          "annotations",
          [](const NodeView& v) { return v.snapshot().node(v.row).metadata.annotations; })
      .def_property_readonly("pods",
                             [](const NodeView& v) {
                               std::vector<std::string> out;
                               for (const PodPtr& pod : v.snapshot().pods(v.row)) {
                                 out.push_back(pod->FullName());
                               }
                               std::sort(out.begin(), out.end());
                               return out;
                             })
      .def(
          "allocatable",
          [](const NodeView& v, const std::string& r) {
            return NodeInfo(v.snapshot(), v.row).allocatable(r);
          },
          py::arg("resource"))
      .def(
          "requested",
          [](const NodeView& v, const std::string& r) {
            return NodeInfo(v.snapshot(), v.row).requested(r);
          },
          py::arg("resource"))
      .def(
          "free",
          [](const NodeView& v, const std::string& r) {
            const NodeInfo node(v.snapshot(), v.row);
            return node.allocatable(r) - node.requested(r);
          },
          py::arg("resource"))
      .def("__repr__", [](const NodeView& v) { return "<Node " + v.snapshot().name(v.row) + ">"; });
  py::class_<NodesView>(m, "Nodes")
      .def("__len__", [](const NodesView& v) { return v.rows.size(); })
      .def("__getitem__",
           [](const NodesView& v, std::ptrdiff_t i) {
             const auto size = static_cast<std::ptrdiff_t>(v.rows.size());
             if (i < 0) i += size;
             if (i < 0 || i >= size) throw py::index_error("no such node");
             return NodeView{v.cycle, v.rows[static_cast<std::size_t>(i)]};
           })
      .def_property_readonly("names",
                             [](const NodesView& v) { return NodeNames(v.snapshot(), v.rows); })
      .def(
          "allocatable",
          [](const NodesView& v, const std::string& r) {
            return v.Gather(v.snapshot().Allocatable(v.snapshot().dictionary().Resource(r)));
          },
          py::arg("resource"))
      .def(
          "requested",
          [](const NodesView& v, const std::string& r) {
            return v.Gather(v.snapshot().Requested(v.snapshot().dictionary().Resource(r)));
          },
          py::arg("resource"))
      .def(
          "free",
          [](const NodesView& v, const std::string& r) {
            const ResourceId id = v.snapshot().dictionary().Resource(r);
            const std::int64_t* allocatable = v.snapshot().Allocatable(id);
            const std::int64_t* requested = v.snapshot().Requested(id);
            py::array_t<std::int64_t> out(static_cast<py::ssize_t>(v.rows.size()));
            std::int64_t* data = out.mutable_data();
            for (std::size_t i = 0; i < v.rows.size(); ++i) {
              data[i] = allocatable[v.rows[i]] - requested[v.rows[i]];
            }
            return out;
          },
          py::arg("resource"))
      .def_property_readonly("pod_count",
                             [](const NodesView& v) { return v.Gather(v.snapshot().PodCount()); })
      .def(
          "label",
          [](const NodesView& v, const std::string& key) {
            return LabelValues(v.snapshot(), v.rows, key);
          },
          py::arg("key"))
      .def("__repr__",
           [](const NodesView& v) { return "<" + std::to_string(v.rows.size()) + " Nodes>"; });
}

void BindCluster(py::module_& m) {
  py::class_<PyCluster>(m, "Cluster")
      .def(py::init<>())
      .def_static("_read",
                  [](const std::vector<std::string>& paths) {
                    std::optional<Result<api::ObjectList>> objects;
                    {
                      py::gil_scoped_release release;
                      objects.emplace(api::ReadObjects(paths));
                    }
                    return FromObjects(*std::move(objects));
                  })
      .def_static("_parse",
                  [](const std::string& text, const std::string& name) {
                    return FromObjects(api::ParseObjects(text, name));
                  })
      .def("fork",
           [](const PyCluster& c) {
             return PyCluster{c.cluster.Fork(), c.ignored};
           })
      .def("_apply",
           [](PyCluster& c, const std::string& text, const std::string& name) {
             api::ObjectList objects = Unwrap(api::ParseObjects(text, name));
             Unwrap(c.cluster.Apply(objects));
           })
      .def(
          "delete_node",
          [](PyCluster& c, const std::string& name) { Unwrap(c.cluster.DeleteNode(name)); },
          py::arg("name"))
      .def(
          "delete_pod",
          [](PyCluster& c, const std::string& name) {
            const PodPtr pod = FindPod(c.cluster.view(), name);
            Unwrap(c.cluster.DeletePod(pod->pod->metadata.ns, pod->pod->metadata.name));
          },
          py::arg("name"))
      .def(
          "bind",
          [](PyCluster& c, const std::string& name, const std::string& node) {
            const PodPtr pod = FindWaitingPod(c.cluster.view(), name);
            const auto row = c.cluster.view().Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            Unwrap(c.cluster.AssumePod(*pod, *row));
            Unwrap(c.cluster.FinishBinding(*pod));
          },
          py::arg("pod"), py::arg("node"))
      .def_property_readonly(
          "nodes",
          [](const PyCluster& c) { return NodeNames(c.cluster.view(), AllRows(c.cluster.view())); })
      .def_property_readonly("pending",
                             [](const PyCluster& c) {
                               std::vector<std::string> out;
                               for (const PodPtr& pod : c.cluster.view().Pending()) {
                                 if (!pod->terminating) out.push_back(pod->FullName());
                               }
                               return out;
                             })
      .def_property_readonly("deleting",
                             [](const PyCluster& c) {
                               std::vector<std::string> out;
                               for (const PodPtr& pod : c.cluster.view().Pending()) {
                                 if (pod->terminating) out.push_back(pod->FullName());
                               }
                               return out;
                             })
      .def_property_readonly("pod_count",
                             [](const PyCluster& c) { return c.cluster.view().PodTotal(); })
      .def_property_readonly("orphan_count",
                             [](const PyCluster& c) { return c.cluster.view().OrphanTotal(); })
      .def_property_readonly("ignored", [](const PyCluster& c) { return c.ignored; })
      .def(
          "node_of",
          [](const PyCluster& c, const std::string& name) -> std::optional<std::string> {
            const PodPtr pod = FindPod(c.cluster.view(), name);
            const auto row = c.cluster.view().RowOf(pod->pod->metadata.ns, pod->pod->metadata.name);
            if (!row) return std::nullopt;
            return c.cluster.view().name(*row);
          },
          py::arg("pod"))
      .def(
          "pods_on",
          [](const PyCluster& c, const std::string& node) {
            const auto row = c.cluster.view().Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            std::vector<std::string> out;
            for (const PodPtr& pod : c.cluster.view().pods(*row)) out.push_back(pod->FullName());
            std::sort(out.begin(), out.end());
            return out;
          },
          py::arg("node"))
      .def(
          "pod",
          [](const PyCluster& c, const std::string& name) {
            return PodView{FindPod(c.cluster.view(), name),
                           std::make_shared<const Snapshot>(c.cluster.snapshot())};
          },
          py::arg("name"))
      .def(
          "allocatable",
          [](const PyCluster& c, const std::string& r) {
            const Snapshot& s = c.cluster.view();
            return py::array_t<std::int64_t>(s.size(), s.Allocatable(s.dictionary().Resource(r)));
          },
          py::arg("resource"))
      .def(
          "requested",
          [](const PyCluster& c, const std::string& r) {
            const Snapshot& s = c.cluster.view();
            return py::array_t<std::int64_t>(s.size(), s.Requested(s.dictionary().Resource(r)));
          },
          py::arg("resource"))
      .def(
          "label",
          [](const PyCluster& c, const std::string& key) {
            return LabelValues(c.cluster.view(), AllRows(c.cluster.view()), key);
          },
          py::arg("key"))
      .def_property_readonly("generation",
                             [](const PyCluster& c) { return c.cluster.view().generation(); })
      .def("__len__", [](const PyCluster& c) { return c.cluster.view().size(); })
      .def("__repr__", [](const PyCluster& c) {
        const Snapshot& s = c.cluster.view();
        return "<Cluster of " + std::to_string(s.size()) + " nodes, " +
               std::to_string(s.PodTotal()) + " pods, " + std::to_string(s.Pending().size()) +
               " waiting>";
      });
}

void BindResults(py::module_& m) {
  py::class_<PyDiagnosis, std::shared_ptr<PyDiagnosis>>(m, "Diagnosis")
      .def_property_readonly("message", [](const PyDiagnosis& d) { return d.diagnosis.Message(); })
      .def_property_readonly("reasons", [](const PyDiagnosis& d) { return d.diagnosis.Reasons(); })
      .def_property_readonly(
          "plugins", [](const PyDiagnosis& d) { return d.diagnosis.UnschedulablePlugins(); })
      .def("table", &PyDiagnosis::Table)
      .def("to_pandas",
           [](const PyDiagnosis& d) {
             const py::object frame = py::module_::import("pandas").attr("DataFrame")(
                 d.Table(), py::arg("columns") =
                                std::vector<std::string>{"node", "code", "plugin", "reasons"});
             return frame.attr("set_index")("node");
           })
      .def(
          "status",
          [](const PyDiagnosis& d, const std::string& node) {
            const auto row = d.snapshot->Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            return d.diagnosis.pre_filter.ok() ? d.diagnosis.status(*row) : d.diagnosis.pre_filter;
          },
          py::arg("node"))
      .def("__repr__",
           [](const PyDiagnosis& d) { return "<Diagnosis " + d.diagnosis.Message() + ">"; });
  py::class_<PyScores, std::shared_ptr<PyScores>>(m, "Scores")
      .def_property_readonly("plugins", [](const PyScores& s) { return s.matrix.plugins; })
      .def_property_readonly("weights",
                             [](py::object self) {
                               const auto& s = self.cast<const PyScores&>();
                               return ReadOnly(s.matrix.weights.data(), s.matrix.weights.size(),
                                               self);
                             })
      .def_property_readonly(
          "nodes", [](const PyScores& s) { return NodeNames(*s.snapshot, s.matrix.rows); })
      .def_property_readonly(
          "raw",
          [](py::object self) { return ReadOnly(self.cast<const PyScores&>().matrix.raw, self); })
      .def_property_readonly("normalized",
                             [](py::object self) {
                               return ReadOnly(self.cast<const PyScores&>().matrix.normalized,
                                               self);
                             })
      .def_property_readonly("weighted",
                             [](py::object self) {
                               return ReadOnly(self.cast<const PyScores&>().matrix.weighted, self);
                             })
      .def_property_readonly("total",
                             [](py::object self) {
                               const auto& s = self.cast<const PyScores&>();
                               return ReadOnly(s.matrix.total.data(),
                                               static_cast<std::size_t>(s.matrix.total.size()),
                                               self);
                             })
      .def(
          "to_pandas",
          [](py::object self, const std::string& which) {
            if (which != "raw" && which != "normalized" && which != "weighted") {
              Raise(exceptions().error,
                    "\"" + which + "\" is no score (allowed: raw, normalized, weighted)");
            }
            const py::object array = self.attr(which.c_str());
            return py::module_::import("pandas").attr("DataFrame")(
                array.attr("T"), py::arg("index") = self.attr("nodes"),
                py::arg("columns") = self.attr("plugins"));
          },
          py::arg("which") = "weighted")
      .def("__repr__", [](const PyScores& s) {
        return "<Scores of " + std::to_string(s.matrix.plugins.size()) + " plugins × " +
               std::to_string(s.matrix.rows.size()) + " nodes>";
      });
  py::class_<PyExplanation, std::shared_ptr<PyExplanation>>(m, "Explanation")
      .def_property_readonly("pod",
                             [](const PyExplanation& e) { return e.explanation.pod->FullName(); })
      .def_property_readonly("profile",
                             [](const PyExplanation& e) { return e.explanation.profile; })
      .def_property_readonly("status",
                             [](const PyExplanation& e) { return StatusOf(e.explanation); })
      .def_property_readonly(
          "feasible",
          [](const PyExplanation& e) {
            return NodeNames(*e.snapshot, internal::ByName(*e.snapshot, e.explanation.feasible));
          })
      .def_property_readonly(
          "best", [](const PyExplanation& e) { return NodeNames(*e.snapshot, e.explanation.best); })
      .def_property_readonly("scores", [](const PyExplanation& e) { return e.scores; })
      .def_property_readonly("diagnosis", [](const PyExplanation& e) { return e.diagnosis; })
      .def("to_json",
           [](const PyExplanation& e) { return ToJson(ToValue(e.ForReport(), *e.snapshot)); })
      .def("__repr__", [](const PyExplanation& e) {
        return "<Explanation of " + e.explanation.pod->FullName() + ": " +
               std::to_string(e.explanation.feasible.size()) + " of " +
               std::to_string(e.snapshot->size()) + " nodes fit>";
      });
  py::class_<PyPlacement>(m, "Placement")
      .def_readonly("pod", &PyPlacement::pod)
      .def_property_readonly("node",
                             [](const PyPlacement& p) -> std::optional<std::string> {
                               if (p.node.empty()) return std::nullopt;
                               return p.node;
                             })
      .def_readonly("status", &PyPlacement::status)
      .def("__repr__", [](const PyPlacement& p) {
        return "<Placement " + p.pod + " → " + (p.node.empty() ? p.status.message() : p.node) + ">";
      });
  py::class_<PyFit>(m, "Fit")
      .def_property_readonly("count", [](const PyFit& f) { return f.result.count; })
      .def_property_readonly("nodes",
                             [](const PyFit& f) {
                               return std::map<std::string, std::int64_t>(f.result.nodes.begin(),
                                                                          f.result.nodes.end());
                             })
      .def_property_readonly("limited", [](const PyFit& f) { return f.result.limited; })
      .def_property_readonly("status", [](const PyFit& f) { return f.result.status; })
      .def_property_readonly("diagnosis", [](const PyFit& f) { return f.diagnosis; })
      .def("__repr__", [](const PyFit& f) {
        return "<Fit " + std::to_string(f.result.count) + (f.result.limited ? " or more" : "") +
               ">";
      });
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  m.doc() = "The compiled part of schedfw.";
  m.attr("__version__") = SCHEDFW_VERSION;
  Exceptions& e = exceptions();
  e.error = py::exception<void>(m, "Error", PyExc_Exception);
  e.parse = py::exception<void>(m, "ParseError", e.error);
  e.config = py::exception<void>(m, "ConfigError", e.error);
  e.plugin = py::exception<void>(m, "PluginError", e.error);

  BindStatus(m);
  BindQuantity(m);
  BindViews(m);
  BindCluster(m);
  BindResults(m);
  py::class_<PyScheduler>(m, "Scheduler")
      .def(py::init<const std::string&, const std::string&, const py::list&, int, std::uint32_t,
                    bool, bool, std::uint64_t>())
      .def_property_readonly("profiles", &PyScheduler::profiles)
      .def("plugins", &PyScheduler::Plugins)
      .def("config_json", &PyScheduler::ConfigJson)
      .def("explain", &PyScheduler::Explain)
      .def("explain_json", &PyScheduler::ExplainJson)
      .def("schedule", &PyScheduler::Schedule)
      .def("schedule_one", &PyScheduler::ScheduleOne)
      .def("place", &PyScheduler::Place)
      .def("place_timed", &PyScheduler::PlaceTimed)
      .def("fit", &PyScheduler::Fit);
  m.def("to_json", [](const std::string& text, const std::string& name) {
    Result<Value> value = ParseValue(text, name);
    if (!value) Raise(exceptions().config, value.error().message());
    return ToJson(*value);
  });
  m.def("read_text", [](const std::string& path) {
    Result<std::string> text = io::ReadText(path);
    if (!text) Raise(text.error());
    return py::bytes(*text);
  });
  m.def("describe_plugins", [] { return DescribePlugins(InTreeRegistry()); });
  m.def("describe_plugin", [](const py::object& plugin) {
    Registry registry;
    Unwrap(registry.Add(DescribePythonPlugin(plugin)));
    return py::dict(DescribePlugins(registry)[0]);
  });
}

}  // namespace schedfw::python
