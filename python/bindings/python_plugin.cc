#include "python_plugin.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "schedfw/framework/plugin.h"
#include "views.h"

namespace schedfw::python {
namespace {

// Holds a Python object; its last release takes the GIL.
std::shared_ptr<py::object> Hold(py::object object) {
  return {new py::object(std::move(object)), [](py::object* held) {
            py::gil_scoped_acquire gil;
            delete held;
          }};
}

// The views of one call: they end with it.
class Call {
 public:
  explicit Call(const Cycle& cycle) : lease_(std::make_shared<const Cycle*>(&cycle)) {}
  ~Call() { *lease_ = nullptr; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  py::object cycle() const { return py::cast(CycleView{lease_}); }
  py::object node(Row row) const { return py::cast(NodeView{lease_, row}); }
  py::object nodes(std::vector<Row> rows) const {
    return py::cast(NodesView{lease_, std::move(rows)});
  }

 private:
  Lease<Cycle> lease_;
};

// Scores beyond this are out of range whatever they are; sums of such ones still fit into 64 bits.
constexpr std::int64_t kHugeScore = std::int64_t{1} << 62;

std::vector<Row> RowsOf(Rows rows) {
  std::vector<Row> out(rows.size());
  for (Row i = 0; i < rows.size(); ++i) out[i] = rows[i];
  return out;
}

class PythonPlugin : public PreEnqueuePlugin,
                     public PreFilterPlugin,
                     public BatchFilterPlugin,
                     public PreScorePlugin,
                     public BatchScorePlugin,
                     public ScoreExtensions,
                     public ReservePlugin,
                     public PermitPlugin,
                     public PreBindPlugin,
                     public BindPlugin,
                     public PostBindPlugin {
 public:
  PythonPlugin(std::string name, std::shared_ptr<py::object> plugin,
               std::shared_ptr<QueueView> queue)
      : name_(std::move(name)), plugin_(std::move(plugin)), queue_(std::move(queue)) {
    normalizes_ = Has("normalize");
    batch_filter_ = Has("filter_nodes");
    batch_score_ = Has("score_nodes");
  }

  std::string_view Name() const override { return name_; }
  // The interpreter runs one thread at a time: calls stay on the thread of the cycle.
  bool IsThreadSafe() const override { return false; }

  Status PreEnqueue(const PodInfo& pod) override {
    py::gil_scoped_acquire gil;
    const PodView view{std::make_shared<const PodInfo>(pod), queue_->snapshot};
    return ToStatus(Method("pre_enqueue")(view), "pre_enqueue");
  }

  Status PreFilter(const Cycle& cycle, CycleState&, PreFilterResult& result) override {
    py::gil_scoped_acquire gil;
    const Call call(cycle);
    const py::object answer = Method("pre_filter")(call.cycle());
    if (answer.is_none() || py::isinstance<py::str>(answer)) return ToStatus(answer, "pre_filter");
    try {
      result.node_names = answer.cast<std::set<std::string>>();
    } catch (const py::cast_error&) {
      Refuse("pre_filter", "None, a reason, or a set of node names", answer);
    }
    return {};
  }

  void FilterNodes(const Cycle& cycle, Rows rows, std::uint32_t* codes) const override {
    py::gil_scoped_acquire gil;
    ForgetReasonsOfEarlier(cycle);
    const Call call(cycle);
    if (!batch_filter_) {
      for (Row i = 0; i < rows.size(); ++i) {
        codes[i] = Code(Method("filter")(call.cycle(), call.node(rows[i])), "filter");
      }
      return;
    }
    const py::object answer = Method("filter_nodes")(call.cycle(), call.nodes(RowsOf(rows)));
    const auto fits = Array<bool>(answer, rows.size(), "filter_nodes", "b");
    const std::uint32_t rejected = ReasonCode(DefaultReason());
    for (Row i = 0; i < rows.size(); ++i) codes[i] = fits.data()[i] ? 0 : rejected;
  }

  Status Explain(const Cycle&, std::uint32_t code) const override {
    return Status::Unschedulable(reasons_[code - 1]);
  }

  Status PreScore(const Cycle& cycle, CycleState&, std::span<const Row> feasible) override {
    py::gil_scoped_acquire gil;
    const Call call(cycle);
    const py::object answer =
        Method("pre_score")(call.cycle(), call.nodes({feasible.begin(), feasible.end()}));
    if (py::isinstance<py::bool_>(answer) && !answer.cast<bool>()) return Status::Skip();
    if (!answer.is_none()) Refuse("pre_score", "None, or False to skip scoring", answer);
    return {};
  }

  Status ScoreNodes(const Cycle& cycle, Rows rows, std::int64_t* out) const override {
    py::gil_scoped_acquire gil;
    const Call call(cycle);
    if (!batch_score_) {
      for (Row i = 0; i < rows.size(); ++i) {
        out[i] = ToScore(Method("score")(call.cycle(), call.node(rows[i])));
      }
      return {};
    }
    const py::object answer = Method("score_nodes")(call.cycle(), call.nodes(RowsOf(rows)));
    const auto scores = Array<std::int64_t>(answer, rows.size(), "score_nodes", "iubf");
    std::copy_n(scores.data(), rows.size(), out);
    return {};
  }

  const ScoreExtensions* NormalizeExtensions() const override {
    return normalizes_ ? this : nullptr;
  }
  Status NormalizeScore(const Cycle& cycle, std::span<const Row> rows,
                        std::span<std::int64_t> scores) const override {
    py::gil_scoped_acquire gil;
    const Call call(cycle);
    py::array_t<std::int64_t> copy(static_cast<py::ssize_t>(scores.size()));
    std::copy(scores.begin(), scores.end(), copy.mutable_data());
    const py::object answer =
        Method("normalize")(call.cycle(), call.nodes({rows.begin(), rows.end()}), copy);
    const auto normalized = Array<std::int64_t>(answer, scores.size(), "normalize", "iubf");
    std::copy_n(normalized.data(), scores.size(), scores.begin());
    return {};
  }

  Status Reserve(const Cycle& cycle, CycleState&, const NodeInfo& node) override {
    return CallOnNode("reserve", cycle, node);
  }
  void Unreserve(const Cycle& cycle, CycleState&, const NodeInfo& node) noexcept override {
    py::gil_scoped_acquire gil;
    if (!Has("unreserve")) return;
    try {
      const Call call(cycle);
      Method("unreserve")(call.cycle(), call.node(node.row()));
    } catch (py::error_already_set& error) {
      // Undoing can't be undone: Python shows what it ignores, as in a finaliser.
      error.discard_as_unraisable("unreserve");
    }
  }
  Status Permit(const Cycle& cycle, CycleState&, const NodeInfo& node,
                std::chrono::nanoseconds&) override {
    return CallOnNode("permit", cycle, node);
  }
  Status PreBind(const Cycle& cycle, CycleState&, const NodeInfo& node) override {
    return CallOnNode("pre_bind", cycle, node);
  }
  Status Bind(const Cycle& cycle, CycleState&, const NodeInfo& node) override {
    return CallOnNode("bind", cycle, node);
  }
  void PostBind(const Cycle& cycle, CycleState&, const NodeInfo& node) override {
    (void)CallOnNode("post_bind", cycle, node);
  }

 private:
  bool Has(const char* method) const { return py::hasattr(*plugin_, method); }
  py::object Method(const char* method) const { return plugin_->attr(method); }

  [[noreturn]] void Refuse(const char* method, const char* allowed, const py::object& got) const {
    throw py::type_error(name_ + "." + method + "() must return " + allowed + ", not " +
                         py::repr(got).cast<std::string>());
  }

  // None or True: success; False: rejected; text: rejected with that reason.
  Status ToStatus(const py::object& answer, const char* method) const {
    if (answer.is_none()) return {};
    if (py::isinstance<py::str>(answer)) return Status::Unschedulable(answer.cast<std::string>());
    if (py::isinstance<py::bool_>(answer)) {
      return answer.cast<bool>() ? Status() : Status::Unschedulable(DefaultReason());
    }
    Refuse(method, "None, a bool, or a reason", answer);
  }

  Status CallOnNode(const char* method, const Cycle& cycle, const NodeInfo& node) const {
    py::gil_scoped_acquire gil;
    const Call call(cycle);
    return ToStatus(Method(method)(call.cycle(), call.node(node.row())), method);
  }

  std::string DefaultReason() const {
    if (py::hasattr(*plugin_, "reason")) return py::str(plugin_->attr("reason"));
    return "node(s) rejected by plugin " + name_;
  }

  // Reasons are kept until the cycle has explained itself.
  void ForgetReasonsOfEarlier(const Cycle& cycle) const {
    const std::pair now{cycle.pod.Key(), cycle.snapshot.generation()};
    if (now == reasons_of_) return;
    reasons_of_ = now;
    reasons_.clear();
    codes_.clear();
  }
  std::uint32_t Code(const py::object& answer, const char* method) const {
    const Status status = ToStatus(answer, method);
    return status.ok() ? 0 : ReasonCode(status.reasons().front());
  }
  std::uint32_t ReasonCode(const std::string& reason) const {
    const auto [it, inserted] =
        codes_.try_emplace(reason, static_cast<std::uint32_t>(reasons_.size() + 1));
    if (inserted) reasons_.push_back(reason);
    return it->second;
  }

  // Any Python or numpy number; a fraction is cut off.
  std::int64_t ToScore(const py::object& answer) const {
    if (PyIndex_Check(answer.ptr())) {
      int overflow = 0;
      const long long value = PyLong_AsLongLongAndOverflow(answer.ptr(), &overflow);
      if (overflow != 0) return overflow * kHugeScore;
      if (value != -1 || PyErr_Occurred() == nullptr) return value;
      PyErr_Clear();
    }
    const double value = PyFloat_AsDouble(answer.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      Refuse("score", "a number", answer);
    }
    if (!std::isfinite(value)) Refuse("score", "a finite number", answer);
    constexpr auto kHuge = static_cast<double>(kHugeScore);
    return static_cast<std::int64_t>(std::clamp(value, -kHuge, kHuge));
  }

  // The answer of a batch method as a contiguous array of T; floating point is cut to integers.
  template <typename T>
  py::array_t<T> Array(const py::object& answer, std::size_t size, const char* method,
                       const char* kinds) const {
    constexpr bool kIsFilter = std::is_same_v<T, bool>;
    if (answer.is_none()) Refuse(method, kIsFilter ? "booleans" : "numbers", answer);
    const py::module_ numpy = py::module_::import("numpy");
    py::array array = numpy.attr("asarray")(answer);
    const auto kind = array.dtype().kind();
    const std::string where = name_ + "." + method + "()";
    if (std::string_view(kinds).find(kind) == std::string_view::npos) {
      throw py::type_error(where + " must return " + (kIsFilter ? "booleans" : "numbers") +
                           ", not an array of " + py::str(array.dtype()).cast<std::string>());
    }
    if (array.ndim() != 1 || static_cast<std::size_t>(array.size()) != size) {
      throw py::value_error(where + " must return one value a node: an array of shape (" +
                            std::to_string(size) + ",), not " +
                            py::str(array.attr("shape")).cast<std::string>());
    }
    if (kind == 'f' && !numpy.attr("isfinite")(array).attr("all")().cast<bool>()) {
      throw py::value_error(where + " must return finite numbers");
    }
    if (kind == 'f' || kind == 'u') {
      if (kind == 'f') array = array.attr("astype")("float64");
      array = numpy.attr("clip")(array, kind == 'u' ? 0 : -kHugeScore, kHugeScore);
    }
    return py::array_t<T, py::array::c_style | py::array::forcecast>::ensure(array);
  }

  std::string name_;
  std::shared_ptr<py::object> plugin_;
  std::shared_ptr<QueueView> queue_;
  bool normalizes_ = false;
  bool batch_filter_ = false;
  bool batch_score_ = false;
  // The reasons that the codes stand for; a plugin is called by one thread at a time.
  mutable std::pair<std::uint64_t, std::uint64_t> reasons_of_;
  mutable std::vector<std::string> reasons_;
  mutable std::map<std::string, std::uint32_t> codes_;
};

}  // namespace

PluginSpec DescribePythonPlugin(const py::object& plugin, std::shared_ptr<QueueView> queue) {
  PluginSpec spec;
  if (py::isinstance<py::type>(plugin)) {
    const auto type = plugin.attr("__name__").cast<std::string>();
    throw py::type_error("a plugin is an object, not a class: give " + type + "() instead of " +
                         type);
  }
  const py::object name = py::getattr(plugin, "name", py::none());
  if (!py::isinstance<py::str>(name) || py::len(name) == 0) {
    throw py::type_error("a plugin needs a name: set the attribute `name` of " +
                         py::str(py::type::of(plugin).attr("__name__")).cast<std::string>());
  }
  spec.name = name.cast<std::string>();
  const py::object doc = py::getattr(plugin, "__doc__", py::none());
  if (!doc.is_none()) {
    const auto text = doc.attr("strip")().cast<std::string>();
    spec.help = text.substr(0, text.find('\n'));
  }
  struct Method {
    const char* name;
    ExtensionPoint point;
  };
  constexpr Method kMethods[] = {
      {"pre_enqueue", ExtensionPoint::kPreEnqueue},
      {"pre_filter", ExtensionPoint::kPreFilter},
      {"filter", ExtensionPoint::kFilter},
      {"filter_nodes", ExtensionPoint::kFilter},
      {"pre_score", ExtensionPoint::kPreScore},
      {"score", ExtensionPoint::kScore},
      {"score_nodes", ExtensionPoint::kScore},
      {"reserve", ExtensionPoint::kReserve},
      {"permit", ExtensionPoint::kPermit},
      {"pre_bind", ExtensionPoint::kPreBind},
      {"bind", ExtensionPoint::kBind},
      {"post_bind", ExtensionPoint::kPostBind},
  };
  bool any = false;
  std::string names;
  for (const Method& method : kMethods) {
    names += (names.empty() ? "" : ", ") + std::string(method.name);
    if (!py::hasattr(plugin, method.name)) continue;
    spec.points.Add(method.point);
    any = true;
  }
  if (!any) {
    throw py::type_error("plugin \"" + spec.name + "\" has no method of an extension point (" +
                         names + ")");
  }
  const auto refuse_alone = [&](const char* method, const char* other, ExtensionPoint point) {
    if (!py::hasattr(plugin, method) || spec.points.Has(point)) return;
    throw py::type_error("plugin \"" + spec.name + "\" has " + method + " but no " + other +
                         ", so it would never be called");
  };
  refuse_alone("normalize", "score or score_nodes", ExtensionPoint::kScore);
  refuse_alone("unreserve", "reserve", ExtensionPoint::kReserve);
  spec.factory = [held = Hold(plugin), label = spec.name, queue = std::move(queue)](
                     const Value&, const Handle&) -> Result<PluginPtr> {
    py::gil_scoped_acquire gil;
    return PluginPtr(std::make_shared<PythonPlugin>(label, held, queue));
  };
  return spec;
}

}  // namespace schedfw::python
