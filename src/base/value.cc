#include "schedfw/base/value.h"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_number.h"
#include "io/json_syntax.h"
#include "io/ondemand.h"
#include "io/yaml_to_json.h"

namespace schedfw {
namespace {

namespace ondemand = simdjson::ondemand;

void Append(const Value& value, int indent, int depth, std::string* out) {
  const auto new_line = [&](int level) {
    if (indent == 0) return;
    out->push_back('\n');
    out->append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  if (const bool* flag = value.AsBool()) {
    out->append(*flag ? "true" : "false");
  } else if (const std::int64_t* number = value.AsInteger()) {
    out->append(std::to_string(*number));
  } else if (const double* real = value.AsDouble()) {
    io::AppendJsonNumber(*real, out);
  } else if (const std::string* text = value.AsString()) {
    io::AppendJsonString(*text, out);
  } else if (const Value::List* list = value.AsList()) {
    out->push_back('[');
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (i != 0) out->push_back(',');
      new_line(depth + 1);
      Append((*list)[i], indent, depth + 1, out);
    }
    if (!list->empty()) new_line(depth);
    out->push_back(']');
  } else if (const Value::Object* object = value.AsObject()) {
    out->push_back('{');
    bool first = true;
    for (const auto& [key, item] : *object) {
      if (!first) out->push_back(',');
      first = false;
      new_line(depth + 1);
      io::AppendJsonString(key, out);
      out->append(indent == 0 ? ":" : ": ");
      Append(item, indent, depth + 1, out);
    }
    if (!first) new_line(depth);
    out->push_back('}');
  } else {
    out->append("null");
  }
}

// A key that is given twice. Thrown and caught in this file only.
struct DuplicateKey {
  const char* at;
  std::string key;
};

// Deeper than any configuration or report; every level takes a piece of the stack.
constexpr int kMaxDepth = 500;

struct TooDeep {};

Value FromJson(ondemand::value value, int depth) {
  if (depth > kMaxDepth) throw TooDeep();
  switch (static_cast<ondemand::json_type>(value.type())) {
    case ondemand::json_type::array: {
      Value::List list;
      for (auto item : value.get_array()) {
        list.push_back(FromJson(io::Take(item), depth + 1));
      }
      return list;
    }
    case ondemand::json_type::object: {
      Value::Object object;
      for (auto item : value.get_object()) {
        ondemand::field field = io::Take(std::move(item));
        const char* at = field.key().raw();
        std::string key(std::string_view(field.unescaped_key()));
        for (const auto& [known, unused] : object) {
          if (known == key) throw DuplicateKey{at, key};
        }
        Value child = FromJson(field.value(), depth + 1);
        object.emplace_back(std::move(key), std::move(child));
      }
      return object;
    }
    case ondemand::json_type::number: {
      std::int64_t whole = 0;
      if (value.get_int64().get(whole) == simdjson::SUCCESS) return whole;
      return double(value.get_double());
    }
    case ondemand::json_type::string:
      return std::string(std::string_view(value.get_string()));
    case ondemand::json_type::boolean:
      return bool(value.get_bool());
    case ondemand::json_type::null:
      break;
  }
  if (!bool(value.is_null())) throw simdjson::simdjson_error(simdjson::N_ATOM_ERROR);
  return {};
}

Result<Value> ParseJson(std::string text, const io::LineMap* lines, const std::string& name) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  const auto where = [&](const char* at) {
    if (at == nullptr || at < text.data() || at > text.data() + text.size()) return name;
    const auto offset = static_cast<std::size_t>(at - text.data());
    const auto line =
        lines != nullptr ? lines->LineAt(offset)
                         : 1 + std::count(text.begin(),
                                          text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    return name + ":" + std::to_string(line);
  };
  ondemand::parser parser;
  ondemand::document document;
  try {
    document =
        parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.capacity()));
    if (document.is_scalar()) {
      return ParseError(name + ": expected an object or a list");
    }
    Value out = FromJson(io::Take(document.get_value()), 1);
    if (io::Location(document) != nullptr) {
      return ParseError(name + ": text after the end of the document");
    }
    return out;
  } catch (const DuplicateKey& duplicate) {
    return ParseError(where(duplicate.at) + ": the key \"" + duplicate.key + "\" is given twice");
  } catch (const TooDeep&) {
    return ParseError(name + ": nested deeper than " + std::to_string(kMaxDepth) + " levels");
  } catch (const simdjson::simdjson_error& error) {
    if (const auto fault = io::FindJsonFault(text)) {
      return ParseError(where(text.data() + fault->offset) + ": " +
                        (fault->path.empty() ? "" : fault->path + ": ") + fault->reason);
    }
    return ParseError(where(document.is_alive() ? io::Location(document) : nullptr) + ": " +
                      error.what());
  }
}

}  // namespace

std::string ToJson(const Value& value, int indent) {
  std::string out;
  Append(value, indent, 0, &out);
  return out;
}

Result<Value> ParseValue(std::string_view text, const std::string& name) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return ParseError(name + ": the document is empty");
  if (io::BeginsAsJson(text)) return ParseJson(std::string(text), nullptr, name);
  auto documents = io::YamlToJson(text, name);
  if (!documents) return documents.error();
  if (documents->empty()) return ParseError(name + ": the document is empty");
  if (documents->size() > 1) {
    return ParseError(name + ": " + std::to_string(documents->size()) +
                      " documents, but one is expected");
  }
  io::JsonDocument& document = documents->front();
  return ParseJson(std::move(document.json), &document.lines, name);
}

}  // namespace schedfw
