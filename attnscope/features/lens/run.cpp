#include "attnscope/features/lens/run.h"

#include <map>
#include <numeric>
#include <utility>

#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/lens/item_edits.h"
#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/features/lens/opened_lens.h"

namespace attnscope {
namespace {

LensStates states_of(const WorkItem& item) {
  LensStates out{.middles = expect<bool>(item.parameters, "resid_mid"),
                 .attn_out = item.parameters.find("attn_out") != nullptr,
                 .mlp_out = item.parameters.find("mlp_out") != nullptr};
  if (item.parameters.find("tuned_lens") != nullptr) {
    out.tuned_lens = expect<std::string>(item.parameters, "tuned_lens");
  }
  return out;
}

std::vector<Outcome> lens_outcomes(const WorkItem& item, const ModelSource& source,
                                   const Compute& compute) {
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  const ScoredPositions positions = scored_positions(item);
  ItemEdits edits(pass, source.watchers, compute);
  const OpenedLens opened(states_of(item), *source.model);
  const Lens lens =
      read_lens(pass, positions, opened.choice(), /*most_likely=*/1, compute, edits.maker());
  std::vector<Outcome> outcomes;
  for (std::size_t state = 0; state < lens.states.size(); ++state) {
    const LensSums sums = lens_sums(lens.readings[state]);
    outcomes.push_back({.fields = sums_record(lens.states[state], sums)});
  }
  return outcomes;
}

double size(std::int64_t count) { return static_cast<double>(count); }

/// Number of decoded states per layer.
double count_states(const LensStates& states) {
  return 1 + (states.middles ? 1 : 0) + (states.attn_out ? 1 : 0) + (states.mlp_out ? 1 : 0);
}

/// Memory for decoding that many rows, in addition to the forward pass: the states and two blocks
/// of logits.
std::uint64_t reading_bytes(const Model& model, double rows, const LensStates& states) {
  constexpr double kLogits = 2.0 * (64 << 20);
  const Dimensions& dimensions = model.dimensions();
  const double count = count_states(states) * size(dimensions.layers) + 1;
  const double numbers =
      rows * count * (sizeof(float) * size(dimensions.width) + sizeof(LensReading));
  return static_cast<std::uint64_t>(numbers + kLogits);
}

double reading_flops(const Model& model, double rows, const LensStates& states) {
  const Dimensions& dimensions = model.dimensions();
  return 2 * rows * (count_states(states) * size(dimensions.layers) + 1) * size(dimensions.width) *
         size(dimensions.vocabulary.value_or(0));
}

Cost lens_cost(const WorkItem& item, const ModelSource& source) {
  Cost cost = batch_cost(item, source);
  const LensStates states = states_of(item);
  double rows = 0;
  for (const TokenIds& ids : item.batch->tokens) rows += size(std::ssize(ids));
  cost.flops += reading_flops(*source.model, rows, states);
  cost.memory_bytes += reading_bytes(*source.model, rows, states);
  return cost;
}

void add_lens_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  inputs.add("mask", mask_parameter(item));
}

/// Adds up batches and emits the rows of a model after its last batch.
class LensRows {
 public:
  explicit LensRows(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    if (place.model != model_) finish();
    model_ = place.model;
    for (const Outcome& outcome : outcomes) {
      sums_[read_state(outcome.fields)].add(read_sums(outcome.fields));
    }
  }

  void finish() {
    for (const auto& [state, sums] : sums_) {
      Record row = {{"model", model_},
                    {"layer", state.layer},
                    {"state", std::string(state_name(state))},
                    {"positions", sums.places},
                    {"predicted", std::ssize(sums.ranks)}};
      add_lens_means(row, sums);
      sink_.add_row(std::move(row));
    }
    sums_.clear();
    model_.clear();
  }

 private:
  RowSink& sink_;
  std::string model_;
  std::map<LensState, LensSums> sums_;
};

/// Decodes all tokens of one text, or of one target. Bidirectional models get no target tokens,
/// because they attend to each of them.
Lens lens_of_text(const ForwardPass& pass, const Prompt& prompt, const LensGridRequest& request,
                  std::span<BatchWatcher* const> watchers, const Compute& compute) {
  const std::span<const TokenIds> ids(&prompt.tokens, 1);
  ScoredPositions positions =
      prompt.source.empty() ? next_tokens(ids) : target_tokens(ids, std::span(&prompt.source, 1));
  if (!pass.model().spec().causal) positions.tokens.assign(positions.tokens.size(), -1);
  ItemEdits edits(pass, watchers, compute);
  const OpenedLens opened(request.states, pass.model());
  return read_lens(pass, positions, opened.choice(), request.top, compute, edits.maker());
}

Value::List mean_records(const Lens& lens) {
  Value::List list;
  for (std::size_t state = 0; state < lens.states.size(); ++state) {
    Record record = {{"layer", lens.states[state].layer},
                     {"state", std::string(state_name(lens.states[state]))}};
    add_lens_means(record, lens_sums(lens.readings[state]));
    list.emplace_back(std::move(record));
  }
  return list;
}

/// Uses the same fields as rows of `predict`.
Value::List top_list(const Prompt& prompt, const std::vector<TokenScore>& most_likely) {
  Value::List list;
  for (const TokenScore& score : most_likely) {
    Record fields;
    add_predicted(fields, prompt.tokenizer, score);
    list.emplace_back(std::move(fields));
  }
  return list;
}

void add_grid_rows(const std::string& model, const Prompt& prompt, const Lens& lens,
                   RowSink& sink) {
  const auto text_of = [&](std::int64_t id) { return token_value(prompt.tokenizer, id); };
  for (std::size_t state = 0; state < lens.states.size(); ++state) {
    for (std::size_t at = 0; at < lens.readings[state].size(); ++at) {
      const LensReading& reading = lens.readings[state][at];
      Record row = {{"model", model},
                    {"layer", lens.states[state].layer},
                    {"state", std::string(state_name(lens.states[state]))},
                    {"position", static_cast<std::int64_t>(at)},
                    {"token_id", prompt.tokens[at]},
                    {"text", text_of(prompt.tokens[at])}};
      if (!prompt.tokens.roles.empty()) row.add("message_role", role_value(prompt.tokens, at));
      row.add("top_token", reading.top.token)
          .add("top_text", text_of(reading.top.token))
          .add("probability", reading.top.probability)
          .add("rank", reading.final_rank)
          .add("entropy", reading.entropy)
          .add("kl", reading.divergence);
      if (!reading.most_likely.empty())
        row.add("top_tokens", top_list(prompt, reading.most_likely));
      sink.add_row(std::move(row));
    }
  }
}

}  // namespace

const Analysis& lens_analysis() {
  static constexpr Analysis analysis = {.name = "lens",
                                        .command = "lens",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = lens_outcomes,
                                        .cost = lens_cost,
                                        .add_inputs = add_lens_inputs,
                                        .make_rows = gathered_rows<LensRows>};
  return analysis;
}

void run_lens(std::span<const Model> models, const LensRequest& request, const Context& context,
              RowSink& sink) {
  Plan plan{.analysis = &lens_analysis(), .parameters = {}};
  add_states(plan.parameters, request.states);
  plan.parameters.add("tokens_hash", tokens_hash(request.texts.sequences, request.texts.sources,
                                                 request.texts.scored));
  add_edits_hash(plan.parameters, context, models);
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::vector<TokenIds>& sequences = request.texts.sequences[index];
    const std::vector<TokenIds>& sources = request.texts.sources_of(index);
    check_predicts_tokens(ready.pass(index), sequences, request.texts.masks[index], sources);
    const OpenedLens checked(request.states, models[index]);
    note_past_context(ready.pass(index), sequences, sources, sink);
    std::vector<std::int64_t> layers(static_cast<std::size_t>(models[index].dimensions().layers));
    std::iota(layers.begin(), layers.end(), std::int64_t{0});
    const std::size_t known = plan.items.size();
    const BatchInputs inputs{
        .tokens = sequences, .sources = sources, .scored = request.texts.scored_of(index)};
    add_batches(plan, index, models[index], inputs, layers);
    for (std::size_t item = known; item < plan.items.size(); ++item) {
      add_mask_parameter(plan.items[item], request.texts.masks[index]);
    }
  }
  ReportHead head{.command = "lens", .parameters = request.texts.parameters};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

void run_lens_grid(std::span<const Model> models, const LensGridRequest& request,
                   const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<Lens> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const TokenIds &ids = request.prompts[index].tokens, &source = request.prompts[index].source;
    constexpr MaskToken kNoneNeeded = 0;  // no position is masked
    std::vector<TokenIds> sources;
    if (!source.empty()) sources.push_back(source);
    check_predicts_tokens(ready.pass(index), {ids}, kNoneNeeded, sources);
    note_past_context(ready.pass(index), {ids}, sources, sink);
    const double rows = size(std::ssize(ids));
    items.push_back(
        {.flops = reading_flops(models[index], rows, request.states),
         .memory_bytes = run_bytes(models[index], 1, std::ssize(ids), std::ssize(source)) +
                         reading_bytes(models[index], rows, request.states),
         .run = [&, index](const Compute& compute) {
           found[index] = lens_of_text(ready.pass(index), request.prompts[index], request,
                                       context.watchers, compute);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = {{"grid", true}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  add_states(head.parameters, request.states);
  if (request.top > 1) head.parameters.add("top", request.top);
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(summarize(models[index]));
    facts.add("states", mean_records(found[index]));
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    add_grid_rows(models[index].name(), request.prompts[index], found[index], sink);
  }
  sink.end();
}

}  // namespace attnscope
