#include "attnscope/pipeline/stored_report.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/role.h"
#include "attnscope/core/text.h"
#include "attnscope/model/model.h"
#include "attnscope/model/model_names.h"
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

std::size_t usual_position(const std::string& matrix) {
  const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), matrix);
  return static_cast<std::size_t>(std::distance(kRoleNames.begin(), found));
}

}  // namespace

Report stored_report(const StoredSet& set, const std::optional<std::string>& model) {
  const Kind& kind = kind_of(set);
  const std::vector<std::string> names = model_names(set);
  if (model && std::find(names.begin(), names.end(), *model) == names.end()) {
    throw Error(
        ErrorKind::usage, "--model",
        "no rows of '" + *model + "'" + suggestion(*model, names) + "; models: " + join(names));
  }
  Report report{.command = std::string(kind.command), .parameters = agreed_parameters(set)};
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (model && names[index] != *model) continue;
    report.models.push_back(renamed(set.models[index].facts, names[index]));
  }

  std::vector<const StoredRows*> ordered;
  for (const StoredRows& rows : set.rows) ordered.push_back(&rows);
  if (set.parameters.size() > 1) {
    const auto place = [](const StoredRows* rows) {
      return std::tuple(rows->model, rows->layer, usual_position(rows->matrix));
    };
    std::stable_sort(ordered.begin(), ordered.end(),
                     [&](const auto* a, const auto* b) { return place(a) < place(b); });
  }
  for (const StoredRows* rows : ordered) {
    const std::string& name = names[rows->model];
    if (!model || name == *model) kind.add(report, name, *rows);
  }
  if (kind.finish != nullptr) kind.finish(report);
  return report;
}

}  // namespace attnscope
