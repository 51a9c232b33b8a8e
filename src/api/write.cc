#include "schedfw/api/write.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/time.h"
#include "io/json_number.h"
#include "schedfw/api/fields.h"

namespace schedfw::api {
namespace {

// Appends objects as JSON: each field by its table.
class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  // An object of a List, on a line of its own.
  template <typename T>
  void Item(std::string_view version, std::string_view kind, const T& object) {
    out_ += first_ ? "\n{\"apiVersion\":\"" : ",\n{\"apiVersion\":\"";
    first_ = false;
    out_.append(version).append("\",\"kind\":\"").append(kind).append("\",");
    Members(object);
    Close('}');
  }

  // Called by the tables.
  template <std::size_t kSize, typename T>
  void operator()(const char (&name)[kSize], T&& field) {
    const std::size_t before = out_.size();
    out_.append(1, '"').append(name, kSize - 1).append("\":");
    const std::size_t value = out_.size();
    const bool says_something = Append(field);
    const bool required = std::find(required_.begin(), required_.end(),
                                    std::string_view(name, kSize - 1)) != required_.end();
    if (out_.size() > value && (says_something || required)) {
      out_ += ',';
    } else {
      out_.resize(before);
    }
  }

 private:
  // Each Append() says whether the value is something else than what an absent field means. One
  // that appends nothing has no value.

  template <typename T>
  bool Append(const T& object) {
    out_ += '{';
    Members(object);
    return Close('}');
  }
  template <typename F>
  bool Append(const Nested<F>& nested) {
    if (nested.present != nullptr && !*nested.present) return false;
    out_ += '{';
    const std::span<const std::string_view> required = required_;
    required_ = {};
    nested.fields(*this);
    required_ = required;
    return Close('}') || nested.present != nullptr;
  }
  bool Append(const std::string& text) {
    io::AppendJsonString(text, &out_);
    return !text.empty();
  }
  bool Append(bool value) {
    out_ += value ? "true" : "false";
    return value;
  }
  // Not all numbers are zero when they are absent.
  template <std::integral T>
  bool Append(const T& value) {
    std::array<char, std::numeric_limits<T>::digits10 + 3> digits;
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out_.append(digits.data(), end);
    return true;
  }
  template <typename E>
  requires requires { EnumNames<E>::kNames; }
  bool Append(const E& value) {
    for (const auto& [name, constant] : EnumNames<E>::kNames) {
      if (constant != value) continue;
      io::AppendJsonString(name, &out_);
      return !name.empty();
    }
    return false;
  }
  bool Append(const Quantity& quantity) {
    static const Quantity kMost = Quantity::FromUnits(std::numeric_limits<std::int64_t>::max());
    static const Quantity kLeast = Quantity() - kMost;
    io::AppendJsonString(std::clamp(quantity, kLeast, kMost).ToString(), &out_);
    return true;
  }
  bool Append(const Time& time) {
    if (!time.ns) return false;
    out_ += '"';
    AppendRfc3339(*time.ns, &out_);
    out_ += '"';
    return true;
  }
  template <typename T>
  bool Append(const std::optional<T>& value) {
    if (!value) return false;
    Append(*value);
    return true;
  }
  template <typename T>
  bool Append(const std::vector<T>& list) {
    out_ += '[';
    for (const T& item : list) {
      Append(item);
      out_ += ',';
    }
    return Close(']');
  }
  template <typename T>
  bool Append(const std::map<std::string, T>& map) {
    out_ += '{';
    for (const auto& [key, value] : map) {
      io::AppendJsonString(key, &out_);
      out_ += ':';
      Append(value);
      out_ += ',';
    }
    return Close('}');
  }
  bool Append(const Keys& keys) {
    out_ += '{';
    for (const std::string& name : keys.names) {
      io::AppendJsonString(name, &out_);
      out_ += ":null,";
    }
    return Close('}');
  }

  template <typename T>
  void Members(const T& object) {
    const std::span<const std::string_view> required = required_;
    required_ = kRequiredFields<T>;
    // The tables are written for readers, but change nothing themselves.
    Fields(*this, const_cast<T&>(object));
    required_ = required;
  }

  // Ends an object or a list, of which each member has a comma behind it. False: there was none.
  bool Close(char bracket) {
    const bool any = out_.back() == ',';
    if (any) {
      out_.back() = bracket;
    } else {
      out_ += bracket;
    }
    return any;
  }

  std::string& out_;
  bool first_ = true;
  std::span<const std::string_view> required_;  // of the object that is being written
};

}  // namespace

std::string WriteObjects(const ObjectList& objects) {
  std::string out = "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[";
  Encoder encoder(out);
  const auto add = [&](std::string_view version, std::string_view kind, const auto& list) {
    for (const auto& object : list) encoder.Item(version, kind, object);
  };
  add("v1", "Namespace", objects.namespaces);
  add("scheduling.k8s.io/v1", "PriorityClass", objects.priority_classes);
  add("v1", "Node", objects.nodes);
  add("v1", "Service", objects.services);
  add("v1", "ReplicationController", objects.replication_controllers);
  add("apps/v1", "ReplicaSet", objects.replica_sets);
  add("apps/v1", "StatefulSet", objects.stateful_sets);
  add("policy/v1", "PodDisruptionBudget", objects.pod_disruption_budgets);
  add("scheduling.k8s.io/v1beta1", "PodGroup", objects.pod_groups);
  add("scheduling.x-k8s.io/v1alpha1", "PodGroup", objects.coscheduling_pod_groups);
  add("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", objects.node_resource_topologies);
  add("v1", "Pod", objects.pods);
  out += "\n]}\n";
  return out;
}

}  // namespace schedfw::api
