#include "attnscope/analyses/experts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/analyses/estimates.h"
#include "attnscope/analyses/read_weight.h"
#include "attnscope/analysis/expert_space.h"
#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/error.h"
#include "attnscope/numerics/singular_values/singular_values.h"
#include "attnscope/run/runner.h"

namespace attnscope {
namespace {

constexpr std::array kExpertRoles = {Role::router, Role::gate, Role::up, Role::down};

/// What the stream meets of a matrix, as rows: the columns of `down`.
MatrixView<const double> rows_in_stream(const Matrix<double>& matrix, Role role) {
  return role == Role::down ? matrix.view().transposed() : matrix.view();
}

struct StackedExperts {
  Matrix<double> rows;  // (count · n, D)
  std::string skipped;  // why they cannot be read; empty: they are there
};

StackedExperts read_stacked(const WorkItem& item, const Model& model, const Compute& compute) {
  StackedExperts out;
  for (std::size_t at = 0; at < item.experts.size(); ++at) {
    compute.check_stop();
    const Weight weight = model.expert_weight(*item.layer, item.experts[at], *item.role);
    const auto read = read_weight_float64(model, weight);
    const std::string expert = "expert " + std::to_string(item.experts[at]) + ": ";
    if (!read.skipped.empty()) return {.skipped = expert + read.skipped};
    const MatrixView<const double> rows = rows_in_stream(read.values, *item.role);
    if (const auto reason = find_not_finite(rows)) return {.skipped = expert + *reason};
    if (at == 0) out.rows = Matrix<double>(rows.rows * std::ssize(item.experts), rows.cols);
    const auto own =
        out.rows.view().row_block(static_cast<std::int64_t>(at) * rows.rows, rows.rows);
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      for (std::int64_t col = 0; col < rows.cols; ++col) own(row, col) = rows(row, col);
    }
  }
  return out;
}

/// Energy ranks of a matrix and those of a Gaussian one.
Record ranks_of(MatrixView<const double> matrix, const WorkItem& item, const Compute& compute) {
  Record fields;
  add_spectrum_fields(fields, singular_values(matrix, compute),
                      {.rows = matrix.rows, .cols = matrix.cols},
                      {.thresholds = expect_vector<double>(item.parameters, "energy")});
  return fields;
}

void add_similarity(Record& fields, const PairSimilarity& pairs, bool are_pairs, double expected) {
  const auto value = [&](double number) { return are_pairs ? Value(number) : Value(); };
  fields.add("mean_similarity", value(pairs.mean))
      .add("least_similarity", value(pairs.least))
      .add("most_similarity", value(pairs.most))
      .add("null_similarity", value(expected));
}

Record space_fields(std::int64_t experts, const Record& ranks, Value single) {
  Record fields = {{"experts", experts}};
  for (const char* name : {"shape", "energy_rank", "null_energy_rank"}) {
    fields.add(name, *ranks.find(name));
  }
  return fields.add("single_energy_rank", std::move(single));
}

std::vector<Outcome> router_space(const WorkItem& item, const Model& model,
                                  const Compute& compute) {
  const auto read = read_weight_float64(model, model.weight(*item.layer, Role::router));
  if (!read.skipped.empty()) return {{.skipped = read.skipped}};
  const MatrixView<const double> rows = read.values.view();
  if (const auto reason = find_not_finite(rows)) return {{.skipped = *reason}};
  Outcome outcome{.fields = space_fields(rows.rows, ranks_of(rows, item, compute), {})};
  add_similarity(outcome.fields, row_cosines(rows), rows.rows > 1, /*expected=*/0);
  return {std::move(outcome)};
}

std::vector<Outcome> expert_spaces(const WorkItem& item, const ModelSource& source,
                                   const Compute& compute) {
  const Model& model = *source.model;
  if (item.role == Role::router) return router_space(item, model, compute);
  const StackedExperts stacked = read_stacked(item, model, compute);
  if (!stacked.skipped.empty()) return {{.skipped = stacked.skipped}};
  const auto experts = std::ssize(item.experts);
  const MatrixView<const double> all = stacked.rows.view();
  const std::int64_t rows = all.rows / experts;
  std::vector<Record> each;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    each.push_back(ranks_of(all.row_block(expert * rows, rows), item, compute));
  }
  Record single;
  for (const auto& entry : expect<Record>(each.front(), "energy_rank").fields()) {
    std::vector<std::int64_t> ranks;
    for (const Record& own : each) {
      ranks.push_back(expect<std::int64_t>(expect<Record>(own, "energy_rank"), entry.first));
    }
    std::sort(ranks.begin(), ranks.end());
    single.add(entry.first, lower_quantile(ranks, 0.5));
  }
  Outcome outcome{.fields = space_fields(experts, ranks_of(all, item, compute), std::move(single))};
  add_similarity(outcome.fields, block_similarity(all, experts, compute), experts > 1,
                 expected_block_similarity(rows, all.cols));
  return {std::move(outcome)};
}

Cost expert_space_cost(const WorkItem& item, const ModelSource& source) {
  const Dimensions& dimensions = source.model->dimensions();
  const auto experts = static_cast<double>(std::max<std::size_t>(1, item.experts.size()));
  const std::int64_t rows =
      item.role == Role::router ? dimensions.experts : dimensions.expert_width;
  const std::int64_t cols = item.role == Role::router ? dimensions.width : dimensions.expert_inputs;
  const auto width = static_cast<double>(cols), inner = static_cast<double>(rows);
  const auto stacked_rows = static_cast<std::int64_t>(experts) * rows;
  return {.flops = spectrum_flops(experts * inner, width) + experts * spectrum_flops(inner, width) +
                   experts * experts * inner * inner * width,
          .memory_bytes = float64_bytes(stacked_rows, cols) + 2 * float64_bytes(rows, cols) +
                          spectrum_bytes(stacked_rows, cols)};
}

}  // namespace

const Analysis& experts_analysis() {
  static constexpr Analysis analysis = {.name = "experts",
                                        .command = "experts",
                                        .roles = kExpertRoles,
                                        .takes_experts = true,
                                        .compute = expert_spaces,
                                        .cost = expert_space_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = rows_without_heads};
  return analysis;
}

void check_experts(std::span<const Model> models) {
  for (const Model& model : models) {
    if (model.dimensions().experts > 0) continue;
    throw Error(ErrorKind::usage,
                {.parameter = "models", .problem = model.name() + " has no experts"});
  }
}

void run_experts(std::span<const Model> models, const ExpertsRequest& request,
                 const Context& context, RowSink& sink) {
  check_experts(models);
  Plan plan{.analysis = &experts_analysis(), .parameters = {{"energy", request.thresholds}}};
  const std::vector<std::vector<Role>> roles(models.size(),
                                             {kExpertRoles.begin(), kExpertRoles.end()});
  add_layers_and_experts(plan, models, roles, request.layers, request.experts, sink);
  std::erase_if(plan.items, [&](const WorkItem& item) {  // dense layers, and experts without gates
    const Model& model = models[item.model];
    return item.role == Role::router
               ? !model.describes(Role::router)
               : item.experts.empty() || !model.describes_of_expert(*item.role);
  });
  ReportHead head{
      .command = "experts",
      .parameters = {{"energy", request.thresholds}, {"layers", request.layers.parameter()}}};
  if (!request.experts.text.empty()) head.parameters.add("experts", request.experts.text);
  run_plan(plan, sources_of(models), std::move(head), context, sink);
}

}  // namespace attnscope
