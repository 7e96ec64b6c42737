#include "attnscope/rows/json.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attnscope/rows/writers.h"

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

// The report as one JSON object; docs/formats.md describes it.
namespace {

class JsonWriter : public RowSink {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  void begin(const ReportHead& head) override {
    out_ << "{\"schema\": " << json_text(Value(kSchema))
         << ", \"command\": " << json_text(Value(head.command)) << ",\n\"models\": [";
    for (const Record& model : head.models) add_entry(model);
    end_list();
    out_ << ",\n\"parameters\": " << json_text(head.parameters) << ",\n\"rows\": [";
  }
  void add_row(Record row) override { add_entry(row); }
  void add_skipped(Skipped skipped) override { skipped_.push_back(std::move(skipped)); }
  void add_note(std::string) override {}
  void end() override {
    end_list();
    out_ << ",\n\"skipped\": [";
    for (const Skipped& skipped : skipped_) add_entry(skipped_record(skipped));
    end_list();
    out_ << "}\n";
  }

 private:
  /// Writes each entry on its own line.
  void add_entry(const Record& entry) {
    out_ << (std::exchange(first_, false) ? "\n" : ",\n") << json_text(entry);
  }
  void end_list() { out_ << (std::exchange(first_, true) ? "]" : "\n]"); }

  std::ostream& out_;
  bool first_ = true;  // of the list being written
  std::vector<Skipped> skipped_;
};

}  // namespace

std::unique_ptr<RowSink> make_json_writer(const WriteOptions&, std::ostream& out) {
  return std::make_unique<JsonWriter>(out);
}

}  // namespace attnscope
