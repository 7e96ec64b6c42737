#include "attnscope/features/experts/run.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/experts/measures.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

constexpr std::array kExpertRoles = {Role::router, Role::gate, Role::up, Role::down};

/// The matrix as rows in the residual stream: for `down`, its columns.
MatrixView<const double> rows_in_stream(const Matrix<double>& matrix, Role role) {
  return role == Role::down ? matrix.view().transposed() : matrix.view();
}

struct StackedExperts {
  Matrix<double> rows;  // (count · n, D)
  std::string skipped;  // why the experts cannot be read; empty: they can
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

/// Energy ranks of a matrix and of a Gaussian matrix of the same shape.
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
      .add("random_similarity", value(expected));
}

Record space_fields(std::int64_t experts, const Record& ranks, Value single) {
  Record fields = {{"experts", experts}};
  for (const char* name : {"shape", "energy_rank", "random_energy_rank"}) {
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
                {.parameter = "models",
                 .problem = model.name() + " has no experts: it is not an MoE model"});
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

// Routing of the tokens of a text.
namespace {

Record counts_record(std::int64_t layer, const RoutingCounts& counts) {
  return {{"layer", layer},
          {"tokens", counts.tokens},
          {"pairs", Array{{counts.experts, counts.experts}, counts.pairs}},
          {"weights", counts.weights},
          {"entropy", counts.entropy},
          {"ties", counts.ties}};
}

RoutingCounts read_counts(const Record& record) {
  const auto pairs = expect_matrix<std::int64_t>(record, "pairs");
  if (pairs.rows != pairs.cols) refuse_field("pairs");
  RoutingCounts counts{.experts = pairs.rows,
                       .tokens = expect<std::int64_t>(record, "tokens"),
                       .pairs = {pairs.data, pairs.data + pairs.rows * pairs.cols},
                       .weights = expect_vector<double>(record, "weights"),
                       .entropy = expect<double>(record, "entropy"),
                       .ties = expect<std::int64_t>(record, "ties")};
  counts.chosen = std::ssize(counts.weights);
  if (counts.tokens < 0 || counts.chosen == 0) refuse_field("tokens");
  return counts;
}

std::vector<Outcome> routing_outcomes(const WorkItem& item, const ModelSource& source,
                                      const Compute& compute) {
  const SequenceBatch& batch = *item.batch;
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  std::vector<Outcome> outcomes;
  const ForwardObserver observer{.on_routing = [&](const LayerRouting& routing) {
    if (!std::binary_search(batch.layers.begin(), batch.layers.end(), routing.layer)) return;
    outcomes.push_back(routing_outcome(routing, pass.model(), batch.scored));
  }};
  pass.run(batch.tokens, observer, compute);
  return outcomes;
}

/// Adds up batches and emits the rows of a model after its last batch.
class RoutingRows {
 public:
  explicit RoutingRows(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    if (place.model != model_) finish();
    model_ = place.model;
    for (const Outcome& outcome : outcomes) {
      const RoutingCounts counts = read_counts(outcome.fields);
      RoutingCounts& sum = layers_[expect<std::int64_t>(outcome.fields, "layer")];
      if (sum.experts > 0 && (sum.experts != counts.experts || sum.chosen != counts.chosen)) {
        refuse_field("pairs");
      }
      sum.add(counts);
    }
  }

  void finish() {
    for (const auto& [layer, counts] : layers_) {
      const RoutingMeasures measures = measure_routing(counts);
      if (counts.ties > 0) {
        sink_.add_note(model_ + ": layer " + std::to_string(layer) + ": " +
                       std::to_string(counts.ties) + " of " + counted(counts.tokens, "token") +
                       " have tied router scores at the selection limit; the expert with the lower "
                       "index is selected");
      }
      sink_.add_row({{"model", model_},
                     {"layer", layer},
                     {"experts", counts.experts},
                     {"experts_per_token", counts.chosen},
                     {"tokens", counts.tokens},
                     {"ties", counts.ties},
                     {"load", measures.load},
                     {"effective_experts", measures.effective_experts},
                     {"largest_load", measures.largest_load},
                     {"router_entropy", measures.router_entropy},
                     {"mean_weights", measures.mean_weights},
                     {"top_pair", measures.top_pair},
                     {"top_pair_lift", measures.top_pair_lift},
                     {"coactivation", Array{{counts.experts, counts.experts}, measures.together}}});
    }
    layers_.clear();
    model_.clear();
  }

 private:
  RowSink& sink_;
  std::string model_;
  std::map<std::int64_t, RoutingCounts> layers_;
};

}  // namespace

Outcome routing_outcome(const LayerRouting& routing, const Model& model,
                        const ScoredTokens& scored) {
  std::optional<std::vector<std::int64_t>> counted;
  std::int64_t first = 0;
  for (const TokenIds& flags : scored) {
    if (!counted) counted.emplace();
    for (const std::int64_t row : scored_rows(flags, model.spec().causal)) {
      counted->push_back(first + row);
    }
    first += std::ssize(flags);
  }
  return {.fields =
              counts_record(routing.layer, count_routing(routing.logits, routing.experts,
                                                         routing.weights, routing.tied, counted))};
}

const Analysis& routing_analysis() {
  static constexpr Analysis analysis = {.name = "routing",
                                        .command = "experts",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = routing_outcomes,
                                        .cost = batch_cost,
                                        .add_inputs = add_batch_inputs,
                                        .make_rows = gathered_rows<RoutingRows>};
  return analysis;
}

void run_routing(std::span<const Model> models, const RoutingRequest& request,
                 const Context& context, RowSink& sink) {
  check_experts(models);
  Plan plan{.analysis = &routing_analysis(),
            .parameters = {{"layers", request.layers.parameter()},
                           {"tokens_hash", tokens_hash(request.sequences, {}, request.scored)}}};
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    BatchInputs inputs{.tokens = request.sequences[index]};
    if (index < request.scored.size()) inputs.scored = request.scored[index];
    check_inputs(ready.pass(index), inputs);
    note_past_context(ready.pass(index), inputs, sink);
    std::vector<std::int64_t> layers =
        request.layers.resolve(model.dimensions().layers, model.name());
    std::erase_if(layers, [&](std::int64_t layer) { return !model.spec().has_experts(layer); });
    if (layers.empty()) {
      throw Error(ErrorKind::usage,
                  {.parameter = "layers",
                   .problem = "none of the selected layers of " + model.name() + " has experts"});
    }
    add_batches(plan, index, model, inputs, layers);
  }
  ReportHead head{.command = "experts", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
