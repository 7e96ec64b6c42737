#include "attnscope/output/json_text.h"

#include <nlohmann/json.hpp>

namespace attnscope {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Value& value);

ordered_json to_json(const Record& record) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : record.fields()) object[name] = to_json(value);
  return object;
}

template <class T>
ordered_json to_json(const ArrayPart<T>& part) {
  if (part.is_vector()) return ordered_json::array_t(part.values.begin(), part.values.end());
  ordered_json list = ordered_json::array();
  for (std::int64_t index = 0; index < part.shape.front(); ++index) {
    list.push_back(to_json(part[index]));
  }
  return list;
}

ordered_json to_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> ordered_json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, Record>) {
          return to_json(held);
        } else if constexpr (std::is_same_v<Held, Value::List>) {
          ordered_json list = ordered_json::array();
          for (const Value& entry : held) list.push_back(to_json(entry));
          return list;
        } else if constexpr (std::is_same_v<Held, Array>) {
          return visit_array(held, [](const auto& part) { return to_json(part); });
        } else {
          return held;
        }
      },
      value.data());
}

std::string line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string json_text(const Record& record) { return line(to_json(record)); }

std::string json_text(const Value& value) { return line(to_json(value)); }

Record skipped_record(const Skipped& skipped) {
  return {{"model", skipped.model},
          {"layer", skipped.layer},
          {"matrix", skipped.matrix},
          {"head", skipped.head},
          {"reason", skipped.reason}};
}

}  // namespace attnscope
