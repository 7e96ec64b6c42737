#include "attnscope/features/plan/plan_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/features/plan/plan_reader.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostWindows = 1'000'000;
constexpr std::array<std::string_view, 21> kPlanFields = {"method",
                                                          "description",
                                                          "size",
                                                          "sizes",
                                                          "joint",
                                                          "exact",
                                                          "parameters_before",
                                                          "parameters_after",
                                                          "kv_cache_bytes_per_token_before",
                                                          "kv_cache_bytes_per_token_after",
                                                          "flops_per_token_before",
                                                          "flops_per_token_after",
                                                          "parts",
                                                          "mean_nll_before",
                                                          "mean_nll_after",
                                                          "perplexity_before",
                                                          "perplexity_after",
                                                          "predicted_kl",
                                                          "loadable",
                                                          "note",
                                                          "model_hash"};

/// Reads a loss and checks it against the perplexity in the plan.
double read_loss(const PlanReader& reader, const PlanObject& plan, const std::string& when) {
  const double nll = reader.number(plan, "mean_nll_" + when);
  const double perplexity = reader.number(plan, "perplexity_" + when);
  constexpr double kRelative = 1e-6;  // both are written with all their digits
  if (!(std::abs(std::exp(nll) / perplexity - 1) < kRelative)) {
    reader.refuse(path_of(plan, "mean_nll_" + when),
                  shortest_decimal(nll) + " contradicts perplexity_" + when + ", " +
                      shortest_decimal(perplexity) + ": expected its logarithm");
  }
  return nll;
}

ModelSize read_size(const PlanReader& reader, const PlanObject& plan, const std::string& when) {
  ModelSize out;
  out.parameters = reader.integer(plan, "parameters_" + when, 1);
  out.kv_cache_bytes_per_token = reader.integer(plan, "kv_cache_bytes_per_token_" + when, 0);
  out.flops_per_token = reader.number(plan, "flops_per_token_" + when);
  return out;
}

/// The methods of a plan with their sizes. The rows add what each method keeps.
std::vector<Choice> read_choices(const PlanReader& reader, const PlanObject& plan) {
  const std::vector<std::string> names = split(reader.text(plan, "method"), ',');
  const std::string path = path_of(plan, "method");
  const bool exact = reader.flag(plan, "exact");
  const std::int64_t joint = reader.integer(plan, "joint", 0);
  if (names.size() == 1) {
    return {{.method = reader.method(path, names.front()),
             .size = reader.integer(plan, "size", 0),
             .joint = joint,
             .exact = exact}};
  }
  reader.null(plan, "size");
  const std::vector<std::int64_t> sizes = reader.integers(plan, "sizes");
  if (sizes.size() != names.size()) {
    reader.refuse(path_of(plan, "sizes"), "expected one size per method, " +
                                              std::to_string(names.size()) + ", got " +
                                              std::to_string(sizes.size()));
  }
  std::vector<Choice> out;
  for (std::size_t at = 0; at < names.size(); ++at) {
    const Method own = reader.method(path, names[at]);
    const bool again = std::ranges::find(out, own, &Choice::method) != out.end();
    if (again || !own->combines) reader.refuse(path, "these methods cannot be combined");
    out.push_back({.method = own, .size = sizes[at]});
  }
  if (joint != 0) reader.refuse(path_of(plan, "joint"), "expected 0: only mla uses it");
  if (exact) reader.refuse(path_of(plan, "exact"), "expected false: only mla uses it");
  return out;
}

PlanSummary read_summary(const PlanReader& reader, const PlanObject& plan) {
  PlanSummary out{.choice = reader.text(plan, "description"),
                  .remark = reader.text(plan, "note"),
                  .sizes = reader.integers(plan, "sizes"),
                  .loadable = reader.flag(plan, "loadable")};
  if (!reader.field(plan, "size").is_null()) out.size = reader.integer(plan, "size", 0);
  if (!reader.field(plan, "predicted_kl").is_null()) {
    out.predicted_kl = reader.number(plan, "predicted_kl");
  }
  return out;
}

/// Rows of layers must have the indices 0, 1, 2, ... in this order, because a choice lists what it
/// keeps by position. If a method changes both stacks, the rows of the other stack follow in the
/// same way.
void check_layer_order(const PlanReader& reader, const PlanFile& plan) {
  std::vector<std::string> models = {plan.model};
  Method method = nullptr;
  std::int64_t next = 0;
  std::set<Method> ended;
  std::set<LayerMatrix> matrices;
  for (std::size_t at = 0; at < plan.rows.size(); ++at) {
    const PlanRow& row = plan.rows[at];
    if (std::ranges::find(plan.choices, row.method, &Choice::method) == plan.choices.end()) {
      reader.refuse(row_place(at, "method"), "the plan has no such method");
    }
    if (method != row.method) {
      if (method != nullptr) ended.insert(method);
      if (ended.contains(row.method)) {
        reader.refuse(row_place(at, "method"),
                      "expected the rows of each method next to each other");
      }
      method = row.method;
      next = 0;
      models = {plan.model};
    }
    if (row.model != models.back()) {
      if (!row.method->both_stacks || models.size() > 1 || next == 0 || row.layer != 0) {
        reader.refuse(row_place(at, "model"), "expected '" + models.back() + "'");
      }
      models.push_back(row.model);
      next = 0;
    }
    if (row.method->rows == PlanRows::matrix) {
      if (!row.layer) reader.refuse(row_place(at, "layer"), "expected a whole number");
      if (!matrices.insert({*row.layer, *row.matrix}).second) {
        reader.refuse(row_place(at, "matrix"),
                      "duplicate: an earlier row has the same layer and matrix");
      }
      continue;
    }
    const bool of_layers = row.method->rows != PlanRows::model;
    // In a model with one layer, a row of that layer counts as the whole model.
    const bool fits = row.layer ? of_layers && *row.layer == next : next == 0;
    if (!fits) {
      reader.refuse(row_place(at, "layer"),
                    of_layers ? "expected " + std::to_string(next) + ": one row per layer, in order"
                              : "expected null");
    }
    ++next;
  }
}

/// Adds what the rows keep to the choice of their method. Requires check_layer_order().
void add_rows(PlanFile& plan) {
  for (const PlanRow& row : plan.rows) {
    const auto choice = std::ranges::find(plan.choices, row.method, &Choice::method);
    switch (row.method->rows) {
      case PlanRows::removal:
        if (choice->kept.empty()) choice->kept.emplace_back();
        choice->kept.front().insert(choice->kept.front().end(), row.kept.begin(), row.kept.end());
        break;
      case PlanRows::matrix:
        if (row.rank) choice->ranks[{*row.layer, *row.matrix}] = *row.rank;
        break;
      default:
        if (row.method->list_unit > 0) choice->kept.push_back(row.kept);
        break;
    }
  }
  for (Choice& choice : plan.choices) {
    // Users may edit which layers are kept, so the rows decide their number.
    if (choice.method->rows == PlanRows::removal && !choice.kept.empty()) {
      choice.size = std::ssize(choice.kept.front());
    }
  }
}

}  // namespace

std::string row_place(std::size_t row, std::string_view field) {
  return "rows[" + std::to_string(row) + "]." + std::string(field);
}

PlanFile read_plan(std::string_view text, std::string_view place) {
  const PlanReader reader{std::string(place)};
  const json report = parse_json(text, place);
  const PlanObject root{report, ""};
  const auto is = [&](const char* name, std::string_view value) {
    const auto found = report.find(name);
    return found != report.end() && found->is_string() &&
           found->get_ref<const std::string&>() == value;
  };
  if (!report.is_object() || !is("schema", "attnscope/2")) {
    const auto found = report.is_object() ? report.find("schema") : report.end();
    const bool other = found != report.end() && found->is_string() &&
                       found->get_ref<const std::string&>().starts_with("attnscope/");
    reader.refuse("schema", other ? "is version " + found->get<std::string>() +
                                        ", expected attnscope/2: run attnscope plan again"
                                  : "expected \"attnscope/2\", the JSON report of attnscope plan");
  }
  if (!is("command", "plan")) {
    reader.refuse("command", "expected \"plan\", the JSON report of attnscope plan");
  }
  const json& models = reader.field(root, "models");
  if (!models.is_array() || models.size() != 1) reader.refuse("models", "expected one model");
  const PlanObject model{models.front(), "models[0]"};
  if (!model.object.is_object()) reader.refuse(model.path, "expected an object");
  if (!model.object.contains("plan")) {
    throw Error(ErrorKind::usage, {.file = std::string(place),
                                   .problem = "compares methods but selects none",
                                   .hint = "run plan with {method} and a target such as {keep}"});
  }
  const PlanObject plan = reader.object(model, "plan");
  reader.expect_fields(plan, kPlanFields);
  const PlanObject parameters = reader.object(root, "parameters");
  PlanFile out;
  out.model = reader.text(model, "name");
  out.choices = read_choices(reader, plan);
  out.summary = read_summary(reader, plan);
  out.before = read_size(reader, plan, "before");
  out.after = read_size(reader, plan, "after");
  reader.number(parameters, "ridge");
  out.ridge = reader.number(parameters, "ridge", 0, kMostRidge);
  out.rank_allocation = reader.text(parameters, "rank_allocation");
  if (std::ranges::find(kRankAllocations, out.rank_allocation) == kRankAllocations.end()) {
    reader.refuse("parameters.rank_allocation",
                  "unknown rank allocation '" + out.rank_allocation + "'");
  }
  out.mean_nll_before = read_loss(reader, plan, "before");
  out.mean_nll_after = read_loss(reader, plan, "after");
  out.model_hash = reader.text(plan, "model_hash");
  if (model.object.contains("stack")) out.stack = reader.text(model, "stack");
  out.tokens_hash = reader.text(parameters, "tokens_hash");
  out.eval_hash = reader.text(parameters, "eval_hash");
  out.sequences = reader.integer(parameters, "sequences", 1, kMostWindows);
  out.length = reader.integer(parameters, "length", 1, kMostWindows);
  if (!reader.field(parameters, "seed").is_null()) {
    out.sample = reader.integer(parameters, "seed", 0);
  }
  if (parameters.object.contains("lines")) {
    out.lines = reader.flag(parameters, "lines");
  }
  if (parameters.object.contains("score_positions")) {
    out.score_positions = reader.text(parameters, "score_positions");
  }
  if (parameters.object.contains("target")) out.target = reader.text(parameters, "target");
  out.own_held_out = !reader.field(parameters, "eval_file").is_null();
  const json& rows = reader.field(root, "rows");
  if (!rows.is_array()) reader.refuse("rows", "expected a list of rows");
  const std::int64_t parts = reader.integer(plan, "parts", 0);
  if (std::ssize(rows) != parts) {
    reader.refuse("rows", "expected " + std::to_string(parts) +
                              " rows (models[0].plan.parts), got " + std::to_string(rows.size()));
  }
  for (const json& row : rows) {
    out.rows.push_back(read_plan_row(reader, row, out.rows.size(), parts));
  }
  check_layer_order(reader, out);
  add_rows(out);
  return out;
}

}  // namespace attnscope
