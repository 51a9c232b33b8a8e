#include "schedfw/api/read.h"

#include <simdjson.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/time.h"
#include "io/ondemand.h"
#include "io/text_file.h"
#include "io/yaml_to_json.h"
#include "schedfw/api/fields.h"

namespace schedfw::api {
namespace {

namespace ondemand = simdjson::ondemand;

// A value of the wrong type or form. Thrown and caught in this file only.
struct BadValue {
  const char* at;
  std::string what;
};

std::string Shorten(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return std::string(text);
  return std::string(text.substr(0, kMost)) + "…";
}

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
  void Push(std::string_view key) { parts_.push_back({key, 0}); }
  void Push(std::size_t index) { parts_.push_back({{}, index}); }
  void Pop() { parts_.pop_back(); }
  std::size_t depth() const { return parts_.size(); }

  std::string Text(std::size_t from) const {
    std::string out;
    for (std::size_t i = from; i < parts_.size(); ++i) {
      if (parts_[i].key.data() == nullptr) {
        out += "[" + std::to_string(parts_[i].index) + "]";
      } else {
        if (!out.empty()) out += ".";
        out += parts_[i].key;
      }
    }
    return out;
  }

 private:
  struct Part {
    std::string_view key;  // a null view: an index
    std::size_t index;
  };
  std::vector<Part> parts_;
};

// Decodes one JSON document into an ObjectList.
class Decoder {
 public:
  explicit Decoder(ObjectList& out) : out_(out) {}

  const Path& path() const { return path_; }
  // What is being decoded, e.g. "Pod ml/train-0"; empty outside of an object.
  std::string Subject() const {
    if (kind_.empty()) return {};
    std::string name = meta_ == nullptr ? "" : meta_->name;
    if (meta_ != nullptr && !meta_->ns.empty()) name = meta_->ns + "/" + name;
    return std::string(kind_) + (name.empty() ? "" : " " + name);
  }
  // The part of the path inside that object.
  std::string FieldPath() const { return path_.Text(kind_.empty() ? 0 : base_depth_); }

  // `value` is a document or a value: an object, a List, or an array of these.
  template <typename V>
  void ReadTop(V&& value) {
    const auto type = static_cast<ondemand::json_type>(value.type());
    if (type == ondemand::json_type::array) {
      ReadItems(static_cast<ondemand::array>(value.get_array()), {}, {});
    } else if (type == ondemand::json_type::object) {
      ReadObject(static_cast<ondemand::object>(value.get_object()), {}, {});
    } else {
      throw BadValue{nullptr, "expected a Kubernetes object, got " + std::string(TypeName(type))};
    }
  }

 private:
  class Visitor {
   public:
    Visitor(Decoder& decoder, std::string_view key, ondemand::value value)
        : decoder_(decoder), key_(key), value_(value) {}

    template <typename T>
    void operator()(std::string_view name, T&& field) {
      if (done_ || name != key_) return;
      done_ = true;
      decoder_.path_.Push(name);
      decoder_.Read(value_, field);
      decoder_.path_.Pop();
    }

   private:
    Decoder& decoder_;
    std::string_view key_;
    ondemand::value value_;
    bool done_ = false;
  };

  static const char* At(ondemand::value& value) {
    std::string_view token = value.raw_json_token();
    return token.data();
  }

  [[noreturn]] static void Fail(ondemand::value& value, std::string what) {
    throw BadValue{At(value), std::move(what)};
  }

  [[noreturn]] static void Mismatch(ondemand::value& value, std::string_view wanted) {
    const ondemand::json_type type = value.type();
    std::string got(TypeName(type));
    if (type == ondemand::json_type::number || type == ondemand::json_type::string ||
        type == ondemand::json_type::boolean) {
      std::string_view token = value.raw_json_token();
      while (!token.empty() && (token.back() == ' ' || token.back() == '\n' ||
                                token.back() == '\r' || token.back() == '\t')) {
        token.remove_suffix(1);
      }
      got += " " + Shorten(token);
    }
    Fail(value, "expected " + std::string(wanted) + ", got " + got);
  }

  static ondemand::json_type Type(ondemand::value& value) { return value.type(); }
  static bool IsNull(ondemand::value& value) { return Type(value) == ondemand::json_type::null; }

  // Struct: each field by its table. A null leaves it as it is, as Go's decoder does.
  template <typename T>
  void Read(ondemand::value value, T& out) {
    if (IsNull(value)) return;
    ForEachField(value, [&](Visitor& visitor) { Fields(visitor, out); });
  }
  template <typename F>
  void Read(ondemand::value value, Nested<F>& nested) {
    if (IsNull(value)) return;
    ForEachField(value, nested.fields, /*also_when_empty=*/true);
  }

  template <typename F>
  void ForEachField(ondemand::value value, F&& fields, bool also_when_empty = false) {
    if (Type(value) != ondemand::json_type::object) Mismatch(value, "an object");
    bool any = false;
    ondemand::object object = value.get_object();
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      const std::string_view key = field.unescaped_key();
      Visitor visitor(*this, key, field.value());
      fields(visitor);
      any = true;
    }
    if (also_when_empty && !any) {
      Visitor visitor(*this, std::string_view("\0", 1), value);
      fields(visitor);
    }
  }

  void Read(ondemand::value value, std::string& out) {
    if (IsNull(value)) return;
    if (Type(value) != ondemand::json_type::string) Mismatch(value, "a string");
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
    if (Type(value) != ondemand::json_type::string) Mismatch(value, "a string");
    const char* at = At(value);
    const std::string_view text = value.get_string();
    std::string allowed;
    for (const auto& [name, constant] : EnumNames<E>::kNames) {
      if (name == text) {
        out = constant;
        return;
      }
      if (!name.empty()) allowed += (allowed.empty() ? "" : ", ") + std::string(name);
    }
    throw BadValue{at, "\"" + Shorten(text) + "\" is not allowed (allowed: " + allowed + ")"};
  }

  // A number or a string, read as apimachinery's Quantity.UnmarshalJSON does: null is zero, blanks
  // around are trimmed.
  void Read(ondemand::value value, Quantity& out) {
    const ondemand::json_type type = Type(value);
    const char* at = At(value);
    std::string_view text;
    if (type == ondemand::json_type::null) {
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
    if (Type(value) != ondemand::json_type::string) Mismatch(value, "a time");
    const char* at = At(value);
    const std::string_view text = value.get_string();
    out.ns = ParseRfc3339(text);
    if (!out.ns) {
      throw BadValue{at, "\"" + Shorten(text) +
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
    out.clear();
    if (IsNull(value)) return;
    if (Type(value) != ondemand::json_type::array) Mismatch(value, "a list");
    std::size_t index = 0;
    for (auto item : value.get_array()) {
      path_.Push(index++);
      Read(io::Take(std::move(item)), out.emplace_back());
      path_.Pop();
    }
  }

  template <typename T>
  void Read(ondemand::value value, std::map<std::string, T>& out) {
    if (IsNull(value)) {
      out.clear();
      return;
    }
    if (Type(value) != ondemand::json_type::object) Mismatch(value, "an object");
    for (auto item : value.get_object()) {
      ondemand::field field = io::Take(std::move(item));
      const std::string_view key = field.unescaped_key();
      path_.Push(key);
      T& entry = out[std::string(key)];
      entry = T();
      Read(field.value(), entry);
      path_.Pop();
    }
  }

  void Read(ondemand::value value, Keys& out) {
    if (IsNull(value)) return;
    if (Type(value) != ondemand::json_type::object) Mismatch(value, "an object");
    for (auto item : value.get_object()) {
      ondemand::field field = io::Take(std::move(item));
      out.names.emplace_back(std::string_view(field.unescaped_key()));
    }
  }

  // An object of any kind, or a List of them. Items of a typed list (PodList of the API itself)
  // carry no kind of their own: they take the list's.
  void ReadObject(ondemand::object object, std::string_view item_kind,
                  std::string_view item_version) {
    const std::string kind = StringField(object, "kind", item_kind);
    const std::string version = StringField(object, "apiVersion", item_version);
    if (kind.empty()) throw BadValue{nullptr, "an object without a kind"};
    if (kind.ends_with("List") && ReadList(object, kind, version)) return;
    const auto [group, number] = GroupVersion(version);
    if (group.empty() && number == "v1") {
      if (kind == "Node") return ReadInto(object, "Node", out_.nodes);
      if (kind == "Pod") return ReadInto(object, "Pod", out_.pods);
      if (kind == "Namespace") return ReadInto(object, "Namespace", out_.namespaces);
      if (kind == "Service") return ReadInto(object, "Service", out_.services);
      if (kind == "ReplicationController") {
        return ReadInto(object, "ReplicationController", out_.replication_controllers);
      }
    } else if (group == "apps" && number == "v1") {
      if (kind == "ReplicaSet") return ReadInto(object, "ReplicaSet", out_.replica_sets);
      if (kind == "StatefulSet") return ReadInto(object, "StatefulSet", out_.stateful_sets);
    } else if (group == "scheduling.k8s.io" && number == "v1" && kind == "PriorityClass") {
      return ReadInto(object, "PriorityClass", out_.priority_classes);
    } else if (group == "policy" && number == "v1" && kind == "PodDisruptionBudget") {
      return ReadInto(object, "PodDisruptionBudget", out_.pod_disruption_budgets);
    }
    ++out_.ignored[version.empty() ? kind : version + " " + kind];
  }

  bool ReadList(ondemand::object& object, std::string_view kind, std::string_view version) {
    bool found = false;
    const std::string item_kind(kind == "List" ? "" : kind.substr(0, kind.size() - 4));
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      if (std::string_view(field.unescaped_key()) != "items") continue;
      ondemand::value items = field.value();
      found = true;
      if (IsNull(items)) continue;
      path_.Push(std::string_view("items"));
      if (Type(items) != ondemand::json_type::array) Mismatch(items, "a list");
      ReadItems(items.get_array(), item_kind, version);
      path_.Pop();
    }
    if (!found) object.reset();
    return found;
  }

  void ReadItems(ondemand::array array, std::string_view kind, std::string_view version) {
    std::size_t index = 0;
    for (auto item : array) {
      ondemand::value value = io::Take(std::move(item));
      path_.Push(index++);
      if (Type(value) != ondemand::json_type::object) Mismatch(value, "an object");
      ReadObject(value.get_object(), kind, version);
      path_.Pop();
    }
  }

  std::string StringField(ondemand::object& object, std::string_view key,
                          std::string_view otherwise) {
    std::string out(otherwise);
    ondemand::value value;
    if (object.find_field_unordered(key).get(value) == simdjson::SUCCESS) {
      path_.Push(key);
      Read(value, out);
      path_.Pop();
    }
    object.reset();
    return out;
  }

  static std::pair<std::string_view, std::string_view> GroupVersion(std::string_view version) {
    const auto slash = version.find('/');
    if (slash == std::string_view::npos) return {{}, version};
    return {version.substr(0, slash), version.substr(slash + 1)};
  }

  template <typename T>
  void ReadInto(ondemand::object& object, std::string_view kind, std::vector<T>& list) {
    T& out = list.emplace_back();
    kind_ = kind;
    meta_ = &out.metadata;
    base_depth_ = path_.depth();
    for (auto item : object) {
      ondemand::field field = io::Take(std::move(item));
      const std::string_view key = field.unescaped_key();
      Visitor visitor(*this, key, field.value());
      Fields(visitor, out);
    }
    if (out.metadata.name.empty()) {
      path_.Push(std::string_view("metadata"));
      path_.Push(std::string_view("name"));
      throw BadValue{nullptr, "a name is required"};
    }
    kind_ = {};
    meta_ = nullptr;
  }

  ObjectList& out_;
  Path path_;
  std::string_view kind_;
  const ObjectMeta* meta_ = nullptr;
  std::size_t base_depth_ = 0;
};

int LineOf(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
}

// The line where a text that simdjson refuses as a whole is broken; 0 when that can't be told.
int LineOfBrokenText(std::string_view text, simdjson::error_code code) {
  int line = 1;
  if (code == simdjson::UNCLOSED_STRING) {
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') {
        if (in_string) return line;  // a string can't go over a line
        ++line;
      } else if (text[i] == '"') {
        in_string = !in_string;
      } else if (text[i] == '\\' && in_string) {
        ++i;
      }
    }
    return line;
  }
  if (code == simdjson::UTF8_ERROR) {
    for (std::size_t begin = 0; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (!simdjson::validate_utf8(text.data() + begin, end - begin)) return line;
      begin = end + 1;
    }
  }
  return 0;
}

class TextReader {
 public:
  TextReader(const std::string& file, ObjectList& out) : file_(file), out_(out) {}

  Result<void> Read(std::string text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return ParseError(file_ + ": the file is empty");
    if (text[first] == '{' || text[first] == '[') return ReadJson(std::move(text), nullptr);
    Result<std::vector<io::JsonDocument>> documents = io::YamlToJson(text, file_);
    if (!documents) return documents.error();
    if (documents->empty()) return ParseError(file_ + ": there is no object in the file");
    for (io::JsonDocument& document : *documents) {
      if (auto done = ReadJson(std::move(document.json), &document.lines); !done) return done;
    }
    return {};
  }

 private:
  // Reads one or several JSON documents; `lines` maps to lines of the YAML they came from.
  Result<void> ReadJson(std::string text, const io::LineMap* lines) {
    text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    text_ = text;
    lines_ = lines;
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
      return ReadStream(parser, text, static_cast<std::size_t>(rest - text.data()));
    } catch (const BadValue& bad) {
      return Where(decoder, bad.at, bad.what);
    } catch (const simdjson::simdjson_error& error) {
      return Broken(decoder, error.error(), document);
    } catch (const std::exception& error) {  // no memory, a string too long
      return ParseError(file_ + ": " + error.what());
    }
  }

  Result<void> ReadStream(ondemand::parser& parser, const std::string& text, std::size_t from) {
    ondemand::document_stream stream;
    const std::size_t length = text.size() - from;
    stream = parser.iterate_many(text.data() + from, length, length + simdjson::SIMDJSON_PADDING);
    std::size_t end_of_last = 0;
    for (auto it = stream.begin(); it != stream.end(); ++it) {
      Decoder decoder(out_);
      const char* at = text.data() + from + it.current_index();
      try {
        auto result = *it;
        ondemand::document_reference document;
        if (const auto code = std::move(result).get(document); code != simdjson::SUCCESS) {
          return Where(decoder, at, simdjson::error_message(code));
        }
        decoder.ReadTop(document);
        end_of_last = it.current_index() + it.source().size();
      } catch (const BadValue& bad) {
        return Where(decoder, bad.at == nullptr ? at : bad.at, bad.what);
      } catch (const simdjson::simdjson_error& error) {
        return Where(decoder, at, simdjson::error_message(error.error()));
      }
    }
    if (stream.truncated_bytes() != 0) {
      return ParseError(file_ + ":" + std::to_string(LineOf(text_, from + end_of_last)) +
                        ": the text ends in the middle of an object");
    }
    return {};
  }

  Error Broken(const Decoder& decoder, simdjson::error_code code, ondemand::document& document) {
    const char* at = nullptr;
    const bool whole = code == simdjson::UNCLOSED_STRING || code == simdjson::UTF8_ERROR;
    if (!whole && document.is_alive()) {
      at = io::Location(document);
      if (at == nullptr) at = text_.data() + text_.size();  // it ran over the end
    }
    if (at != nullptr) return Where(decoder, at, simdjson::error_message(code));
    const int line = LineOfBrokenText(text_, code);
    return ParseError(file_ + (line > 0 ? ":" + std::to_string(line) : "") + ": " +
                      simdjson::error_message(code));
  }

  Error Where(const Decoder& decoder, const char* at, const std::string& what) {
    std::string out = file_;
    if (at != nullptr && at >= text_.data() && at <= text_.data() + text_.size()) {
      const auto offset = static_cast<std::size_t>(at - text_.data());
      const int line = lines_ != nullptr ? lines_->LineAt(offset) : LineOf(text_, offset);
      out += ":" + std::to_string(line);
    }
    if (const std::string subject = decoder.Subject(); !subject.empty()) out += ": " + subject;
    if (const std::string path = decoder.FieldPath(); !path.empty()) out += ": " + path;
    return ParseError(out + ": " + what);
  }

  const std::string& file_;
  ObjectList& out_;
  std::string_view text_;
  const io::LineMap* lines_ = nullptr;
};

}  // namespace

Result<ObjectList> ReadObjects(const std::vector<std::string>& paths) {
  ObjectList out;
  for (const std::string& path : paths) {
    Result<std::string> text = io::ReadText(path);
    if (!text) return text.error();
    const std::string name = path == "-" ? "<stdin>" : path;
    if (auto done = TextReader(name, out).Read(*std::move(text)); !done) return done.error();
  }
  return out;
}

Result<ObjectList> ParseObjects(std::string_view text, const std::string& name) {
  ObjectList out;
  if (auto done = TextReader(name, out).Read(std::string(text)); !done) return done.error();
  return out;
}

}  // namespace schedfw::api
