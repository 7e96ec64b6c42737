// The report as one JSON object; docs/formats.md describes it.
#include <nlohmann/json.hpp>

#include "attnscope/output/writers.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Value& value);

ordered_json to_json(const Record& record) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, value] : record.fields()) object[name] = to_json(value);
  return object;
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
        } else {
          return held;
        }
      },
      value.data());
}

/// One line, so that a file of rows can be read and compared line by line.
std::string line(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

template <class Entries, class Convert>
void write_list(const char* name, const Entries& entries, Convert convert, std::ostream& out) {
  out << ",\n\"" << name << "\": [";
  bool first = true;
  for (const auto& entry : entries) {
    out << (first ? "\n" : ",\n") << line(convert(entry));
    first = false;
  }
  out << (first ? "]" : "\n]");
}

}  // namespace

void write_json(const Report& report, const WriteOptions&, std::ostream& out) {
  const auto record = [](const Record& entry) { return to_json(entry); };
  out << "{\"schema\": " << line(kSchema) << ", \"command\": " << line(report.command);
  write_list("models", report.models, record, out);
  out << ",\n\"parameters\": " << line(to_json(report.parameters));
  write_list("rows", report.rows, record, out);
  write_list(
      "skipped", report.skipped,
      [](const Skipped& skipped) {
        return to_json(Record{{"model", skipped.model},
                              {"layer", skipped.layer},
                              {"matrix", skipped.matrix},
                              {"head", skipped.head},
                              {"reason", skipped.reason}});
      },
      out);
  out << "}\n";
}

}  // namespace attnscope
