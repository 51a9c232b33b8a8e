#include "schedfw/api/read.h"

#include <simdjson.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "api/read_pieces.h"
#include "api/time.h"
#include "io/json_pieces.h"
#include "io/json_syntax.h"
#include "io/ondemand.h"
#include "io/text_file.h"
#include "io/yaml_to_json.h"
#include "schedfw/api/fields.h"
#include "schedfw/api/stage_transitions.h"

namespace schedfw::api {
namespace {

namespace ondemand = simdjson::ondemand;

// A value of the wrong type or form. Thrown and caught in this file only.
struct BadValue {
  const char* at;
  std::string what;
};

// The objects that are read, kind and apiVersion; all others are counted.
constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
    {"Node", "v1"},
    {"Pod", "v1"},
    {"Namespace", "v1"},
    {"Service", "v1"},
    {"ReplicationController", "v1"},
    {"ReplicaSet", "apps/v1"},
    {"StatefulSet", "apps/v1"},
    {"PriorityClass", "scheduling.k8s.io/v1"},
    {"PodDisruptionBudget", "policy/v1"},
    {"PodGroup", "scheduling.k8s.io/v1beta1"},
    {"NodeResourceTopology", "topology.node.k8s.io/v1alpha2"},
};

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kItems = "items";
constexpr std::string_view kListSuffix = "List";
constexpr std::size_t kMaxListDepth = 16;
// Texts that are shorter are read at once.
constexpr std::size_t kLongText = 512 * 1024;

std::string_view TypeName(ondemand::json_type type) {
  switch (type) {
    case ondemand::json_type::array:
      return "a list";
    case ondemand::json_type::object:
      return "an object";
    case ondemand::json_type::number:
      return "a number";
    case ondemand::json_type::string:
      return "a string";
    case ondemand::json_type::boolean:
      return "a boolean";
    case ondemand::json_type::null:
      return "null";
  }
  return "something else";
}

// Where the decoder stands: "spec.containers[0].image".
class Path {
 public:
  void Push(std::string_view key) { Next() = {key, 0}; }
  void Push(std::size_t index) { Next() = {{}, index}; }
  void Pop() { --depth_; }
  std::size_t depth() const { return depth_; }

  std::string Text(std::size_t from, std::size_t to) const {
    std::string out;
    for (std::size_t i = from; i < to; ++i) {
      if (parts_[i].key.data() == nullptr) {
        out += "[" + std::to_string(parts_[i].index) + "]";
      } else {
        if (!out.empty()) out += ".";
        out += io::Printable(parts_[i].key);
      }
    }
    return out;
  }

 private:
  struct Part {
    std::string_view key;  // a null view: an index
    std::size_t index;
  };

  Part& Next() {
    if (depth_ == parts_.size()) parts_.resize(2 * depth_ + 16);
    return parts_[depth_++];
  }

  std::vector<Part> parts_;  // the first `depth_` of them
  std::size_t depth_ = 0;
};

// The namespace and name of the object that `text` begins with, as far as they can be read: fields
// come in any order, and a message about one that comes first should say whose it is.
ObjectMeta NameAhead(std::string_view text) {
  ObjectMeta out;
  const simdjson::padded_string copy(text.substr(0, io::EndOfJsonValue(text)));
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object metadata;
  if (parser.iterate(copy).get(document) != simdjson::SUCCESS ||
      document["metadata"].get_object().get(metadata) != simdjson::SUCCESS) {
    return out;
  }
  std::string_view name, ns;
  if (metadata["name"].get_string().get(name) == simdjson::SUCCESS) out.name = name;
  if (metadata["namespace"].get_string().get(ns) == simdjson::SUCCESS) out.ns = ns;
  return out;
}

// Decodes one JSON document into an ObjectList.
class Decoder {
 public:
  explicit Decoder(ObjectList& out) : out_(out) {}

  // What is being decoded, e.g. "Pod ml/train-0", in a text that ends at `end`. Empty outside of an
  // object.
  std::string Subject(const char* end) const {
    if (kind_.empty()) return {};
    std::string name = meta_->name;
    std::string ns = meta_->ns;
    if (name.empty() || ns.empty()) {
      const ObjectMeta ahead = NameAhead({object_at_, static_cast<std::size_t>(end - object_at_)});
      if (name.empty()) name = ahead.name;
      if (ns.empty()) ns = ahead.ns;
    }
    if (name.empty()) {
      name = path_.Text(0, base_depth_);
    } else {
      name = io::Printable(ns.empty() ? name : ns + "/" + name, kMaxName);
    }
    return std::string(kind_) + (name.empty() ? "" : " " + name);
  }
  // The part of the path inside that object.
  std::string FieldPath() const {
    return path_.Text(kind_.empty() ? 0 : base_depth_, path_.depth());
  }

  // `value` is a document or a value: an object, a List, or an array of these.
  template <typename V>
  void ReadTop(V&& value) {
    const char* at = At(value);
    const ondemand::json_type type = value.type();
    if (type == ondemand::json_type::array) {
      ReadItems(value.get_array(), {}, {});
    } else if (type == ondemand::json_type::object) {
      ReadObject(at, value.get_object(), {}, {});
    } else {
      Mismatch(value, "a Kubernetes object");
    }
  }

  // The kind and the version of items that don't name them.
  struct ItemType {
    std::string kind;
    std::string version;
    friend bool operator==(const ItemType&, const ItemType&) = default;
  };

  // The items' type by a List without its items, of which nothing is read. Nothing if it isn't a
  // List that has the member "items" once, as the empty list at `items_at`.
  std::optional<ItemType> ReadFrame(ondemand::document& document, const char* items_at) {
    ondemand::object object = document.get_object();
    const std::string kind = StringField(object, "kind", {});
    const std::string version = StringField(object, "apiVersion", {});
    int lists = 0;
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      if (std::string_view(field.unescaped_key()) != kItems) continue;
      ondemand::value items = field.value();
      if (++lists > 1 || At(items) != items_at) return std::nullopt;
      for (auto unexpected : items.get_array()) {
        io::Take(unexpected);
        return std::nullopt;
      }
    }
    if (lists == 0 || !kind.ends_with(kListSuffix)) return std::nullopt;
    return TypeOfItems(kind, version);
  }

  // Some of a List's items, as an array.
  void ReadPiece(ondemand::document& document, const ItemType& type) {
    path_.Push(kItems);
    ReadItems(document.get_array(), type.kind, type.version);
    path_.Pop();
  }

 private:
  class Visitor {
   public:
    // `key` points behind the key's opening quotation mark, and is followed by simdjson's padding.
    Visitor(Decoder& decoder, const char* key, ondemand::value value)
        : decoder_(decoder), key_(key), value_(value) {}

    bool is_null() { return Type(value_) == ondemand::json_type::null; }
    // The name of the field that was read; empty if there is none for the key.
    std::string_view name() const { return name_; }

    // Not knowing where the key ends is what makes this fast: a few bytes of constant number are
    // compared, and keys need not be copied.
    template <std::size_t kSize, typename T>
    void operator()(const char (&name)[kSize], T&& field) {
      static_assert(kSize <= simdjson::SIMDJSON_PADDING);
      if (!name_.empty() || std::memcmp(key_, name, kSize - 1) != 0 || key_[kSize - 1] != '"') {
        return;
      }
      name_ = std::string_view(name, kSize - 1);
      decoder_.path_.Push(name_);
      decoder_.Read(value_, field);
      decoder_.path_.Pop();
    }

   private:
    Decoder& decoder_;
    const char* key_;
    ondemand::value value_;
    std::string_view name_;
  };

  // Calls `fields` with a visitor of one member of an object.
  template <typename F>
  void Visit(ondemand::field& field, F&& fields) {
    const char* key = field.key().raw();
    Visitor visitor(*this, key, field.value());
    fields(visitor);
    if (!visitor.name().empty() || !HasEscape(key)) return;
    // Nobody writes field names like that, but they mean the same.
    std::string unescaped(std::string_view(field.unescaped_key()));
    if (unescaped.find('"') != unescaped.npos) return;
    unescaped.append(1, '"').append(simdjson::SIMDJSON_PADDING, '\0');
    Visitor again(*this, unescaped.data(), field.value());
    fields(again);
  }
  // Whether a key in quotes has an escape.
  static bool HasEscape(const char* key) {
    while (*key != '"' && *key != '\\') ++key;
    return *key != '"';
  }

  static constexpr std::string_view kString = "a string";
  static constexpr std::size_t kMaxName = 320;  // a namespace and a name, each as long as allowed

  template <typename V>
  static const char* At(V& value) {
    const std::string_view token = value.raw_json_token();
    return token.data();
  }

  template <typename V>
  [[noreturn]] static void Mismatch(V& value, std::string_view wanted) {
    const char* at = At(value);
    const ondemand::json_type type = value.type();
    std::string got(TypeName(type));
    if (type == ondemand::json_type::number || type == ondemand::json_type::string ||
        type == ondemand::json_type::boolean) {
      std::string_view token = value.raw_json_token();
      while (!token.empty() && (token.back() == ' ' || token.back() == '\n' ||
                                token.back() == '\r' || token.back() == '\t')) {
        token.remove_suffix(1);
      }
      got += " " + io::Printable(token);
      if (wanted == kString) got += " (put it in quotes)";
    }
    throw BadValue{at, "expected " + std::string(wanted) + ", got " + got};
  }

  static ondemand::json_type Type(ondemand::value& value) { return value.type(); }
  // Its first character tells what a value is or must be.
  static bool BeginsWith(ondemand::value& value, char c) { return *At(value) == c; }
  static bool IsNull(ondemand::value& value) {
    if (!BeginsWith(value, 'n')) return false;
    if (!value.is_null()) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
    return true;
  }

  // Struct: each field by its table. A null leaves it as it is, as Go's decoder does.
  template <typename T>
  void Read(ondemand::value value, T& out) {
    if (IsNull(value)) return;
    ForEachField(value, [&](Visitor& visitor) { Fields(visitor, out); });
  }
  template <typename T>
  requires(!kRequiredFields<T>.empty()) void Read(ondemand::value value, T& out) {
    const char* at = At(value);
    std::vector<std::string_view> missing(kRequiredFields<T>.begin(), kRequiredFields<T>.end());
    if (!IsNull(value)) {
      ForEachField(value, [&](Visitor& visitor) {
        const bool null = visitor.is_null();
        Fields(visitor, out);
        if (!null) std::erase(missing, visitor.name());
      });
    }
    if (!missing.empty()) Missing(at, missing.front());
  }

  template <typename F>
  void Read(ondemand::value value, Nested<F>& nested) {
    if (IsNull(value)) return;
    ForEachField(value, nested.fields);
    if (nested.present != nullptr) *nested.present = true;
  }

  template <typename F>
  void ForEachField(ondemand::value value, F&& fields) {
    if (!BeginsWith(value, '{')) Mismatch(value, "an object");
    ondemand::object object = value.get_object();
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      Visit(field, fields);
    }
  }

  void Read(ondemand::value value, std::string& out) {
    if (!BeginsWith(value, '"')) {
      if (IsNull(value)) return;
      Mismatch(value, kString);
    }
    out = std::string_view(value.get_string());
  }
  void Read(ondemand::value value, bool& out) {
    if (IsNull(value)) return;
    if (Type(value) != ondemand::json_type::boolean) Mismatch(value, "true or false");
    out = value.get_bool();
  }
  void Read(ondemand::value value, std::int64_t& out) {
    if (IsNull(value)) return;
    std::int64_t number = 0;
    if (Type(value) != ondemand::json_type::number ||
        value.get_int64().get(number) != simdjson::SUCCESS) {
      Mismatch(value, "an integer of 64 bits");
    }
    out = number;
  }
  void Read(ondemand::value value, std::int32_t& out) {
    if (IsNull(value)) return;
    std::int64_t number = 0;
    if (Type(value) != ondemand::json_type::number ||
        value.get_int64().get(number) != simdjson::SUCCESS ||
        number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
      Mismatch(value, "an integer of 32 bits");
    }
    out = static_cast<std::int32_t>(number);
  }

  template <typename E>
  requires requires { EnumNames<E>::kNames; }
  void Read(ondemand::value value, E& out) {
    if (IsNull(value)) return;
    if (!BeginsWith(value, '"')) Mismatch(value, kString);
    const char* at = At(value);
    const std::string_view text = value.get_string();
    for (const auto& [name, constant] : EnumNames<E>::kNames) {
      if (name == text) {
        out = constant;
        return;
      }
    }
    std::string allowed;
    for (const auto& [name, constant] : EnumNames<E>::kNames) {
      if (!name.empty()) allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    throw BadValue{at, "\"" + io::Printable(text) + "\" is not allowed (allowed: " + allowed + ")"};
  }

  // A number or a string, read as apimachinery's Quantity.UnmarshalJSON does: null is zero, blanks
  // around are trimmed.
  void Read(ondemand::value value, Quantity& out) {
    const ondemand::json_type type = Type(value);
    const char* at = At(value);
    std::string_view text;
    if (IsNull(value)) {
      out = Quantity();
      return;
    }
    if (type == ondemand::json_type::string) {
      text = value.get_string();
    } else if (type == ondemand::json_type::number) {
      text = value.raw_json_token();
      double checked = 0;
      if (value.get_double().get(checked) != simdjson::SUCCESS) Mismatch(value, "a quantity");
    } else {
      Mismatch(value, "a quantity");
    }
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    Result<Quantity> quantity = Quantity::Parse(text);
    if (!quantity) throw BadValue{at, quantity.error().message()};
    out = *std::move(quantity);
  }

  void Read(ondemand::value value, Time& out) {
    if (IsNull(value)) return;
    if (!BeginsWith(value, '"')) Mismatch(value, "a time");
    const char* at = At(value);
    const std::string_view text = value.get_string();
    out.ns = ParseRfc3339(text);
    if (!out.ns) {
      throw BadValue{at, "\"" + io::Printable(text) +
                             "\" is not a time (allowed: RFC 3339, like 2026-01-31T12:00:00Z)"};
    }
  }

  template <typename T>
  void Read(ondemand::value value, std::optional<T>& out) {
    if (IsNull(value)) {
      out.reset();
      return;
    }
    if (!out) out.emplace();
    Read(value, *out);
  }

  template <typename T>
  void Read(ondemand::value value, std::vector<T>& out) {
    if (IsNull(value)) {
      out.clear();
      return;
    }
    if (!BeginsWith(value, '[')) Mismatch(value, "a list");
    std::size_t index = 0;
    // Pods and nodes have five conditions: they shouldn't move three times, nor have room for
    // eight.
    if (std::is_same_v<T, Condition> && out.capacity() == 0) out.reserve(5);
    for (auto item : value.get_array()) {
      path_.Push(index);
      // As in Go's decoder, a list that is given twice is read into what the first one left.
      T& element = index < out.size() ? out[index] : out.emplace_back();
      Read(io::Take(item), element);
      path_.Pop();
      ++index;
    }
    out.resize(index);
  }

  template <typename T>
  void Read(ondemand::value value, std::map<std::string, T>& out) {
    if (IsNull(value)) {
      out.clear();
      return;
    }
    if (!BeginsWith(value, '{')) Mismatch(value, "an object");
    for (auto item : value.get_object()) {
      ondemand::field field = io::Take(std::move(item));
      const std::string_view key = field.unescaped_key();
      path_.Push(key);
      // Most texts have the keys in order.
      const bool last = out.empty() || std::prev(out.end())->first < key;
      T& entry = last ? out.emplace_hint(out.end(), key, T())->second : out[std::string(key)];
      if (!last) entry = T();
      Read(field.value(), entry);
      path_.Pop();
    }
  }

  void Read(ondemand::value value, Keys& out) {
    if (IsNull(value)) return;
    if (!BeginsWith(value, '{')) Mismatch(value, "an object");
    for (auto item : value.get_object()) {
      ondemand::field field = io::Take(std::move(item));
      out.names.emplace_back(std::string_view(field.unescaped_key()));
    }
  }

  // An object of any kind, or a List of them. Items of a typed list (PodList of the API itself)
  // carry no kind of their own: they take the list's.
  void ReadObject(const char* at, ondemand::object object, std::string_view item_kind,
                  std::string_view item_version) {
    std::string kind(item_kind), version(item_version);
    if (item_kind.empty() || HasType(object)) {
      kind = StringField(object, "kind", item_kind);
      version = StringField(object, "apiVersion", item_version);
    }
    if (kind.empty()) Missing(at, "kind");
    if (kind.ends_with(kListSuffix) && ReadList(at, object, kind, version)) return;
    object_at_ = at;
    const std::string name = version + " " + kind;
    if (name == "v1 Pod") return ReadInto(object, "Pod", out_.pods);
    if (name == "v1 Node") return ReadInto(object, "Node", out_.nodes);
    if (name == "v1 Namespace") return ReadInto(object, "Namespace", out_.namespaces);
    if (name == "v1 Service") return ReadInto(object, "Service", out_.services);
    if (name == "v1 ReplicationController") {
      return ReadInto(object, "ReplicationController", out_.replication_controllers);
    }
    if (name == "apps/v1 ReplicaSet") return ReadInto(object, "ReplicaSet", out_.replica_sets);
    if (name == "apps/v1 StatefulSet") return ReadInto(object, "StatefulSet", out_.stateful_sets);
    if (name == "scheduling.k8s.io/v1 PriorityClass") {
      return ReadInto(object, "PriorityClass", out_.priority_classes);
    }
    if (name == "policy/v1 PodDisruptionBudget") {
      return ReadInto(object, "PodDisruptionBudget", out_.pod_disruption_budgets);
    }
    if (name == "scheduling.k8s.io/v1beta1 PodGroup" ||
        name == "scheduling.k8s.io/v1alpha3 PodGroup") {
      return ReadInto(object, "PodGroup", out_.pod_groups);
    }
    if (name == "scheduling.x-k8s.io/v1alpha1 PodGroup") {
      return ReadInto(object, "PodGroup", out_.coscheduling_pod_groups);
    }
    if (name == "topology.node.k8s.io/v1alpha2 NodeResourceTopology" ||
        name == "topology.node.k8s.io/v1alpha1 NodeResourceTopology") {
      return ReadInto(object, "NodeResourceTopology", out_.node_resource_topologies);
    }
    for (const auto& [known, its_version] : kKinds) {
      if (version.empty() && kind == known) {
        Missing(at, "apiVersion",
                " (allowed for a " + kind + ": " + std::string(its_version) + ")");
      }
    }
    ++out_.ignored[version.empty() ? kind : name];
    for (auto item : object) io::Take(std::move(item));  // so that the reader stands behind it
  }

  // Whether an object has a kind or a version of its own; the items of a typed list have neither,
  // and looking for each would take twice as long.
  static bool HasType(ondemand::object& object) {
    bool found = false;
    for (auto item : object) {
      const char* key = io::Take(std::move(item)).key().raw();
      found = std::memcmp(key, "kind\"", 5) == 0 || std::memcmp(key, "apiVersion\"", 11) == 0;
      if (found) break;
    }
    object.reset();
    return found;
  }

  // Items of a typed list take their type from it.
  static ItemType TypeOfItems(std::string_view kind, std::string_view version) {
    if (kind == kListSuffix) return {};
    kind.remove_suffix(kListSuffix.size());
    return {std::string(kind), std::string(version)};
  }

  // False: it isn't a list after all.
  bool ReadList(const char* at, ondemand::object& object, std::string_view kind,
                std::string_view version) {
    if (path_.depth() >= 2 * kMaxListDepth) {
      throw BadValue{at,
                     "Lists are nested deeper than " + std::to_string(kMaxListDepth) + " levels"};
    }
    const bool typed = kind != kListSuffix;
    bool found = false;
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      if (std::string_view(field.unescaped_key()) != kItems) continue;
      ondemand::value items = field.value();
      found = true;
      if (IsNull(items)) continue;
      path_.Push(kItems);
      if (Type(items) != ondemand::json_type::array) Mismatch(items, "a list");
      const ItemType type = TypeOfItems(kind, version);
      ReadItems(items.get_array(), type.kind, type.version);
      path_.Pop();
    }
    if (!found && typed) object.reset();
    return found || !typed;
  }

  void ReadItems(ondemand::array array, std::string_view kind, std::string_view version) {
    std::size_t index = 0;
    for (auto item : array) {
      ondemand::value value = io::Take(item);
      path_.Push(index++);
      if (!BeginsWith(value, '{')) Mismatch(value, "an object");
      const char* at = At(value);
      ReadObject(at, value.get_object(), kind, version);
      path_.Pop();
    }
  }

  [[noreturn]] void Missing(const char* at, std::string_view field,
                            const std::string& allowed = "") {
    path_.Push(field);
    throw BadValue{at, "must be given" + allowed};
  }

  std::string StringField(ondemand::object& object, std::string_view key,
                          std::string_view otherwise) {
    std::string out(otherwise);
    ondemand::value value;
    const simdjson::error_code code = object.find_field_unordered(key).get(value);
    if (code == simdjson::SUCCESS) {
      path_.Push(key);
      Read(value, out);
      path_.Pop();
    } else if (code != simdjson::NO_SUCH_FIELD) {
      throw simdjson::simdjson_error(code);
    }
    object.reset();
    return out;
  }

  template <typename T>
  void ReadInto(ondemand::object& object, std::string_view kind, std::vector<T>& list) {
    T& out = list.emplace_back();
    kind_ = kind;
    meta_ = &out.metadata;
    base_depth_ = path_.depth();
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      Visit(field, [&](Visitor& visitor) { Fields(visitor, out); });
    }
    if (out.metadata.name.empty()) {
      path_.Push(std::string_view("metadata"));
      Missing(object_at_, "name");
    }
    if constexpr (std::is_same_v<T, PriorityClass>) {
      if (auto read = TransitionsOf(out); !read) throw BadValue{object_at_, read.error().message()};
    }
    kind_ = {};
    meta_ = nullptr;
  }

  ObjectList& out_;
  Path path_;
  // Of the object that is being read.
  std::string_view kind_;
  const char* object_at_ = nullptr;
  const ObjectMeta* meta_ = nullptr;
  std::size_t base_depth_ = 0;
};

// Calls `fn` with each pair of lists of two ObjectLists.
template <typename F>
void ForEachList(ObjectList& a, ObjectList& b, F&& fn) {
  fn(a.nodes, b.nodes);
  fn(a.pods, b.pods);
  fn(a.priority_classes, b.priority_classes);
  fn(a.pod_disruption_budgets, b.pod_disruption_budgets);
  fn(a.namespaces, b.namespaces);
  fn(a.services, b.services);
  fn(a.replication_controllers, b.replication_controllers);
  fn(a.replica_sets, b.replica_sets);
  fn(a.stateful_sets, b.stateful_sets);
  fn(a.pod_groups, b.pod_groups);
  fn(a.coscheduling_pod_groups, b.coscheduling_pod_groups);
  fn(a.node_resource_topologies, b.node_resource_topologies);
}

// Moves all objects behind those that are there. What may throw comes first.
void MoveAppend(ObjectList& to, ObjectList& from) {
  std::map<std::string, std::int64_t> ignored = to.ignored;
  for (const auto& [kind, count] : from.ignored) ignored[kind] += count;
  ForEachList(to, from, [](auto& list, auto& more) {
    const std::size_t size = list.size() + more.size();
    if (!list.empty() && size > list.capacity()) list.reserve(std::max(size, 2 * list.capacity()));
  });
  ForEachList(to, from, [](auto& list, auto& more) {
    if (list.empty()) {
      list = std::move(more);
    } else {
      std::move(more.begin(), more.end(), std::back_inserter(list));
    }
  });
  to.ignored = std::move(ignored);
}

// Makes room for the objects to come, if `bytes` more of the text are like the last `piece` bytes,
// in which `list` grew from `before`: growing step by step would move what is there again and
// again.
template <typename T>
void MakeRoom(std::vector<T>& list, std::size_t before, std::size_t piece, std::uint64_t bytes) {
  const std::size_t grew = list.size() - before;
  if (list.capacity() - list.size() >= 2 * grew) return;
  const double more = 1.1 * static_cast<double>(grew) / static_cast<double>(piece);
  list.reserve(list.size() + 2 * grew +
               static_cast<std::size_t>(more * static_cast<double>(bytes)));
}

// Reads a text of `size` bytes that is one long List. False, with `out` as it
// was: it is something else, or not without faults. Then it must be read as a whole, which also
// finds out what is wrong with it and where.
bool ReadInPieces(io::JsonPieces::Source source, std::uint64_t size, PieceTaker* taker,
                  ObjectList& out) {
  try {
    io::JsonPieces pieces(std::move(source));
    if (!pieces.Begin()) return false;
    ObjectList found;
    Decoder decoder(found);
    ondemand::parser parser;
    if (parser.allocate(io::JsonPieces::kMostBytes) != simdjson::SUCCESS) return false;
    const auto iterate = [&](std::string_view text) {
      return io::Take(parser.iterate(simdjson::padded_string_view(
          text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)));
    };
    const auto read_frame = [&](std::string text) {
      const std::size_t length = text.size();
      text.append(simdjson::SIMDJSON_PADDING, ' ');
      ondemand::document document = iterate(std::string_view(text).substr(0, length));
      auto type = decoder.ReadFrame(document, text.data() + pieces.items_offset());
      return io::Location(document) == nullptr ? type : std::nullopt;
    };
    // A List of kubectl's has its kind at its end, but such a List's items have kinds of their own.
    auto type = read_frame(std::string(pieces.head()) + "]}");
    if (!type) type.emplace();
    std::string_view piece;
    while (!(piece = pieces.Next()).empty()) {
      const std::size_t nodes = found.nodes.size(), pods = found.pods.size();
      ondemand::document document = iterate(piece);
      decoder.ReadPiece(document, *type);
      if (io::Location(document) != nullptr) return false;
      size -= std::min<std::uint64_t>(size, piece.size());
      MakeRoom(found.nodes, nodes, piece.size(), size);
      if (taker != nullptr) {
        taker->Take(found);
      } else {
        MakeRoom(found.pods, pods, piece.size(), size);
      }
    }
    if (!pieces.done() || read_frame(pieces.frame()) != type) return false;
    MoveAppend(out, found);
    return true;
  } catch (const BadValue&) {
    return false;
  } catch (const std::exception&) {  // simdjson's, no memory
    return false;
  }
}
bool TryInPieces(io::JsonPieces::Source source, std::uint64_t size, PieceTaker* taker,
                 ObjectList& out) {
  const bool done = ReadInPieces(std::move(source), size, taker, out);
  if (taker != nullptr) done ? taker->Keep() : taker->Drop();
  return done;
}

// The same for a text in memory, if it is long.
bool TextInPieces(std::string_view text, PieceTaker* taker, ObjectList& out) {
  if (text.size() < kLongText) return false;
  std::string_view rest = text;
  const auto source = [&](char* to, std::size_t size) {
    size = rest.copy(to, size);
    rest.remove_prefix(size);
    return size;
  };
  return TryInPieces(source, text.size(), taker, out);
}

int LineOf(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
}

class TextReader {
 public:
  TextReader(const std::string& file, ObjectList& out) : file_(file), out_(out) {}

  Result<void> Read(std::string text) {
    if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);  // a byte order mark
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string::npos) return ParseError(file_ + ": the file is empty");
    if (io::BeginsAsJson(text)) return ReadJson(std::move(text), nullptr);
    return ReadYaml(text);
  }

 private:
  Result<void> ReadYaml(std::string_view text) {
    Result<std::vector<io::JsonDocument>> documents = io::YamlToJson(text, file_);
    if (!documents) return documents.error();
    if (documents->empty()) return ParseError(file_ + ": there is no object in the file");
    for (io::JsonDocument& document : *documents) {
      if (auto done = ReadJson(std::move(document.json), &document.lines); !done) return done;
    }
    return {};
  }

  // Reads one or several JSON documents; `lines` maps to lines of the YAML they came from.
  Result<void> ReadJson(std::string text, const io::LineMap* lines) {
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    text_ = text;
    lines_ = lines;
    // simdjson reads a single document only when the text ends with the bracket of its beginning.
    if (lines == nullptr) {
      const char first = text[text.find_first_not_of(kBlanks)];
      const char last = text[text.find_last_not_of(kBlanks)];
      if (last != (first == '{' ? '}' : ']')) return ReadMixed(text);
    }
    ondemand::parser parser;
    Decoder decoder(out_);
    ondemand::document document;
    try {
      document =
          parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.capacity()));
      decoder.ReadTop(document);
      const char* rest = io::Location(document);
      if (rest == nullptr) return {};
      // More documents follow: JSON lines, or outputs of kubectl one after another.
      const auto from = static_cast<std::size_t>(rest - text.data());
      if (IsYamlFrom(from)) return ReadYamlFrom(text, from);
      return ReadStream(parser, text, from);
    } catch (const BadValue& bad) {
      return Refused(decoder, bad);
    } catch (const simdjson::simdjson_error& error) {
      return Broken(error.error());
    } catch (const std::exception& error) {  // no memory, a string too long
      return ParseError(file_ + ": " + error.what());
    }
  }

  // Reads a text that begins with a JSON document and ends with something else.
  Result<void> ReadMixed(const std::string& text) {
    const auto fault = io::FindJsonFault(text);
    if (fault && IsYamlFrom(fault->offset)) {
      if (auto done = ReadJson(text.substr(0, fault->offset), nullptr); !done) return done;
      return ReadYamlFrom(text, fault->offset);
    }
    if (fault) return Broken(*fault);
    ondemand::parser parser;
    try {
      return ReadStream(parser, text, 0);
    } catch (const simdjson::simdjson_error& error) {
      return Broken(error.error());
    } catch (const std::exception& error) {
      return ParseError(file_ + ": " + error.what());
    }
  }

  // Whether a separator of YAML stands there, so that what follows is YAML or JSON in YAML.
  bool IsYamlFrom(std::size_t offset) const {
    return text_.substr(offset).starts_with("---") && offset > 0 && text_[offset - 1] == '\n';
  }
  Result<void> ReadYamlFrom(const std::string& text, std::size_t offset) {
    const auto lines_before = static_cast<std::size_t>(LineOf(text, offset) - 1);
    return ReadYaml(std::string(lines_before, '\n') + text.substr(offset));
  }

  Result<void> ReadStream(ondemand::parser& parser, const std::string& text, std::size_t from) {
    ondemand::document_stream stream;
    const std::size_t length = text.size() - from;
    stream = parser.iterate_many(text.data() + from, length, length + simdjson::SIMDJSON_PADDING);
    for (auto it = stream.begin(); it != stream.end(); ++it) {
      Decoder decoder(out_);
      try {
        auto document = io::Take(*it);
        decoder.ReadTop(document);
      } catch (const BadValue& bad) {
        return Refused(decoder, bad);
      }
    }
    if (stream.truncated_bytes() != 0) return Broken(simdjson::INCOMPLETE_ARRAY_OR_OBJECT);
    return {};
  }

  // A wrong value, or what looks like one because the text is broken before it or there.
  Error Refused(const Decoder& decoder, const BadValue& bad) const {
    const auto offset = static_cast<std::size_t>(bad.at - text_.data());
    if (lines_ == nullptr) {
      const auto fault = io::FindJsonFault(text_);
      if (fault && fault->offset <= offset) return Broken(*fault);
    }
    std::string out = Where(offset);
    if (const std::string subject = decoder.Subject(text_.data() + text_.size());
        !subject.empty()) {
      out += ": " + subject;
    }
    if (const std::string path = decoder.FieldPath(); !path.empty()) out += ": " + path;
    return ParseError(out + ": " + bad.what);
  }

  // A text that simdjson can't read.
  Error Broken(simdjson::error_code code) const {
    if (const auto fault = io::FindJsonFault(text_)) return Broken(*fault);
    return ParseError(file_ + ": " + simdjson::error_message(code));
  }
  Error Broken(const io::JsonFault& fault) const {
    const std::string path = fault.path.empty() ? "" : ": " + fault.path;
    return ParseError(Where(fault.offset) + path + ": " + fault.reason);
  }

  // "FILE:LINE".
  std::string Where(std::size_t offset) const {
    const int line = lines_ != nullptr ? lines_->LineAt(offset) : LineOf(text_, offset);
    return file_ + ":" + std::to_string(line);
  }

  const std::string& file_;
  ObjectList& out_;
  std::string_view text_;
  const io::LineMap* lines_ = nullptr;
};

Result<ObjectList> ReadFiles(const std::vector<std::string>& paths, PieceTaker* taker) {
  ObjectList out;
  for (const std::string& path : paths) {
    std::uint64_t tried = 0;  // bytes of a file that couldn't be read in pieces
    if (path != "-") {
      io::FileBytes file(path);
      const auto source = [&](char* to, std::size_t size) { return file.Read(to, size); };
      if (file.size() >= kLongText && TryInPieces(source, file.size(), taker, out)) {
        continue;
      }
      tried = file.size();
    }
    Result<std::string> text = io::ReadText(path);
    if (!text) return text.error();
    // The bytes of a pipe, and what was compressed, are seen here for the first time.
    if (text->size() != tried && TextInPieces(*text, taker, out)) continue;
    const std::string name = path == "-" ? "<stdin>" : path;
    if (auto done = TextReader(name, out).Read(*std::move(text)); !done) return done.error();
  }
  return out;
}

}  // namespace

Result<ObjectList> ReadObjects(const std::vector<std::string>& paths) {
  return ReadFiles(paths, nullptr);
}

Result<ObjectList> ReadObjects(const std::vector<std::string>& paths, PieceTaker& taker) {
  return ReadFiles(paths, &taker);
}

Result<ObjectList> ParseObjects(std::string_view text, const std::string& name) {
  ObjectList out;
  if (TextInPieces(text, nullptr, out)) return out;
  if (auto done = TextReader(name, out).Read(std::string(text)); !done) return done.error();
  return out;
}

}  // namespace schedfw::api
