// The report as one JSON object; docs/formats.md describes it.
#include <utility>
#include <vector>

#include "attnscope/output/json_text.h"
#include "attnscope/output/writers.h"

namespace attnscope {
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
  /// Each on a line of its own.
  void add_entry(const Record& entry) {
    out_ << (std::exchange(first_, false) ? "\n" : ",\n") << json_text(entry);
  }
  void end_list() { out_ << (std::exchange(first_, true) ? "]" : "\n]"); }

  std::ostream& out_;
  bool first_ = true;  // of the list that is being written
  std::vector<Skipped> skipped_;
};

}  // namespace

std::unique_ptr<RowSink> make_json_writer(const WriteOptions&, std::ostream& out) {
  return std::make_unique<JsonWriter>(out);
}

}  // namespace attnscope
