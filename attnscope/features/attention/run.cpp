#include "attnscope/features/attention/run.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/content_hash.h"
#include "attnscope/features/attention/activations_of_batch.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

bool predicts_next(const Model& model) { return model.spec().causal || model.stack() == "cross"; }

/// The numbers of windows that have the same patches and regions, and so the same values under
/// uniform attention.
std::vector<std::vector<std::size_t>> alike_windows(std::span<const PatchWindow> windows) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t at = 0; at < windows.size(); ++at) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      const PatchWindow& other = windows[group.front()];
      return other.grid == windows[at].grid && other.regions == windows[at].regions;
    });
    if (known == groups.end()) {
      groups.push_back({at});
    } else {
      known->push_back(at);
    }
  }
  return groups;
}

/// Without padding, the mask of a window with a single region shows all keys.
std::vector<std::int64_t> uniform_regions(const PatchWindow& window) {
  if (!window.regions.empty()) return window.regions;
  if (window.count() == std::ssize(window.places)) return {};
  return std::vector<std::int64_t>(window.places.size(), 0);
}

std::vector<Outcome> attention_outcomes(const WorkItem& item, const ModelSource& source,
                                        const Compute& compute) {
  AttentionMapOptions options{
      .energy = expect<double>(item.parameters, "energy"),
      .exclude_first_token = expect<bool>(item.parameters, "exclude_first_token"),
      .across = source.model->stack() == "cross"};
  if (!item.batch->scored.empty()) {
    // A batch contains sequences with the same scored positions.
    options.queries = scored_rows(item.batch->scored.front(), predicts_next(*source.model));
  }
  // The sequences of a batch have the same texts.
  if (!options.across && !item.batch->tokens.empty()) {
    options.texts = item.batch->tokens.front().texts;
  }
  const std::vector<LayerSpec>& layers = source.model->spec().layers;
  std::vector<Outcome> outcomes;
  AttendedTokenEffects effects(item, compute);
  ActivationsOfBatch activations(item, options, compute);
  const auto extend = [&](const ForwardPass& pass, ForwardObserver& observer) {
    effects.watch(pass, observer);
    activations.watch(pass, observer);
  };
  const auto look = [&](const LayerMaps& layer) {
    const MaskSpec& mask = layers[static_cast<std::size_t>(layer.layer)].attention.mask;
    options.causal = mask.causal;
    const auto measure = [&](std::span<const MatrixView<const float>> maps,
                             const std::optional<PatchGrid>& grid,
                             std::vector<std::int64_t> regions) {
      options.grid = grid;
      const MatrixView<const float>& map = maps.front();
      outcomes.push_back(attention_outcome(
          layer.layer, layer.heads, measure_attention_maps(maps, options, compute),
          {.tokens = map.cols,
           .mask = mask_of(mask),
           .queries = options.across ? std::optional(map.rows) : std::nullopt,
           .grid = grid,
           .chosen = options.queries,
           .texts = options.texts,
           .regions = std::move(regions)},
          options));
    };
    if (layer.windows.empty()) return measure(layer.maps, layer.grid, {});
    const auto heads = static_cast<std::size_t>(layer.heads);
    for (const std::vector<std::size_t>& group : alike_windows(layer.windows)) {
      std::vector<MatrixView<const float>> maps;
      for (std::size_t first = 0; first < layer.maps.size();
           first += layer.windows.size() * heads) {
        for (const std::size_t window : group) {
          const auto own = std::span(layer.maps).subspan(first + window * heads, heads);
          maps.insert(maps.end(), own.begin(), own.end());
        }
      }
      const PatchWindow& window = layer.windows[group.front()];
      measure(maps, window.grid, uniform_regions(window));
    }
  };
  run_batch(item, source, compute, look, extend);
  effects.add_to(outcomes);
  activations.add_to(outcomes);
  return outcomes;
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
