#include "attnscope/features/attention/run.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/features/attention/measured_batch.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/text_length.h"

namespace attnscope {
namespace {

std::vector<Outcome> attention_outcomes(const WorkItem& item, const ModelSource& source,
                                        const Compute& compute) {
  MeasuredBatch measured(item, *source.model, compute);
  run_batch(
      item, source, compute, [&](const LayerMaps& maps) { measured.add_maps(maps); },
      [&](const ForwardPass& pass, ForwardObserver& observer) { measured.watch(pass, observer); });
  return measured.take();
}

/// The cost of the pass plus the cost of head outputs: another product with the output projection,
/// whose rows are kept in memory.
Cost attention_cost(const WorkItem& item, const ModelSource& source) {
  Cost cost = batch_cost(item, source);
  const SequenceBatch& batch = *item.batch;
  const std::int64_t tokens = rows_of(
      *source.model,
      {.tokens = batch.tokens, .media_inputs = batch.media_inputs, .sources = batch.sources});
  const Dimensions dimensions = largest_dimensions(source.model->spec());
  const double numbers = static_cast<double>(batch.count()) * static_cast<double>(tokens) *
                         static_cast<double>(dimensions.width);
  cost.flops += 2 * numbers * static_cast<double>(dimensions.heads.total_dim(Role::output)) *
                static_cast<double>(batch.layers.size());
  cost.memory_bytes += static_cast<std::uint64_t>(2 * sizeof(float) * numbers);
  return cost;
}

std::string inputs_hash(const AttentionRequest& request) {
  std::vector<MediaInput> all;
  for (const auto& media_inputs : request.media_inputs)
    all.insert(all.end(), media_inputs.begin(), media_inputs.end());
  if (all.empty()) return tokens_hash(request.sequences, request.sources, request.scored);
  const bool has_tokens = std::any_of(request.sequences.begin(), request.sequences.end(),
                                      [](const auto& of_model) { return !of_model.empty(); });
  if (!has_tokens) return media_hash(all);
  return content_hash(tokens_hash(request.sequences) + media_hash(all));
}

}  // namespace

BatchInputs AttentionRequest::inputs_of(std::size_t model) const {
  BatchInputs inputs;
  if (model < sequences.size()) inputs.tokens = sequences[model];
  if (model < media_inputs.size()) inputs.media_inputs = media_inputs[model];
  if (model < sources.size()) inputs.sources = sources[model];
  if (model < scored.size()) inputs.scored = scored[model];
  return inputs;
}

const Analysis& attention_analysis() {
  static constexpr Analysis analysis = {.name = "attention",
                                        .command = "attention",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = attention_outcomes,
                                        .cost = attention_cost,
                                        .add_inputs = add_batch_inputs,
                                        .make_rows = attention_row_maker};
  return analysis;
}

void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink) {
  Plan plan{.analysis = &attention_analysis(), .parameters = request.options};
  plan.parameters.add("layers", request.layers.parameter())
      .add("tokens_hash", inputs_hash(request));
  add_edits_hash(plan.parameters, context, models);
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::vector<std::int64_t> layers = attention_layers(request.layers, model, &sink);
    const BatchInputs inputs = request.inputs_of(index);
    check_inputs(ready.pass(index), inputs);
    note_past_context(ready.pass(index), inputs, sink);
    const std::size_t known = plan.items.size();
    add_batches(plan, index, model, inputs, layers, BatchOf::alike);
    // Effects on attended tokens require that queries and keys are tokens of the same text.
    if (!inputs.sources.empty() || !inputs.media_inputs.empty()) continue;
    AttendedTokenEffects::prepare(ready.pass(index), inputs.tokens,
                                  std::span(plan.items).subspan(known));
  }
  ReportHead head{.command = "attention", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
