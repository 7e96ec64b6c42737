#include "attnscope/features/export/run.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/model/model_names.h"
#include "attnscope/rows/field.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

const Analysis& analysis_of(const StoredSet& set) {
  const Analysis* analysis = find_analysis(set.analysis.name);
  if (analysis != nullptr) return *analysis;
  throw Error(ErrorKind::unsupported, set.analysis.name,
              "this version of attnscope does not know the analysis of the stored rows",
              "update attnscope");
}

std::string value_text(const Value& value) { return record_text({{"value", value}}); }

/// Parameters that are equal in all runs; null for the others.
Record agreed_parameters(const StoredSet& set) {
  if (set.parameters.empty()) return set.analysis.parameters;
  Record agreed;
  for (const auto& [name, value] : set.parameters.front().fields()) {
    const bool same =
        std::all_of(set.parameters.begin(), set.parameters.end(),
                    [&, &key = name, &first = value](const auto& other) {
                      const Value* found = other.find(key);
                      return found != nullptr && value_text(*found) == value_text(first);
                    });
    agreed.add(name, same ? value : Value());
  }
  return agreed;
}

std::vector<std::string> model_names(const StoredSet& set) {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> paths;
  for (const StoredModel& model : set.models) {
    names.push_back(model.name);
    paths.emplace_back(model.path);
  }
  const auto distinct = [&] { return std::set(names.begin(), names.end()).size() == names.size(); };
  if (distinct()) return names;
  names = distinct_names(paths);
  if (distinct()) return names;
  // The same file, opened with different descriptions.
  for (std::size_t index = 0; index < names.size(); ++index) {
    names[index] += " (" + set.models[index].description + ")";
  }
  return names;
}

Record renamed(const Record& facts, const std::string& name) {
  Record out;
  for (const auto& [key, value] : facts.fields()) out.add(key, key == "name" ? Value(name) : value);
  return out;
}

}  // namespace

void send_stored(Store& store, std::int64_t set, const std::optional<std::string>& model,
                 RowSink& sink) {
  std::vector<std::string> names;
  RowMaker rows;
  const auto begin = [&](const StoredSet& found) {
    const Analysis& analysis = analysis_of(found);
    names = model_names(found);
    if (model && std::find(names.begin(), names.end(), *model) == names.end()) {
      throw Error(ErrorKind::usage,
                  {.parameter = "model",
                   .problem = "the store has no rows of model '" + *model + "'" +
                              suggestion(*model, names) + "; available: " + join(names)});
    }
    // The command comes from the analysis: its name in the store is untrusted.
    ReportHead head{.command = std::string(analysis.command),
                    .parameters = agreed_parameters(found)};
    for (std::size_t index = 0; index < names.size(); ++index) {
      if (model && names[index] != *model) continue;
      head.models.push_back(renamed(found.models[index].facts, names[index]));
      if (analysis.add_model_facts != nullptr) analysis.add_model_facts(head.models.back());
    }
    sink.begin(head);
    rows = analysis.make_rows(sink);
  };
  store.for_each_rows(set, begin, [&](const StoredRows& stored) {
    const std::string& name = names[stored.model];
    if (!model || name == *model) rows.add({name, stored.layer, stored.matrix}, stored.outcomes);
  });
  rows.finish();
  sink.end();
}

namespace {

/// Counts the rows that would be printed for each model.
class Count : public RowSink {
 public:
  struct OfModel {
    std::int64_t rows = 0, skipped = 0;
  };

  void begin(const ReportHead& head) override {
    parameters_ = head.parameters;
    for (const Record& model : head.models) names_.push_back(expect<std::string>(model, "name"));
  }
  void add_row(Record row) override { ++of_[expect<std::string>(row, "model")].rows; }
  void add_skipped(Skipped skipped) override { ++of_[skipped.model].skipped; }
  void add_note(std::string) override {}
  void end() override {}

  /// Names in the order of the set.
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
  // Stores also contain plan steps, which are not rows of any command.
  std::erase_if(sets, [](const auto& set) {
    return std::ranges::none_of(
        row_kinds(), [&](const RowKind& kind) { return kind.name == set.analysis.name; });
  });
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
      if (model.finished.empty()) continue;  // its rows belong to a file that has changed since
      const std::string& name = analysis == nullptr ? model.name : count.names()[index];
      const auto [rows, skipped] = count.of(name);
      sink.add_row({{"set", set.id},
                    {"model", name},
                    {"command", analysis == nullptr ? set.analysis.command : analysis->command},
                    {"analysis", set.analysis.name},
                    {"parameters", record_text(analysis == nullptr ? set.analysis.parameters
                                                                   : count.parameters())},
                    {"revision", set.analysis.revision},
                    {"rows", analysis == nullptr ? Value() : Value(rows)},
                    {"skipped", analysis == nullptr ? Value() : Value(skipped)},
                    {"finished", model.finished}});
    }
  }
  sink.end();
}

}  // namespace attnscope
