#include "attnscope/features/lens/run.h"

#include <map>
#include <numeric>
#include <utility>

#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/lens/logit_lens.h"

namespace attnscope {
namespace {

std::vector<Outcome> lens_outcomes(const WorkItem& item, const ModelSource& source,
                                   const Compute& compute) {
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  const ScoredPositions positions = scored_positions(item);
  RunEdits edits(pass, source.watchers);
  const Lens lens = read_lens(pass, positions, expect<bool>(item.parameters, "resid_mid"),
                              /*most_likely=*/1, compute, edits.hooks());
  std::vector<Outcome> outcomes;
  for (std::size_t state = 0; state < lens.states.size(); ++state) {
    const LensSums sums = lens_sums(lens.readings[state]);
    outcomes.push_back({.fields = sums_record(lens.states[state], sums)});
  }
  return outcomes;
}

double size(std::int64_t count) { return static_cast<double>(count); }

/// Number of decoded residual-stream states per layer.
double states_of_layer(bool middles) { return middles ? 2 : 1; }

/// Memory for decoding that many rows, in addition to the forward pass: the states and two blocks
/// of logits.
std::uint64_t reading_bytes(const Model& model, double rows, bool middles) {
  constexpr double kLogits = 2.0 * (64 << 20);
  const Dimensions& dimensions = model.dimensions();
  const double states = states_of_layer(middles) * size(dimensions.layers) + 1;
  const double numbers =
      rows * states * (sizeof(float) * size(dimensions.width) + sizeof(LensReading));
  return static_cast<std::uint64_t>(numbers + kLogits);
}

double reading_flops(const Model& model, double rows, bool middles) {
  const Dimensions& dimensions = model.dimensions();
  return 2 * rows * (states_of_layer(middles) * size(dimensions.layers) + 1) *
         size(dimensions.width) * size(dimensions.vocabulary.value_or(0));
}

Cost lens_cost(const WorkItem& item, const ModelSource& source) {
  Cost cost = batch_cost(item, source);
  const bool middles = expect<bool>(item.parameters, "resid_mid");
  double rows = 0;
  for (const TokenIds& ids : item.batch->tokens) rows += size(std::ssize(ids));
  cost.flops += reading_flops(*source.model, rows, middles);
  cost.memory_bytes += reading_bytes(*source.model, rows, middles);
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
  RunEdits edits(pass, watchers);
  return read_lens(pass, positions, request.middles, request.top, compute, edits.hooks());
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
                    {"text", text_of(prompt.tokens[at])},
                    {"top_token", reading.top.token},
                    {"top_text", text_of(reading.top.token)},
                    {"probability", reading.top.probability},
                    {"rank", reading.final_rank},
                    {"entropy", reading.entropy},
                    {"kl", reading.divergence}};
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
  Plan plan{.analysis = &lens_analysis(), .parameters = {{"resid_mid", request.middles}}};
  plan.parameters.add("tokens_hash", tokens_hash(request.texts.sequences, request.texts.sources,
                                                 request.texts.scored));
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::vector<TokenIds>& sequences = request.texts.sequences[index];
    const std::vector<TokenIds>& sources = request.texts.sources_of(index);
    check_predicts_tokens(ready.pass(index), sequences, request.texts.masks[index], sources);
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
        {.flops = reading_flops(models[index], rows, request.middles),
         .memory_bytes = run_bytes(models[index], 1, std::ssize(ids), std::ssize(source)) +
                         reading_bytes(models[index], rows, request.middles),
         .run = [&, index](const Compute& compute) {
           found[index] = lens_of_text(ready.pass(index), request.prompts[index], request,
                                       context.watchers, compute);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = {{"grid", true}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  head.parameters.add("resid_mid", request.middles);
  if (request.top > 1) head.parameters.add("top", request.top);
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

// `lens --prompts`: from which layer on a model prefers the correct answer.
namespace {

/// Approximate number of rows of texts that run together.
constexpr std::int64_t kLensRows = 512;

/// Differences for all texts, in batches.
LensDifferences differences_of(const ForwardPass& pass, const std::vector<TokenIds>& texts,
                               const AnsweredPrompts& prompts, bool middles,
                               const Compute& compute) {
  LensDifferences out;
  for (std::size_t first = 0; first < texts.size();) {
    std::size_t end = first;
    std::int64_t rows = 0;
    while (end < texts.size() && (end == first || rows + std::ssize(texts[end]) <= kLensRows)) {
      rows += std::ssize(texts[end++]);
    }
    const auto part = [&](const auto& all) { return std::span(all).subspan(first, end - first); };
    LensDifferences found = read_lens_differences(pass, part(texts), part(prompts.right),
                                                  part(prompts.wrong), middles, compute);
    out.states = std::move(found.states);
    out.differences.resize(out.states.size());
    for (std::size_t state = 0; state < out.states.size(); ++state) {
      std::vector<double>& all = out.differences[state];
      all.insert(all.end(), found.differences[state].begin(), found.differences[state].end());
    }
    first = end;
  }
  return out;
}

struct FoundDifferences {
  LensDifferences clean, corrupted;

  /// Differences of all prompts; empty without corrupted prompts.
  std::vector<double> corrupted_at(std::size_t state) const {
    return corrupted.differences.empty() ? std::vector<double>() : corrupted.differences[state];
  }

  Preference preference(std::size_t state) const {
    return preference_of(clean.differences[state], corrupted_at(state));
  }

  /// Preference at the final state, which is the model's own prediction.
  Preference preference() const { return preference(clean.states.size() - 1); }
};

void add_difference_rows(const std::string& model, const FoundDifferences& found, RowSink& sink) {
  const Preference whole = found.preference();
  for (std::size_t state = 0; state < found.clean.states.size(); ++state) {
    const std::vector<double>& clean = found.clean.differences[state];
    RunningMean right;
    for (const double difference : clean) right.add(difference > 0 ? 1.0 : 0.0);
    const Preference here = found.preference(state);
    const MeanWithError share = share_of(clean, found.corrupted_at(state), whole);
    sink.add_row({{"model", model},
                  {"layer", found.clean.states[state].layer},
                  {"state", std::string(state_name(found.clean.states[state]))},
                  {"logit_difference", here.clean},
                  {"logit_difference_error", mean_over_prompts(clean).standard_error},
                  {"corrupted_logit_difference", here.corrupted},
                  {"share", share.mean},
                  {"share_error", share.standard_error},
                  {"preference_accuracy", right.result().mean},
                  {"prompts", std::ssize(clean)}});
  }
}

}  // namespace

void run_lens_prompts(std::span<const Model> models, const LensPromptsRequest& request,
                      const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<FoundDifferences> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const AnsweredPrompts& prompts = request.prompts.of_models[index];
    check_answers(ready.pass(index), prompts);
    note_long_prompts(ready.pass(index), prompts, sink);
    const TextRows tokens = prompt_rows(prompts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(tokens.all),
         .memory_bytes = run_bytes(models[index].spec(), 1, std::max(kLensRows, tokens.longest)),
         .run = [&, index](const Compute& compute) {
           const ForwardPass& pass = ready.pass(index);
           found[index].clean =
               differences_of(pass, prompts.clean, prompts, request.middles, compute);
           found[index].corrupted =
               differences_of(pass, prompts.corrupted, prompts, request.middles, compute);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = request.prompts.parameters};
  head.parameters.add("resid_mid", request.middles);
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    note_preference(models[index].name(), found[index].preference(), sink);
    add_difference_rows(models[index].name(), found[index], sink);
  }
  sink.end();
}

}  // namespace attnscope
