// schedfw._core: the library for Python. The package schedfw wraps and documents it.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bandwidth.h"
#include "io/text_file.h"
#include "packing.h"
#include "python_plugin.h"
#include "schedfw/api/normalize.h"
#include "schedfw/api/read.h"
#include "schedfw/base/simd.h"
#include "schedfw/cluster/cluster.h"
#include "schedfw/cluster/read_cluster.h"
#include "schedfw/plugins/registry.h"
#include "schedfw/scheduler/loop.h"
#include "schedfw/scheduler/report.h"
#include "schedfw/scheduler/scheduler.h"
#include "support.h"
#include "topology.h"
#include "views.h"

namespace schedfw::python {
namespace {

// A status of Error means that a plugin failed, which a caller must not miss.
void RaiseOnFault(const Status& status) {
  if (status.code() == Code::kError) Raise(exceptions().plugin, status.message());
}

// A cluster and the kinds of objects its files held that scheduling doesn't read.
//
// While a scheduler places pods on it without the GIL, no other thread may look at it; its plugins
// and progress callback may, but not change it. The fields below are guarded by the GIL.
class PyCluster {
 public:
  explicit PyCluster(Cluster cluster = {}, std::map<std::string, std::int64_t> ignored = {})
      : cluster_(std::move(cluster)), ignored_(std::move(ignored)) {}

  const Snapshot& view() const {
    if (scheduled_ && thread_ != std::this_thread::get_id()) {
      Raise(exceptions().error, "another thread places pods on this cluster; give it a fork");
    }
    return cluster_.view();
  }
  // The current state, kept.
  std::shared_ptr<const Snapshot> snapshot() const {
    return std::make_shared<const Snapshot>(view());
  }
  Cluster& change() {
    if (scheduled_) {
      Raise(exceptions().error,
            "pods are being placed on this cluster; it can be changed when that is done");
    }
    return cluster_;
  }
  PyCluster Fork() const { return PyCluster(Cluster(view()), ignored_); }
  const std::map<std::string, std::int64_t>& ignored() const { return ignored_; }

  // Keeps others away from a cluster while it is scheduled.
  class Use {
   public:
    explicit Use(PyCluster& cluster) : cluster_(cluster), changed_(cluster.change()) {
      cluster.scheduled_ = true;
      cluster.thread_ = std::this_thread::get_id();
    }
    ~Use() { cluster_.scheduled_ = false; }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    Cluster& cluster() const { return changed_; }

   private:
    PyCluster& cluster_;
    Cluster& changed_;
  };

 private:
  Cluster cluster_;
  std::map<std::string, std::int64_t> ignored_;
  bool scheduled_ = false;
  std::thread::id thread_;
};

PyCluster FromObjects(Result<api::ObjectList> objects) {
  if (!objects) Raise(objects.error());
  Unwrap(api::Normalize(*objects));
  auto ignored = std::move(objects->ignored);
  return PyCluster(Unwrap(Cluster::FromObjects(*std::move(objects))), std::move(ignored));
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
  const api::ObjectMeta& meta = pod->pod->metadata;
  if (!pod->pod->spec.node_name.empty() || snapshot.RowOf(meta.ns, meta.name)) {
    Raise(exceptions().error, "Pod " + pod->FullName() + " has a node already");
  }
  return pod;
}

py::array ReadOnlyScores(const ScoreArray& array, const py::object& owner) {
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

const std::int64_t* AllocatableColumn(const Snapshot& snapshot, const std::string& resource) {
  return snapshot.Allocatable(snapshot.dictionary().Resource(resource));
}

// Calls fn(column) with what the pods of each node take of a resource. Of "pods" each takes one.
template <typename F>
auto WithRequested(const Snapshot& snapshot, const std::string& resource, F&& fn) {
  const ResourceId id = snapshot.dictionary().Resource(resource);
  return id == kPods ? fn(snapshot.PodCount()) : fn(snapshot.Requested(id));
}

std::int64_t Allocatable(const Snapshot& snapshot, const std::string& resource, Row row) {
  return AllocatableColumn(snapshot, resource)[row];
}
std::int64_t Requested(const Snapshot& snapshot, const std::string& resource, Row row) {
  return WithRequested(snapshot, resource,
                       [&](const auto* column) { return std::int64_t{column[row]}; });
}

std::map<std::string, std::int64_t> Requests(const PodView& view) {
  std::map<std::string, std::int64_t> out;
  for (const ResourceAmount& request : view.pod->plan->total_requests) {
    out.emplace(view.snapshot->dictionary().ResourceName(request.resource), request.amount);
  }
  return out;
}

// A diagnosis and the snapshot that its rows belong to. The diagnosis has no rows when the cycle
// never came to look at nodes.
struct PyDiagnosis {
  std::shared_ptr<const Snapshot> snapshot;
  Diagnosis diagnosis;

  const Status& StatusAt(Row row) const {
    return diagnosis.pre_filter.ok() ? diagnosis.status(row) : diagnosis.pre_filter;
  }
  Row Feasible() const {
    Row out = 0;
    for (Row row = 0; row < diagnosis.size(); ++row) out += diagnosis.IsFeasible(row) ? 1 : 0;
    return out;
  }

  // Upstream's sentence, which is made for pods that fit nowhere, with the number that do fit.
  std::string Message() const {
    if (diagnosis.size() != snapshot->size()) return "";
    std::string out = diagnosis.Message();
    const Row feasible = Feasible();
    if (feasible == 0) return out;
    out.replace(0, 1, std::to_string(feasible));
    if (out.back() == ':') out.back() = '.';
    return out;
  }

  // (node, code, plugin, reasons) of every node, in name order; plugins and reasons of nodes that
  // passed are empty.
  py::list Table() const {
    py::list out;
    if (diagnosis.size() != snapshot->size()) return out;
    for (const Row row : internal::ByName(*snapshot, AllRows(*snapshot))) {
      const Status& status = StatusAt(row);
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
  std::chrono::nanoseconds took{0};
  Row evaluated = 0;
  Row feasible = 0;
  bool incremental = false;
};

struct PyPreemption {
  PreemptionResult result;
};

struct PyFit {
  FitResult result;
  std::shared_ptr<PyDiagnosis> diagnosis;
};

// A scheduler and the Python plugins that it runs.
class PyScheduler {
 public:
  PyScheduler(const std::optional<std::string>& config, const std::string& config_name,
              const py::list& plugins, int threads, std::uint32_t grain_rows,
              bool parallel_normalize, bool sample, bool seeded, std::uint64_t seed,
              bool verify_incremental, bool pod_groups) {
    has_python_plugins_ = !plugins.empty();
    Registry registry = InTreeRegistry();
    for (const auto& plugin : plugins) {
      Unwrap(registry.Add(
          DescribePythonPlugin(py::reinterpret_borrow<py::object>(plugin), queue_view_)));
    }
    SchedulerConfig parsed;
    if (config) parsed = Unwrap(ParseConfig(*config, registry, config_name));
    SchedulerOptions options;
    options.executor.threads = threads;
    options.executor.grain_rows = grain_rows;
    options.executor.normalize =
        parallel_normalize ? NormalizeMode::kParallel : NormalizeMode::kSynchronous;
    options.nodes_to_score = sample ? NodesToScore::kConfigured : NodesToScore::kAll;
    options.tie_break = seeded ? TieBreak::kSeeded : TieBreak::kFirst;
    options.seed = seed;
    options.verify_incremental = verify_incremental;
    options.handle.generic_workload = pod_groups;
    AllowThreads(threads);
    scheduler_ = Unwrap(Scheduler::Create(parsed, registry, options));
  }

  const std::vector<std::string>& profiles() const { return scheduler_->profile_names(); }

  // Point → [(plugin, weight)], in the order of a cycle.
  py::dict Plugins(const std::string& profile) const {
    const Framework* framework = scheduler_->framework(profile);
    if (framework == nullptr) Raise(exceptions().error, "there is no profile \"" + profile + "\"");
    py::dict out;
    for (ExtensionPoint point : AllPoints()) {
      py::list list;
      for (const PluginRef& ref : framework->profile().at(point)) {
        list.append(py::make_tuple(ref.name, ref.weight));
      }
      out[py::str(PointName(point))] = list;
    }
    return out;
  }

  // (node, plugin, message), each only once.
  std::vector<std::tuple<std::string, std::string, std::string>> CheckNodes(
      const PyCluster& cluster) const {
    std::vector<std::tuple<std::string, std::string, std::string>> out;
    for (const std::string& name : scheduler_->profile_names()) {
      for (NodeProblem& problem : scheduler_->framework(name)->CheckNodes(cluster.view())) {
        std::tuple entry(std::move(problem.node), std::move(problem.plugin),
                         std::move(problem.message));
        if (std::find(out.begin(), out.end(), entry) == out.end()) out.push_back(std::move(entry));
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

  std::shared_ptr<PyExplanation> Explain(const PyCluster& cluster, const std::string& name,
                                         bool preempt) {
    const PodPtr pod = FindWaitingPod(cluster.view(), name);
    auto out = std::make_shared<PyExplanation>();
    out->snapshot = cluster.snapshot();
    const Run run(*this, out->snapshot);
    {
      py::gil_scoped_release release;
      out->explanation = scheduler_->Explain(*out->snapshot, pod, {.preempt = preempt});
    }
    RaiseOnFault(out->explanation.pre_enqueue);
    RaiseOnFault(out->explanation.score_status);
    RaiseOnFault(out->explanation.diagnosis.pre_filter);
    for (Row row = 0; row < out->explanation.diagnosis.size(); ++row) {
      RaiseOnFault(out->explanation.diagnosis.status(row));
    }
    if (const auto& preemption = out->explanation.preemption) RaiseOnFault(preemption->status);
    out->diagnosis =
        std::make_shared<PyDiagnosis>(PyDiagnosis{out->snapshot, out->explanation.diagnosis});
    out->scores =
        std::make_shared<PyScores>(PyScores{out->snapshot, std::move(out->explanation.scores)});
    return out;
  }

  // The explanations of all waiting pods in the form of the recorded answers, as JSON text: with
  // scores, or with what preemption would do.
  std::string ExplainJson(const PyCluster& cluster, int indent, bool preempt) {
    const std::shared_ptr<const Snapshot> snapshot = cluster.snapshot();
    const Run run(*this, snapshot);
    py::gil_scoped_release release;
    Value::List out;
    for (const PodPtr& pod : snapshot->Pending()) {
      if (pod->terminating()) continue;
      const Explanation explanation = scheduler_->Explain(*snapshot, pod, {.preempt = preempt});
      out.push_back(ToValue(explanation, *snapshot, /*scores=*/!preempt));
    }
    return ToJson(std::move(out), indent);
  }

  PyPlacement Schedule(const PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.view(), name);
    const std::shared_ptr<const Snapshot> snapshot = cluster.snapshot();
    const Run run(*this, snapshot);
    PyPlacement out{pod->FullName(), "", scheduler_->Admit(*pod)};
    if (out.status.ok()) {
      py::gil_scoped_release release;
      ScheduleResult result = scheduler_->Schedule(*snapshot, *pod);
      out.node = std::move(result.node);
      out.status = std::move(result.status);
      out.evaluated = result.evaluated;
      out.feasible = result.feasible;
      out.incremental = result.incremental;
    }
    RaiseOnFault(out.status);
    return out;
  }

  PyPreemption Preempt(PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.view(), name);
    const Run run(*this, cluster);
    const PyCluster::Use use(cluster);
    PyPreemption out;
    {
      py::gil_scoped_release release;
      out.result = scheduler_->Preempt(use.cluster(), *pod);
    }
    RaiseOnFault(out.result.status);
    return out;
  }

  PyPlacement ScheduleOne(PyCluster& cluster, const std::string& name) {
    const PodPtr pod = FindWaitingPod(cluster.view(), name);
    const Run run(*this, cluster);
    const PyCluster::Use use(cluster);
    PyPlacement out;
    {
      py::gil_scoped_release release;
      out = Attempt(use.cluster(), *pod);
    }
    RaiseOnFault(out.status);
    return out;
  }

  // Ends at the first pod for which a plugin fails.
  std::vector<PyPlacement> Place(PyCluster& cluster, const py::object& callback) {
    PythonProgress progress(callback);
    const Run run(*this, cluster);
    const PyCluster::Use use(cluster);
    std::vector<PyPlacement> out;
    {
      py::gil_scoped_release release;
      const Progress poll = progress.function();
      const std::vector<QueuedPodInfo> queue = scheduler_->Queue(use.cluster().view());
      out.reserve(queue.size());
      for (const QueuedPodInfo& queued : queue) {
        poll(out.size(), queue.size());
        out.push_back(Attempt(use.cluster(), *queued.pod));
        if (out.back().status.code() == Code::kError) break;
      }
    }
    if (!out.empty()) RaiseOnFault(out.back().status);
    progress.Finish(out.size(), out.size());
    return out;
  }

  // Runs the loop until nothing more can change: what is bound, evicted and pending.
  py::dict RunLoop(PyCluster& cluster, bool at_once, const py::object& callback) {
    PythonProgress progress(callback);
    const Run run(*this, cluster);
    const PyCluster::Use use(cluster);
    RunReport report;
    {
      py::gil_scoped_release release;
      LoopOptions options;
      options.status_updates = at_once ? StatusUpdates::kAtOnce : StatusUpdates::kOnFailure;
      SchedulingLoop loop(*scheduler_, use.cluster(), options);
      report = *loop.RunUntilQuiet(progress.function());
    }
    progress.Finish(report.bound.size(), report.bound.size() + report.pending.size());
    py::dict out;
    out["bound"] = report.bound;
    out["deleted"] = report.deleted;
    py::dict pending;
    for (const auto& [pod, why] : report.pending) pending[py::str(pod)] = why;
    out["pending"] = pending;
    out["attempts"] = report.attempts;
    out["duration_s"] = std::chrono::duration<double>(report.duration).count();
    return out;
  }

  // The time of each attempt, for performance work: (pod, node, nanoseconds).
  py::list PlaceTimed(PyCluster& cluster) {
    py::list out;
    for (const PyPlacement& placement : Place(cluster, py::none())) {
      out.append(py::make_tuple(placement.pod, placement.node, placement.took.count()));
    }
    return out;
  }

  // Without a text, `pod_name` names a pod of the cluster.
  PyFit Fit(const PyCluster& cluster, const std::optional<std::string>& pod_text,
            const std::string& pod_name, std::int64_t limit, const py::object& callback) {
    api::Pod pod;
    if (!pod_text) {
      pod = *FindPod(cluster.view(), pod_name)->pod;
    } else {
      api::ObjectList objects = Unwrap(api::ParseObjects(*pod_text, pod_name));
      if (objects.pods.size() != 1) {
        Raise(exceptions().error,
              pod_name + ": expected one Pod, got " + std::to_string(objects.pods.size()));
      }
      pod = std::move(objects.pods.front());
    }
    PythonProgress progress(callback);
    PyFit out;
    const std::shared_ptr<const Snapshot> snapshot = cluster.snapshot();
    const Run run(*this, snapshot);
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
    progress.Finish(static_cast<std::size_t>(out.result.count), static_cast<std::size_t>(limit));
    return out;
  }

 private:
  // One call at a time: the plugins' buffers belong to one cycle. Needs the GIL.
  class Run {
   public:
    Run(PyScheduler& scheduler, std::shared_ptr<const Snapshot> snapshot) : scheduler_(scheduler) {
      if (scheduler.runs_) {
        Raise(exceptions().error, "this Scheduler is in the middle of a call; use another one");
      }
      scheduler.runs_ = true;
      scheduler.queue_view_->snapshot = std::move(snapshot);
    }
    // A snapshot that is kept while the cluster changes costs a copy of each column.
    Run(PyScheduler& scheduler, const PyCluster& cluster)
        : Run(scheduler, scheduler.has_python_plugins_ ? cluster.snapshot() : nullptr) {}
    ~Run() {
      scheduler_.queue_view_->snapshot = nullptr;
      scheduler_.runs_ = false;
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    PyScheduler& scheduler_;
  };

  PyPlacement Attempt(Cluster& cluster, const PodInfo& pod) {
    PyPlacement out{pod.FullName(), "", {}};
    const auto start = std::chrono::steady_clock::now();
    out.status = scheduler_->Admit(pod);
    if (out.status.ok()) {
      ScheduleResult result = scheduler_->ScheduleOne(cluster, pod);
      out.node = std::move(result.node);
      out.status = std::move(result.status);
      out.evaluated = result.evaluated;
      out.feasible = result.feasible;
      out.incremental = result.incremental;
    }
    out.took = std::chrono::steady_clock::now() - start;
    return out;
  }

  std::shared_ptr<QueueView> queue_view_ = std::make_shared<QueueView>();
  bool has_python_plugins_ = false;
  bool runs_ = false;
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
  py::class_<Status>(m, "Status",
                     "What a plugin said of a pod or a node; true if that was Success.")
      .def_property_readonly(
          "code", [](const Status& s) { return CodeName(s.code()); },
          "Success, Unschedulable, UnschedulableAndUnresolvable, Error, …, in kube-scheduler's "
          "spelling.")
      .def_property_readonly("plugin", &Status::plugin, "The plugin that said so, or \"\".")
      .def_property_readonly("reasons", &Status::reasons, "The reasons, each a sentence.")
      .def_property_readonly("message", &Status::message, "The reasons in one line.")
      .def("__bool__", &Status::ok)
      .def(
          "__eq__", [](const Status& a, const Status& b) { return a == b; }, py::is_operator())
      .def("__hash__", [](const Status& s) { return std::hash<std::string>()(s.message()); })
      .def("__repr__", [](const Status& s) {
        std::string out = "<Status " + std::string(CodeName(s.code()));
        if (!s.plugin().empty()) out += " by " + std::string(s.plugin());
        return out + (s.reasons().empty() ? "" : ": " + s.message()) + ">";
      });
}

void BindQuantity(py::module_& m) {
  py::class_<Quantity>(
      m, "Quantity",
      "An exact amount of a resource as Kubernetes writes it: \"500m\", \"1.5Gi\", "
      "\"12e6\". Quantities compare and hash by amount.")
      .def(py::init([](const std::string& text) { return Unwrap(Quantity::Parse(text)); }),
           py::arg("text"))
      .def_property_readonly("value", &Quantity::Value,
                             "The amount in whole units, rounded up, or None if it doesn't fit "
                             "into 64 bits.")
      .def_property_readonly("milli_value", &Quantity::MilliValue,
                             "The amount in thousandths, rounded up, or None if it doesn't fit "
                             "into 64 bits.")
      .def("__str__", &Quantity::ToString)
      .def("__repr__", [](const Quantity& q) { return "Quantity('" + q.ToString() + "')"; })
      .def(
          "__eq__", [](const Quantity& a, const Quantity& b) { return a == b; }, py::is_operator())
      .def(
          "__lt__", [](const Quantity& a, const Quantity& b) { return a < b; }, py::is_operator())
      .def(
          "__le__", [](const Quantity& a, const Quantity& b) { return a <= b; }, py::is_operator())
      .def("__hash__",
           [](const Quantity& q) { return std::hash<std::int64_t>()(q.Value().value_or(0)); });
}

// A debugger or a notebook shows objects that plugins kept, too: no error for those.
template <typename View, typename F>
std::string Describe(const View& view, const char* type, F&& text) {
  if (*view.cycle == nullptr) return "<" + std::string(type) + " of an earlier call>";
  return "<" + std::string(type) + " " + text() + ">";
}

// What is left of each GPU, by node: -1 where there is no such GPU.
template <typename RowOf>
py::array_t<std::int16_t> GpuMilliLeft(const Snapshot& snapshot, std::size_t nodes,
                                       RowOf&& row_of) {
  py::array_t<std::int16_t> out({static_cast<py::ssize_t>(nodes), py::ssize_t{kMaxGpus}});
  const GpuDevices* gpus = snapshot.Gpus();
  std::int16_t* data = out.mutable_data();
  for (std::size_t i = 0; i < nodes; ++i, data += kMaxGpus) {
    std::fill_n(data, kMaxGpus, std::int16_t{-1});
    if (gpus == nullptr) continue;
    const GpuDevices& node = gpus[row_of(i)];
    std::copy_n(node.left.begin(), node.count, data);
  }
  return out;
}

void BindViews(py::module_& m) {
  // NOLINTNEXTLINE(performance-unnecessary-value-param) - the type is given
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const StaleView& stale) {
      PyErr_SetString(exceptions().error.ptr(), stale.what());
    }
  });
  py::class_<PodView>(m, "Pod", "A pod, as it was when this object was made.")
      .def_property_readonly(
          "name", [](const PodView& v) { return v.pod->pod->metadata.name; }, "Its name.")
      .def_property_readonly(
          "namespace", [](const PodView& v) { return v.pod->pod->metadata.ns; }, "Its namespace.")
      .def_property_readonly(
          "full_name", [](const PodView& v) { return v.pod->FullName(); }, "\"namespace/name\".")
      .def_property_readonly(
          "labels", [](const PodView& v) { return v.pod->pod->metadata.labels; },
          "Its labels, a new dict.")
      .def_property_readonly(
          "annotations", [](const PodView& v) { return v.pod->pod->metadata.annotations; },
          "Its annotations, a new dict.")
      .def_property_readonly(
          "priority", [](const PodView& v) { return v.pod->priority(); },
          "Its priority; higher ones are scheduled first.")
      .def_property_readonly(
          "scheduler_name", [](const PodView& v) { return v.pod->pod->spec.scheduler_name; },
          "The profile that it asks for.")
      .def_property_readonly(
          "nominated_node",
          [](const PodView& v) -> std::optional<std::string> {
            const std::string& node = v.pod->pod->status.nominated_node_name;
            if (node.empty()) return std::nullopt;
            return node;
          },
          "The node that it is nominated to, or None.")
      .def_property_readonly("requests", &Requests,
                             "What it takes from a node, by resource: thousandths of a core for "
                             "cpu, bytes for memory, units for devices.")
      .def("request", &PodView::Request, py::arg("resource"),
           "Return what it takes of one resource, 0 if it doesn't ask for it; units as in "
           "`requests`.")
      .def("__repr__", [](const PodView& v) { return "<Pod " + v.pod->FullName() + ">"; });
  py::class_<CycleView>(m, "Cycle",
                        "The attempt to place one pod, as plugins see it; valid while the plugin "
                        "is called.")
      .def_property_readonly(
          "pod",
          [](const CycleView& v) {
            const Cycle& cycle = Get(v.cycle);
            return PodView{std::make_shared<const PodInfo>(cycle.pod),
                           std::make_shared<const Snapshot>(cycle.snapshot)};
          },
          "The pod to be placed; it may be kept.")
      .def_property_readonly(
          "nodes",
          [](const CycleView& v) {
            return NodesView{v.cycle, AllRows(Get(v.cycle).snapshot)};
          },
          "All nodes of the cluster, whether the pod fits or not.")
      .def("__repr__", [](const CycleView& v) {
        return Describe(v, "Cycle", [&] { return "for " + Get(v.cycle).pod.FullName(); });
      });
  py::class_<NodeView>(m, "Node", "One node, as plugins see it; valid while the plugin is called.")
      .def_property_readonly(
          "name", [](const NodeView& v) { return v.snapshot().name(v.row); }, "Its name.")
      .def_property_readonly(
          "labels", [](const NodeView& v) { return v.snapshot().node(v.row).metadata.labels; },
          "Its labels, a new dict.")
      .def_property_readonly(
          "annotations",
          [](const NodeView& v) { return v.snapshot().node(v.row).metadata.annotations; },
          "Its annotations, a new dict.")
      .def_property_readonly(
          "pods",
          [](const NodeView& v) {
            std::vector<std::string> out;
            for (const PodPtr& pod : v.snapshot().pods(v.row)) out.push_back(pod->FullName());
            std::sort(out.begin(), out.end());
            return out;
          },
          "The pods on it (\"namespace/name\"), by name.")
      .def(
          "allocatable",
          [](const NodeView& v, const std::string& r) {
            return Allocatable(v.snapshot(), r, v.row);
          },
          py::arg("resource"),
          "Return what it offers of a resource: thousandths of a core for cpu, bytes for memory, "
          "units for devices.")
      .def(
          "requested",
          [](const NodeView& v, const std::string& r) { return Requested(v.snapshot(), r, v.row); },
          py::arg("resource"),
          "Return what its pods take of a resource; units as in `allocatable`.")
      .def(
          "free",
          [](const NodeView& v, const std::string& r) {
            return Allocatable(v.snapshot(), r, v.row) - Requested(v.snapshot(), r, v.row);
          },
          py::arg("resource"),
          "Return allocatable minus requested of a resource; units as in `allocatable`.")
      .def("__repr__", [](const NodeView& v) {
        return Describe(v, "Node", [&] { return v.snapshot().name(v.row); });
      });
  py::class_<NodesView>(m, "Nodes",
                        "Some nodes as columns, in row order, as plugins see them; valid while the "
                        "plugin is called. The arrays may be kept.")
      .def("__len__", [](const NodesView& v) { return v.rows.size(); })
      .def(
          "__getitem__",
          [](const NodesView& v, std::ptrdiff_t i) {
            const auto size = static_cast<std::ptrdiff_t>(v.rows.size());
            if (i < 0) i += size;
            if (i < 0 || i >= size)
              throw py::index_error("there are " + std::to_string(size) + " nodes");
            return NodeView{v.cycle, v.rows[static_cast<std::size_t>(i)]};
          },
          py::arg("index"))
      .def("__iter__",
           [](const NodesView& v) {
             py::list out;
             for (const Row row : v.rows) out.append(NodeView{v.cycle, row});
             return py::iter(out);
           })
      .def_property_readonly(
          "names", [](const NodesView& v) { return NodeNames(v.snapshot(), v.rows); },
          "The names, one a node.")
      .def(
          "allocatable",
          [](const NodesView& v, const std::string& r) {
            const std::int64_t* column = AllocatableColumn(v.snapshot(), r);
            return v.Column([&](Row row) { return column[row]; });
          },
          py::arg("resource"),
          "Return what each node offers of a resource: a new int64 array, shape (nodes,); "
          "thousandths of a core for cpu, bytes for memory, units for devices.")
      .def(
          "requested",
          [](const NodesView& v, const std::string& r) {
            return WithRequested(v.snapshot(), r, [&](const auto* column) {
              return v.Column([&](Row row) { return column[row]; });
            });
          },
          py::arg("resource"),
          "Return what the pods of each node take of a resource: a new int64 array, shape "
          "(nodes,); units as in `allocatable`.")
      .def(
          "free",
          [](const NodesView& v, const std::string& r) {
            const std::int64_t* offered = AllocatableColumn(v.snapshot(), r);
            return WithRequested(v.snapshot(), r, [&](const auto* taken) {
              return v.Column([&](Row row) { return offered[row] - taken[row]; });
            });
          },
          py::arg("resource"),
          "Return allocatable minus requested of a resource: a new int64 array, shape (nodes,); "
          "units as in `allocatable`.")
      .def_property_readonly(
          "pod_count",
          [](const NodesView& v) {
            const std::int32_t* column = v.snapshot().PodCount();
            return v.Column([&](Row row) { return std::int64_t{column[row]}; });
          },
          "How many pods each node has: a new int64 array, shape (nodes,).")
      .def_property_readonly(
          "gpu_milli_left",
          [](const NodesView& v) {
            return GpuMilliLeft(v.snapshot(), v.rows.size(),
                                [&](std::size_t i) { return v.rows[i]; });
          },
          "What is left of each GPU in thousandths, -1 where there is none: a new int16 array, "
          "shape "
          "(nodes, 16).")
      .def(
          "label",
          [](const NodesView& v, const std::string& key) {
            return LabelValues(v.snapshot(), v.rows, key);
          },
          py::arg("key"), "Return each node's value of a label, None where it has none.")
      .def("__repr__", [](const NodesView& v) {
        if (*v.cycle == nullptr) return std::string("<Nodes of an earlier call>");
        return "<" + std::to_string(v.rows.size()) + " Nodes>";
      });
}

void BindCluster(py::module_& m) {
  py::class_<PyCluster>(m, "Cluster")
      .def(py::init<>())
      .def_static("_read",
                  [](const std::vector<std::string>& paths) {
                    std::map<std::string, std::int64_t> ignored;
                    std::optional<Result<Cluster>> cluster;
                    {
                      py::gil_scoped_release release;
                      cluster.emplace(ReadCluster(paths, &ignored));
                    }
                    return PyCluster(Unwrap(*std::move(cluster)), std::move(ignored));
                  })
      .def_static("_parse",
                  [](const std::string& text, const std::string& name) {
                    return FromObjects(api::ParseObjects(text, name));
                  })
      .def("fork", &PyCluster::Fork)
      .def("_apply",
           [](PyCluster& c, const std::string& text, const std::string& name) {
             api::ObjectList objects = Unwrap(api::ParseObjects(text, name));
             Unwrap(c.change().Apply(objects));
           })
      .def(
          "delete_node",
          [](PyCluster& c, const std::string& name) { Unwrap(c.change().DeleteNode(name)); },
          py::arg("name"))
      .def(
          "delete_pod",
          [](PyCluster& c, const std::string& name) {
            const PodPtr pod = FindPod(c.view(), name);
            Unwrap(c.change().DeletePod(pod->pod->metadata.ns, pod->pod->metadata.name));
          },
          py::arg("name"))
      .def(
          "bind",
          [](PyCluster& c, const std::string& name, const std::string& node) {
            const PodPtr pod = FindWaitingPod(c.view(), name);
            const auto row = c.view().Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            Unwrap(c.change().AssumePod(*pod, *row));
            Unwrap(c.change().FinishBinding(*pod));
          },
          py::arg("pod"), py::arg("node"))
      .def(
          "nominate",
          [](PyCluster& c, const std::string& name, const std::optional<std::string>& node) {
            const PodPtr pod = FindWaitingPod(c.view(), name);
            const api::ObjectMeta& meta = pod->pod->metadata;
            Unwrap(c.change().NominatePod(meta.ns, meta.name, node.value_or("")));
          },
          py::arg("pod"), py::arg("node"))
      .def_property_readonly(
          "nodes", [](const PyCluster& c) { return NodeNames(c.view(), AllRows(c.view())); })
      .def_property_readonly("pending",
                             [](const PyCluster& c) {
                               std::vector<std::string> out;
                               for (const PodPtr& pod : c.view().Pending()) {
                                 if (!pod->terminating()) out.push_back(pod->FullName());
                               }
                               return out;
                             })
      .def_property_readonly("deleting",
                             [](const PyCluster& c) {
                               std::vector<std::string> out;
                               for (const PodPtr& pod : c.view().Pending()) {
                                 if (pod->terminating()) out.push_back(pod->FullName());
                               }
                               return out;
                             })
      .def_property_readonly("pod_count", [](const PyCluster& c) { return c.view().PodTotal(); })
      .def_property_readonly(
          "coscheduling_group_count",
          [](const PyCluster& c) { return c.view().objects().coscheduling_pod_groups.size(); })
      .def_property_readonly(
          "node_resource_topology_count",
          [](const PyCluster& c) { return c.view().objects().node_resource_topologies.size(); })
      .def_property_readonly("orphan_count",
                             [](const PyCluster& c) { return c.view().OrphanTotal(); })
      .def_property_readonly("ignored", &PyCluster::ignored)
      .def(
          "node_of",
          [](const PyCluster& c, const std::string& name) -> std::optional<std::string> {
            const PodPtr pod = FindPod(c.view(), name);
            const auto row = c.view().RowOf(pod->pod->metadata.ns, pod->pod->metadata.name);
            if (!row) return std::nullopt;
            return c.view().name(*row);
          },
          py::arg("pod"))
      .def(
          "gpus_of",
          [](const PyCluster& c, const std::string& name) {
            const GpuMask gpus = c.view().GpusOf(FindPod(c.view(), name)->Key());
            std::vector<int> out;
            for (int g = 0; g < kMaxGpus; ++g) {
              if ((gpus >> g & 1) != 0) out.push_back(g);
            }
            return out;
          },
          py::arg("pod"))
      .def(
          "topology_of",
          [](const PyCluster& c, const std::string& name) -> std::optional<NodeTopology> {
            const auto row = c.view().Find(name);
            if (!row) Raise(exceptions().error, "there is no Node " + name);
            const GpuTopology* topology = c.view().TopologyOf(*row);
            return topology == nullptr ? std::nullopt : std::optional(topology->node());
          },
          py::arg("node"))
      .def_property_readonly("gpu_milli_left",
                             [](const PyCluster& c) {
                               return GpuMilliLeft(c.view(), c.view().size(), [](std::size_t i) {
                                 return static_cast<Row>(i);
                               });
                             })
      .def(
          "pods_on",
          [](const PyCluster& c, const std::string& node) {
            const auto row = c.view().Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            std::vector<std::string> out;
            for (const PodPtr& pod : c.view().pods(*row)) out.push_back(pod->FullName());
            std::sort(out.begin(), out.end());
            return out;
          },
          py::arg("node"))
      .def(
          "pod",
          [](const PyCluster& c, const std::string& name) {
            return PodView{FindPod(c.view(), name), c.snapshot()};
          },
          py::arg("name"))
      .def(
          "allocatable",
          [](const PyCluster& c, const std::string& r) {
            return py::array_t<std::int64_t>(c.view().size(), AllocatableColumn(c.view(), r));
          },
          py::arg("resource"))
      .def(
          "requested",
          [](const PyCluster& c, const std::string& r) {
            py::array_t<std::int64_t> out(c.view().size());
            WithRequested(c.view(), r, [&](const auto* column) {
              std::copy_n(column, c.view().size(), out.mutable_data());
            });
            return out;
          },
          py::arg("resource"))
      .def(
          "label",
          [](const PyCluster& c, const std::string& key) {
            return LabelValues(c.view(), AllRows(c.view()), key);
          },
          py::arg("key"))
      .def_property_readonly("generation", [](const PyCluster& c) { return c.view().generation(); })
      .def("__len__", [](const PyCluster& c) { return c.view().size(); })
      .def("__repr__", [](const PyCluster& c) {
        const Snapshot& s = c.view();
        return "<Cluster of " + std::to_string(s.size()) + " nodes, " +
               std::to_string(s.PodTotal()) + " pods, " + std::to_string(s.Pending().size()) +
               " waiting>";
      });
}

void BindResults(py::module_& m) {
  py::class_<PyDiagnosis, std::shared_ptr<PyDiagnosis>>(
      m, "Diagnosis", "Which plugin rejected which node, and why, for one pod.")
      .def_property_readonly("message", &PyDiagnosis::Message,
                             "The sentence of kube-scheduler's event, \"0/5 nodes are available: "
                             "…\"; \"\" when no node was looked at.")
      .def_property_readonly(
          "reasons", [](const PyDiagnosis& d) { return d.diagnosis.Reasons(); },
          "(reason, how many nodes), most frequent first.")
      .def_property_readonly(
          "plugins", [](const PyDiagnosis& d) { return d.diagnosis.UnschedulablePlugins(); },
          "The plugins that rejected the pod or a node.")
      .def("table", &PyDiagnosis::Table,
           "Return (node, code, plugin, reasons) of every node, by name; code is Success where the "
           "pod fits. Empty when no node was looked at.")
      .def(
          "to_pandas",
          [](const PyDiagnosis& d) {
            const py::object frame = py::module_::import("pandas").attr("DataFrame")(
                d.Table(),
                py::arg("columns") = std::vector<std::string>{"node", "code", "plugin", "reasons"});
            return frame.attr("set_index")("node");
          },
          "Return the table as a DataFrame with columns code, plugin and reasons; needs pandas.")
      .def(
          "status",
          [](const PyDiagnosis& d, const std::string& node) {
            const auto row = d.snapshot->Find(node);
            if (!row) Raise(exceptions().error, "there is no Node " + node);
            if (d.diagnosis.size() != d.snapshot->size()) {
              Raise(exceptions().error, "no node was looked at, so there is no status of " + node);
            }
            return d.StatusAt(*row);
          },
          py::arg("node"), "Return the status that a node was rejected with, Success if it fits.")
      .def("__repr__", [](const PyDiagnosis& d) {
        const std::string message = d.Message();
        return "<Diagnosis: " + (message.empty() ? "no node was looked at" : message) + ">";
      });
  py::class_<PyScores, std::shared_ptr<PyScores>>(
      m, "Scores",
      "The scores of the nodes that a pod fits on: int64 arrays of shape (plugins, nodes), which "
      "are read-only and share the memory of this object.")
      .def_property_readonly(
          "plugins", [](const PyScores& s) { return s.matrix.plugins; },
          "The names of the rows: the plugins that scored.")
      .def_property_readonly(
          "weights",
          [](const py::object& self) {
            const auto& s = self.cast<const PyScores&>();
            return ReadOnly(s.matrix.weights.data(), s.matrix.weights.size(), self);
          },
          "The weight of each plugin, shape (plugins,).")
      .def_property_readonly(
          "nodes", [](const PyScores& s) { return NodeNames(*s.snapshot, s.matrix.rows); },
          "The names of the columns: the nodes that fit, in the cluster's order.")
      .def_property_readonly(
          "raw",
          [](const py::object& self) {
            return ReadOnlyScores(self.cast<const PyScores&>().matrix.raw, self);
          },
          "The scores as the plugins gave them, shape (plugins, nodes).")
      .def_property_readonly(
          "normalized",
          [](const py::object& self) {
            return ReadOnlyScores(self.cast<const PyScores&>().matrix.normalized, self);
          },
          "The scores after normalizing, from 0 to 100, shape (plugins, nodes).")
      .def_property_readonly(
          "weighted",
          [](const py::object& self) {
            return ReadOnlyScores(self.cast<const PyScores&>().matrix.weighted, self);
          },
          "normalized × weights, shape (plugins, nodes).")
      .def_property_readonly(
          "total",
          [](const py::object& self) {
            const auto& s = self.cast<const PyScores&>();
            return ReadOnly(s.matrix.total.data(), static_cast<std::size_t>(s.matrix.total.size()),
                            self);
          },
          "The sum of weighted over the plugins, shape (nodes,); the highest wins.")
      .def(
          "to_pandas",
          [](const py::object& self, const std::string& which) {
            if (which != "raw" && which != "normalized" && which != "weighted") {
              Raise(exceptions().error,
                    "\"" + which + "\" is no score (allowed: raw, normalized, weighted)");
            }
            const py::module_ pandas = py::module_::import("pandas");
            const py::object index = pandas.attr("Index");
            return pandas.attr("DataFrame")(
                self.attr(which.c_str()).attr("T"),
                py::arg("index") = index(self.attr("nodes"), py::arg("name") = "node"),
                py::arg("columns") = index(self.attr("plugins"), py::arg("name") = "plugin"),
                py::arg("copy") = true);
          },
          py::arg("which") = "weighted",
          "Return one of the arrays as a DataFrame, nodes × plugins; needs pandas.")
      .def("__repr__", [](const PyScores& s) {
        return "<Scores of " + std::to_string(s.matrix.plugins.size()) + " plugins × " +
               std::to_string(s.matrix.rows.size()) + " nodes>";
      });
  py::class_<Victim>(m, "Victim", "A pod that is evicted so that another one fits.")
      .def_property_readonly(
          "pod", [](const Victim& v) { return v.pod->FullName(); }, "The pod, \"namespace/name\".")
      .def_property_readonly(
          "priority", [](const Victim& v) { return v.pod->priority(); }, "Its priority.")
      .def_property_readonly(
          "violated_budget",
          [](const Victim& v) -> std::optional<std::string> {
            if (v.violated_budget.empty()) return std::nullopt;
            return v.violated_budget;
          },
          "The PodDisruptionBudget that its eviction breaks, \"namespace/name\", or None.")
      .def_readonly("reason", &Victim::reason, "Why this one, a sentence.")
      .def("__repr__", [](const Victim& v) {
        return "<Victim " + v.pod->FullName() + (v.reason.empty() ? "" : ": " + v.reason) + ">";
      });
  py::class_<PyPreemption>(m, "Preemption", "What evicting pods does for a pod that fits nowhere.")
      .def_property_readonly(
          "status", [](const PyPreemption& p) { return p.result.status; },
          "Success if it helps, else why not.")
      .def_property_readonly(
          "nominated_node",
          [](const PyPreemption& p) -> std::optional<std::string> {
            if (p.result.nominated_node.empty()) return std::nullopt;
            return p.result.nominated_node;
          },
          "The node where the pod fits once the victims are gone, or None.")
      .def_property_readonly(
          "victims", [](const PyPreemption& p) { return p.result.victims; },
          "The pods to evict there, the most important first.")
      .def("__repr__", [](const PyPreemption& p) {
        if (!p.result.status.ok()) return "<Preemption: " + p.result.status.message() + ">";
        return "<Preemption of " + std::to_string(p.result.victims.size()) + " pods on " +
               p.result.nominated_node + ">";
      });
  py::class_<PyExplanation, std::shared_ptr<PyExplanation>>(
      m, "Explanation", "One pod's cycle over all nodes: every status and every score.")
      .def_property_readonly(
          "pod", [](const PyExplanation& e) { return e.explanation.pod->FullName(); },
          "The pod, \"namespace/name\".")
      .def_property_readonly(
          "profile", [](const PyExplanation& e) { return e.explanation.profile; },
          "The scheduler name that the pod asks for.")
      .def_property_readonly(
          "status", [](const PyExplanation& e) { return StatusOf(e.explanation); },
          "Success if the pod fits on a node, else why it pends.")
      .def_property_readonly(
          "feasible",
          [](const PyExplanation& e) {
            return NodeNames(*e.snapshot, internal::ByName(*e.snapshot, e.explanation.feasible));
          },
          "The nodes that the pod fits on, by name.")
      .def_property_readonly(
          "best", [](const PyExplanation& e) { return NodeNames(*e.snapshot, e.explanation.best); },
          "The nodes with the highest total, by name; tie_break=\"first\" takes the first.")
      .def_property_readonly(
          "scores", [](const PyExplanation& e) { return e.scores; },
          "The scores of the feasible nodes.")
      .def_property_readonly(
          "diagnosis", [](const PyExplanation& e) { return e.diagnosis; },
          "Why each of the other nodes was rejected.")
      .def_property_readonly(
          "preemption",
          [](const PyExplanation& e) -> std::optional<PyPreemption> {
            if (!e.explanation.preemption) return std::nullopt;
            return PyPreemption{*e.explanation.preemption};
          },
          "What evicting pods would do, if that was asked for and no node fits; else None.")
      .def(
          "to_json",
          [](const PyExplanation& e) { return ToJson(ToValue(e.ForReport(), *e.snapshot)); },
          "Return all of it as a line of JSON.")
      .def("__repr__", [](const PyExplanation& e) {
        const std::string of = "<Explanation of " + e.explanation.pod->FullName() + ": ";
        if (e.explanation.diagnosis.size() != e.snapshot->size()) {
          return of + StatusOf(e.explanation).message() + ">";
        }
        return of + std::to_string(e.explanation.feasible.size()) + " of " +
               std::to_string(e.snapshot->size()) + " nodes fit>";
      });
  py::class_<PyPlacement>(m, "Placement", "Where one pod went, or why nowhere.")
      .def_readonly("pod", &PyPlacement::pod, "The pod, \"namespace/name\".")
      .def_property_readonly(
          "node",
          [](const PyPlacement& p) -> std::optional<std::string> {
            if (p.node.empty()) return std::nullopt;
            return p.node;
          },
          "The node, or None.")
      .def_readonly("status", &PyPlacement::status, "Success, or why there is no node.")
      .def_readonly("evaluated", &PyPlacement::evaluated, "How many nodes the filters judged.")
      .def_readonly("feasible", &PyPlacement::feasible, "How many of them passed.")
      .def_readonly("incremental", &PyPlacement::incremental,
                    "True when answers of earlier cycles of the same kind of pod were used.")
      .def("__repr__", [](const PyPlacement& p) {
        return "<Placement " + p.pod +
               (p.node.empty() ? ": " + p.status.message() : " → " + p.node) + ">";
      });
  py::class_<PyFit>(m, "Fit", "How many more pods of a kind fit.")
      .def_property_readonly(
          "count", [](const PyFit& f) { return f.result.count; }, "How many pods fit.")
      .def_property_readonly(
          "nodes",
          [](const PyFit& f) {
            return std::map<std::string, std::int64_t>(f.result.nodes.begin(),
                                                       f.result.nodes.end());
          },
          "How many of them each node takes, by name; nodes that take none are left out.")
      .def_property_readonly(
          "limited", [](const PyFit& f) { return f.result.limited; },
          "True if it stopped at the limit: more may fit.")
      .def_property_readonly(
          "status", [](const PyFit& f) { return f.result.status; },
          "What stops the next one; Success if nothing does.")
      .def_property_readonly(
          "diagnosis", [](const PyFit& f) { return f.diagnosis; },
          "Why each node rejects the next one, or None.")
      .def("__repr__", [](const PyFit& f) {
        return "<Fit: " + std::to_string(f.result.count) + (f.result.limited ? " or more" : "") +
               (f.result.status.ok() ? "" : ", then " + f.result.status.message()) + ">";
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
  BindPacking(m);
  BindTopology(m);
  BindBandwidth(m);
  py::class_<PyScheduler>(m, "Scheduler")
      .def(py::init<const std::optional<std::string>&, const std::string&, const py::list&, int,
                    std::uint32_t, bool, bool, bool, std::uint64_t, bool, bool>())
      .def_property_readonly("profiles", &PyScheduler::profiles)
      .def("plugins", &PyScheduler::Plugins)
      .def("check_nodes", &PyScheduler::CheckNodes)
      .def("config_json", &PyScheduler::ConfigJson)
      .def("explain", &PyScheduler::Explain)
      .def("explain_json", &PyScheduler::ExplainJson)
      .def("schedule", &PyScheduler::Schedule)
      .def("schedule_one", &PyScheduler::ScheduleOne)
      .def("preempt", &PyScheduler::Preempt)
      .def("place", &PyScheduler::Place)
      .def("run", &PyScheduler::RunLoop)
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
  m.def(
      "simd_level", [] { return std::string(SimdLevelName(CurrentSimdLevel())); },
      "The instruction set that loops over nodes use: \"avx512\", \"avx2\", \"x86-64-v2\" or "
      "\"none\"; at first the best one of the machine.");
  m.def(
      "set_simd_level",
      [](const std::string& name) {
        const auto level = FindSimdLevel(name);
        if (level && SetSimdLevel(*level)) return;
        std::string allowed;
        for (const auto& [known, of] : kSimdLevelNames) {
          if (of <= MaxSimdLevel()) allowed += (allowed.empty() ? "" : ", ") + std::string(known);
        }
        Raise(exceptions().error, "simd level \"" + name + "\" is not " +
                                      (level ? "there on this machine" : "known") +
                                      " (allowed: " + allowed + ")");
      },
      py::arg("level"), py::pos_only(),
      "Use another instruction set, in the whole process. Results don't depend on it.");
  m.def("describe_plugins", [] { return DescribePlugins(InTreeRegistry()); });
  m.def("describe_plugin", [](const py::object& plugin) {
    Registry registry;
    Unwrap(registry.Add(DescribePythonPlugin(plugin, std::make_shared<QueueView>())));
    return py::dict(DescribePlugins(registry)[0]);
  });
}

}  // namespace schedfw::python
