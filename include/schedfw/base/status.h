// Status: what a plugin says of a pod, with upstream's codes.
#ifndef SCHEDFW_BASE_STATUS_H_
#define SCHEDFW_BASE_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedfw {

/// Upstream's status codes (k8s.io/kube-scheduler/framework, interface.go).
enum class Code : std::uint8_t {
  kSuccess,
  kError,                         ///< a fault inside a plugin; aborts the cycle
  kUnschedulable,                 ///< preemption may help
  kUnschedulableAndUnresolvable,  ///< preemption can't help
  kWait,                          ///< Permit only: the pod waits
  kSkip,                          ///< PreFilter, PreScore: leave out this plugin's Filter, Score
  kPending,                       ///< the pod waits for something outside the scheduler
};

/// Upstream's spelling of a code, e.g. "UnschedulableAndUnresolvable".
constexpr std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::kWait:
      return "Wait";
    case Code::kSkip:
      return "Skip";
    case Code::kPending:
      return "Pending";
  }
  return "Unknown";
}

/// A code, the plugin that gave it, and its reasons. Success is one null pointer and costs nothing.
class Status {
 public:
  Status() = default;  ///< Success.
  explicit Status(Code code, std::vector<std::string> reasons = {})
      : body_(code == Code::kSuccess && reasons.empty()
                  ? nullptr
                  : std::make_shared<const Body>(Body{code, {}, std::move(reasons)})) {}
  Status(Code code, std::string reason)
      : Status(code, std::vector<std::string>{std::move(reason)}) {}

  static Status Error(std::string reason) { return Status(Code::kError, std::move(reason)); }
  static Status Unschedulable(std::string reason) {
    return Status(Code::kUnschedulable, std::move(reason));
  }
  static Status Unresolvable(std::string reason) {
    return Status(Code::kUnschedulableAndUnresolvable, std::move(reason));
  }
  /// Costs nothing: it is what most plugins say in most cycles.
  static Status Skip() {
    static const Body kSkip{Code::kSkip, {}, {}};
    Status out;
    out.body_ = std::shared_ptr<const Body>(std::shared_ptr<const Body>(), &kSkip);
    return out;
  }

  Code code() const { return body_ ? body_->code : Code::kSuccess; }
  bool ok() const { return code() == Code::kSuccess; }
  bool IsSkip() const { return code() == Code::kSkip; }
  /// True for the three codes by which a plugin rejects a pod (upstream's IsRejected).
  bool IsRejected() const {
    return code() == Code::kUnschedulable || code() == Code::kUnschedulableAndUnresolvable ||
           code() == Code::kPending;
  }

  /// The plugin that gave this status; empty if none is recorded.
  std::string_view plugin() const { return body_ ? std::string_view(body_->plugin) : ""; }
  const std::vector<std::string>& reasons() const {
    static const std::vector<std::string> kNone;
    return body_ ? body_->reasons : kNone;
  }
  /// The reasons joined with ", ", as upstream's Message().
  std::string message() const {
    std::string out;
    for (const std::string& reason : reasons()) {
      if (!out.empty()) out += ", ";
      out += reason;
    }
    return out;
  }

  /// The same status with the plugin's name filled in. Success stays as it is.
  Status WithPlugin(std::string_view plugin) const {
    Status out = *this;
    if (body_) {
      out.body_ =
          std::make_shared<const Body>(Body{body_->code, std::string(plugin), body_->reasons});
    }
    return out;
  }

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.plugin() == b.plugin() && a.reasons() == b.reasons();
  }

 private:
  struct Body {
    Code code;
    std::string plugin;
    std::vector<std::string> reasons;
  };
  std::shared_ptr<const Body> body_;
};

}  // namespace schedfw

#endif  // SCHEDFW_BASE_STATUS_H_
