// `ablate --induction`: which heads induction depends on, on random tokens repeated twice.
#include "attnscope/features/ablate/induction_run.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/interventions/induction_ablation.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

RepeatedText text_of(const WorkItem& item) {
  const std::int64_t length = std::ssize(item.batch->tokens.front());
  if (length < 4 || length % 2 != 0) refuse_field("tokens");
  return {.sequences = item.batch->tokens, .block = length / 2};
}

std::optional<std::int64_t> receiver_head(const WorkItem& item) {
  const Value* head = item.parameters.find("receiver_head");
  if (head == nullptr || head->is_null()) return {};
  return expect<std::int64_t>(*head, "receiver_head");
}

/// The input of the receiver that a path goes into; none: heads are ablated everywhere.
std::optional<Role> receiver_input(const WorkItem& item) {
  const Value* input = item.parameters.find("receiver_input");
  if (input == nullptr || input->is_null()) return {};
  const auto role = role_from_name(expect<std::string>(*input, "receiver_input"));
  if (!role) refuse_field("receiver_input");
  return role;
}

Value input_value(std::optional<Role> input) {
  return input ? Value(std::string(role_name(*input))) : Value();
}

Record pair_record(std::int64_t layer, std::optional<Role> input, std::optional<HeadIndex> later,
                   std::optional<double> before, std::optional<double> after) {
  Record record = {{"layer", layer}, {"receiver_input", input_value(input)}};
  return record.add("receiver_layer", later ? Value(later->layer) : Value())
      .add("receiver_head", later ? Value(later->head) : Value())
      .add("induction_before", before)
      .add("induction", after);
}

/// Ablates heads everywhere: a record per later head, or one if there is no later head.
std::vector<Outcome> everywhere(const ForwardPass& pass, const WorkItem& item,
                                const Compute& compute) {
  const std::int64_t layer = item.batch->layers.front();
  const LayerInduction found = ablate_for_induction(pass, text_of(item), layer, compute);
  std::vector<Outcome> outcomes;
  for (const InductionEffect& effect : found.effects) {
    const auto add = [&](Record record) {
      record.add("clean_loss", found.loss)
          .add("loss", effect.loss)
          .add("predicted", found.predicted);
      outcomes.push_back({.head = effect.head, .fields = std::move(record)});
    };
    for (std::size_t at = 0; at < effect.later.size(); ++at) {
      const HeadInduction& later = effect.later[at];
      add(pair_record(layer, {}, HeadIndex{later.layer, later.head}, found.later[at].induction,
                      later.induction));
    }
    if (effect.later.empty()) add(pair_record(layer, {}, {}, {}, {}));
  }
  return outcomes;
}

/// Taken out of one later head's queries, keys or values alone.
std::vector<Outcome> into(const ForwardPass& pass, const WorkItem& item, std::int64_t head,
                          const Compute& compute) {
  const std::int64_t layer = item.batch->layers.front();
  constexpr std::array kInputs = {Role::query, Role::key, Role::value};
  const std::optional<Role> one = receiver_input(item);
  const PathsInto found = ablate_paths_into(
      pass, text_of(item), layer, head,
      one ? std::span<const Role>(&*one, 1) : std::span<const Role>(kInputs), compute);
  std::vector<Outcome> outcomes;
  for (const PathEffect& effect : found.effects) {
    Record fields = pair_record(effect.layer, effect.into, HeadIndex{layer, head}, found.induction,
                                effect.induction);
    fields.add("write_change", effect.write_change);
    outcomes.push_back({.head = effect.head, .fields = std::move(fields)});
  }
  return outcomes;
}

std::vector<Outcome> ablate_induction_outcomes(const WorkItem& item, const ModelSource& source,
                                               const Compute& compute) {
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  const auto head = receiver_head(item);
  return head ? into(pass, item, *head, compute) : everywhere(pass, item, compute);
}

Cost ablate_induction_cost(const WorkItem& item, const ModelSource& source) {
  Cost cost = batch_cost(item, source);
  const auto layers = static_cast<double>(source.model->dimensions().layers);
  cost.flops *= layers * static_cast<double>(source.model->dimensions().heads.heads);
  return cost;
}

void add_ablate_induction_inputs(ItemInputs& inputs, const WorkItem& item,
                                 const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  inputs.add("receiver_head", receiver_head(item))
      .add("receiver_input", input_value(receiver_input(item)));
}

Record induction_row(const RowPlace& place, const Outcome& outcome) {
  const Record& fields = outcome.fields;
  Record row = {{"model", place.model},
                {"layer", expect<std::int64_t>(fields, "layer")},
                {"head", outcome.head}};
  for (const char* name :
       {"receiver_input", "receiver_layer", "receiver_head", "induction_before", "induction"}) {
    const Value* value = fields.find(name);
    if (value == nullptr) refuse_field(name);
    row.add(name, *value);
  }
  const Value* write_change = fields.find("write_change");
  row.add("write_change", write_change == nullptr ? Value() : *write_change);
  if (fields.find("loss") == nullptr) {
    return row.add("loss_increase", Value())
        .add("loss_increase_error", Value())
        .add("loss", Value());
  }
  const auto& clean = expect_vector<double>(fields, "clean_loss");
  const auto& loss = expect_vector<double>(fields, "loss");
  const auto predicted = static_cast<double>(expect<std::int64_t>(fields, "predicted"));
  if (clean.size() != loss.size()) refuse_field("loss");
  RunningMean increase, own;
  for (std::size_t at = 0; at < loss.size(); ++at) {
    increase.add((loss[at] - clean[at]) / predicted);
    own.add(clean[at] / predicted);
  }
  return row.add("loss_increase", increase.result().mean)
      .add("loss_increase_error", increase.result().standard_error)
      .add("loss", own.result().mean);
}

RowMaker make_induction_rows(RowSink& sink) {
  return {.add = [&sink](const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) sink.add_row(induction_row(place, outcome));
  }};
}

}  // namespace

const Analysis& ablate_induction_analysis() {
  static constexpr Analysis analysis = {.name = "ablate_induction",
                                        .command = "ablate",
                                        .items = {"layer", "layers"},
                                        .takes_batches = true,
                                        .compute = ablate_induction_outcomes,
                                        .cost = ablate_induction_cost,
                                        .add_inputs = add_ablate_induction_inputs,
                                        .make_rows = make_induction_rows};
  return analysis;
}

void run_ablate_induction(std::span<const Model> models, const InductionRequest& request,
                          std::optional<HeadInput> receiver, const Context& context,
                          RowSink& sink) {
  const ReadyModels ready(models, context);
  const InductionRequest fits = fitted(request, ready, models.size());
  Plan plan{.analysis = &ablate_induction_analysis(),
            .parameters = {{"sequences", fits.sequences},
                           {"length", 2 * *fits.block},
                           {"seed", static_cast<std::int64_t>(request.seed)},
                           {"layers", request.layers.parameter()},
                           {"receiver", receiver ? Value(receiver_text(*receiver)) : Value()}}};
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    if (!model.spec().causal) {
      throw Error(ErrorKind::unsupported,
                  {.parameter = "induction",
                   .problem = verbatim(model.name()) + " is bidirectional, so it has no " +
                              "induction heads"});
    }
    check_predicts_tokens(ready.pass(index), {}, {});
    const std::vector<TokenIds> sequences = repeated_tokens(
        fits, std::min(ready.pass(index).vocabulary(), ready.pass(index).logits_width()));
    check_predicts_tokens(ready.pass(index), sequences, {});
    note_past_context(ready.pass(index), {.tokens = sequences}, sink);
    std::vector<std::int64_t> layers = attention_layers(request.layers, model, &sink);
    std::optional<std::int64_t> head;
    if (receiver) {
      const HeadIndex place = place_in(model, receiver->head, "receiver");
      layers = {place.layer};
      head = place.head;
    }
    for (const std::int64_t layer : layers) {
      WorkItem& item = plan.add(index, std::nullopt);
      item.parameters.add("receiver_head", head)
          .add("receiver_input", input_value(receiver ? receiver->input : std::nullopt));
      item.batch = SequenceBatch{.first = 0, .tokens = sequences, .layers = {layer}};
    }
  }
  ReportHead head{.command = "ablate", .parameters = {{"induction", true}, {"source", "random"}}};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
