#include "attnscope/commands/stored_report.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "attnscope/commands/analyses.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/model/model_names.h"
#include "attnscope/store/record_text.h"

namespace attnscope {
namespace {

const Analysis& analysis_of(const StoredSet& set) {
  const Analysis* analysis = find_analysis(set.analysis.name);
  if (analysis != nullptr) return *analysis;
  throw Error(ErrorKind::unsupported, set.analysis.name,
              "these rows are of an analysis that this attnscope does not know", "update it");
}

std::string value_text(const Value& value) { return record_text({{"value", value}}); }

/// What all runs agree on; null for the rest.
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
  // One file, described in several ways.
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
                   .problem = "no rows of '" + *model + "'" + suggestion(*model, names) +
                              "; models: " + join(names)});
    }
    // What the store says of the command is not relied on.
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

}  // namespace attnscope
