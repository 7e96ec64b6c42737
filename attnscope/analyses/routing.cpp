// Where routers send the tokens of a text.
#include "attnscope/analysis/routing.h"

#include <algorithm>
#include <map>

#include "attnscope/analyses/experts.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analyses/text_length.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"

namespace attnscope {
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

/// Adds up batches and gives the rows of a model when its last one has come.
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
        sink_.add_note(model_ + ": layer " + std::to_string(layer) + ": for " +
                       std::to_string(counts.ties) + " of " + counted(counts.tokens, "token") +
                       " another expert had as large a score as the last that was chosen; of equal "
                       "ones the lower is taken");
      }
      sink_.add_row({{"model", model_},
                     {"layer", layer},
                     {"experts", counts.experts},
                     {"chosen", counts.chosen},
                     {"tokens", counts.tokens},
                     {"ties", counts.ties},
                     {"load", measures.load},
                     {"effective_experts", measures.effective_experts},
                     {"largest_load", measures.largest_load},
                     {"router_entropy", measures.router_entropy},
                     {"mean_weights", measures.mean_weights},
                     {"top_pair", measures.top_pair},
                     {"top_pair_lift", measures.top_pair_lift},
                     {"together", Array{{counts.experts, counts.experts}, measures.together}}});
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
                   .problem = "none of these layers of " + model.name() + " has experts"});
    }
    add_batches(plan, index, model, inputs, layers);
  }
  ReportHead head{.command = "experts", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
