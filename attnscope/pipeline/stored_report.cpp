#include "attnscope/pipeline/stored_report.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/model/model.h"
#include "attnscope/pipeline/circuits.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/mla.h"
#include "attnscope/pipeline/similarity.h"
#include "attnscope/store/record_text.h"

namespace attnscope {
namespace {

void add_matrix_rows(Report& report, const std::string& model, const StoredRows& rows) {
  const char* role_field = report.command == "circuits" ? "circuit" : "matrix";
  for (const Outcome& outcome : rows.outcomes) {
    add_outcome(report, model, rows.layer, role_field, rows.matrix, outcome);
  }
}

void add_pair_rows(Report& report, const std::string& model, const StoredRows& rows) {
  add_composition(report, model, rows.layer.value_or(0), rows.outcomes);
}

/// How the rows of one analysis become those of its command.
struct Kind {
  std::string_view analysis;
  std::string_view command;  // what the store says of it is not relied on
  void (*add)(Report&, const std::string& model, const StoredRows&);
  void (*finish)(Report&);  // null: nothing is left to do
};

constexpr Kind kKinds[] = {
    {"circuits", "circuits", add_matrix_rows, nullptr},
    {"composition", "circuits", add_pair_rows, nullptr},
    {"head_matrix", "similarity", add_matrix_rows, nullptr},
    {"head_overlap", "similarity", add_matrix_rows, drop_heads},
    {"mla", "spectrum", add_matrix_rows, join_mla_halves},
    {"similarity", "similarity", add_matrix_rows, drop_heads},
    {"spectrum", "spectrum", add_matrix_rows, nullptr},
    {"weights", "weights", add_matrix_rows, nullptr},
};

const Kind& kind_of(const StoredSet& set) {
  for (const Kind& kind : kKinds) {
    if (kind.analysis == set.analysis.name) return kind;
  }
  throw Error(ErrorKind::unsupported, set.analysis.name,
              "these rows are of an analysis that this attnscope does not know (update it)");
}

std::string text_of(const Value& value) { return record_text({{"value", value}}); }

/// What all runs agree on; null for the rest.
Record agreed_parameters(const StoredSet& set) {
  if (set.parameters.empty()) return set.analysis.parameters;
  Record agreed;
  for (const auto& [name, value] : set.parameters.front().fields()) {
    const bool same = std::all_of(set.parameters.begin(), set.parameters.end(),
                                  [&, &key = name, &first = value](const auto& other) {
                                    const Value* found = other.find(key);
                                    return found != nullptr && text_of(*found) == text_of(first);
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

Report stored_report(Store& store, std::int64_t set, const std::optional<std::string>& model) {
  const Kind* kind = nullptr;
  std::vector<std::string> names;
  Report report;
  const auto begin = [&](const StoredSet& found) {
    kind = &kind_of(found);
    names = model_names(found);
    if (model && std::find(names.begin(), names.end(), *model) == names.end()) {
      throw Error(
          ErrorKind::usage, "--model",
          "no rows of '" + *model + "'" + suggestion(*model, names) + "; models: " + join(names));
    }
    report.command = kind->command;
    report.parameters = agreed_parameters(found);
    for (std::size_t index = 0; index < names.size(); ++index) {
      if (model && names[index] != *model) continue;
      report.models.push_back(renamed(found.models[index].facts, names[index]));
    }
  };
  store.for_each_rows(set, begin, [&](const StoredRows& rows) {
    const std::string& name = names[rows.model];
    if (!model || name == *model) kind->add(report, name, rows);
  });
  if (kind->finish != nullptr) kind->finish(report);
  return report;
}

}  // namespace attnscope
