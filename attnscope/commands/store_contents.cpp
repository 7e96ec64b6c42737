#include "attnscope/commands/store_contents.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/analyses/plan_steps.h"
#include "attnscope/commands/analyses.h"
#include "attnscope/commands/stored_report.h"
#include "attnscope/store/record_text.h"

namespace attnscope {
namespace {

/// Counts what would be printed of each model.
class Count : public RowSink {
 public:
  struct OfModel {
    std::int64_t rows = 0, left_out = 0;
  };

  void begin(const ReportHead& head) override {
    parameters_ = head.parameters;
    for (const Record& model : head.models) names_.push_back(expect<std::string>(model, "name"));
  }
  void add_row(Record row) override { ++of_[expect<std::string>(row, "model")].rows; }
  void add_skipped(Skipped skipped) override { ++of_[skipped.model].left_out; }
  void add_note(std::string) override {}
  void end() override {}

  /// In the order of the set.
  const std::vector<std::string>& names() const { return names_; }
  OfModel of(const std::string& name) { return of_[name]; }
  const Record& parameters() const { return parameters_; }

 private:
  Record parameters_;
  std::vector<std::string> names_;
  std::map<std::string, OfModel> of_;
};

}  // namespace

std::vector<Store::SetEntry> sets_of_rows(Store& store) {
  std::vector<Store::SetEntry> sets = store.sets();
  std::erase_if(sets, [](const auto& set) { return set.analysis.name == kPlanSteps; });
  return sets;
}

void send_contents(Store& store, RowSink& sink) {
  sink.begin({.command = "export", .parameters = {{"list", true}}});
  for (const Store::SetEntry& set : sets_of_rows(store)) {
    const Analysis* analysis = find_analysis(set.analysis.name);
    Count count;
    if (analysis != nullptr) send_stored(store, set.id, std::nullopt, count);
    for (std::size_t index = 0; index < set.models.size(); ++index) {
      const Store::SetModel& model = set.models[index];
      if (model.finished.empty()) continue;  // its rows are of a file that has changed since
      const std::string& name = analysis == nullptr ? model.name : count.names()[index];
      const auto [rows, left_out] = count.of(name);
      sink.add_row({{"set", set.id},
                    {"model", name},
                    {"command", analysis == nullptr ? set.analysis.command : analysis->command},
                    {"analysis", set.analysis.name},
                    {"parameters", record_text(analysis == nullptr ? set.analysis.parameters
                                                                   : count.parameters())},
                    {"revision", set.analysis.revision},
                    {"rows", analysis == nullptr ? Value() : Value(rows)},
                    {"left_out", analysis == nullptr ? Value() : Value(left_out)},
                    {"finished", model.finished}});
    }
  }
  sink.end();
}

}  // namespace attnscope
