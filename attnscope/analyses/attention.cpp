#include "attnscope/analyses/attention.h"

#include "attnscope/analyses/attention_outcomes.h"
#include "attnscope/analyses/raises_of_batch.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analysis/attention_map.h"
#include "attnscope/forward/layer_run.h"

namespace attnscope {
namespace {

std::vector<Outcome> attention_outcomes(const WorkItem& item, const ModelSource& source,
                                        const Compute& compute) {
  AttentionMapOptions options{.energy = expect<double>(item.parameters, "energy"),
                              .without_first = expect<bool>(item.parameters, "without_first"),
                              .across = source.model->stack() == "cross"};
  const std::vector<LayerSpec>& layers = source.model->spec().layers;
  std::vector<Outcome> outcomes;
  RaisesOfBatch raises(item, compute);
  const auto extend = [&](const ForwardPass& pass, ForwardObserver& observer) {
    raises.watch(pass, observer);
  };
  const auto look = [&](const LayerMaps& layer) {
    const MaskSpec& mask = layers[static_cast<std::size_t>(layer.layer)].attention.mask;
    options.causal = mask.causal;
    options.grid = layer.grid;
    const MatrixView<const float>& map = layer.maps.front();
    outcomes.push_back(attention_outcome(
        layer.layer, layer.heads, measure_attention_maps(layer.maps, options, compute),
        {.tokens = map.cols,
         .mask = mask_of(mask),
         .queries = options.across ? std::optional(map.rows) : std::nullopt,
         .grid = layer.grid},
        options));
  };
  run_batch(item, source, compute, look, extend);
  raises.add_to(outcomes);
  return outcomes;
}

}  // namespace

const Analysis& attention_analysis() {
  static constexpr Analysis analysis = {.name = "attention",
                                        .command = "attention",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = attention_outcomes,
                                        .cost = batch_cost,
                                        .add_inputs = add_batch_inputs,
                                        .make_rows = attention_row_maker};
  return analysis;
}

void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink) {
  Plan plan{.analysis = &attention_analysis(), .parameters = request.options};
  std::vector<Signal> all;
  for (const auto& images : request.images) all.insert(all.end(), images.begin(), images.end());
  plan.parameters.add("layers", request.layers.parameter())
      .add("tokens_hash",
           all.empty() ? tokens_hash(request.sequences, request.sources) : signals_hash(all));
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::vector<std::int64_t> layers = attention_layers(request.layers, model, &sink);
    if (!request.images.empty()) {
      const std::vector<Signal>& images = request.images[index];
      for (const Signal& image : images) ready.pass(index).length_of(image);
      add_batches(plan, index, images, ready.pass(index).length_of(images.front()), layers);
      continue;
    }
    const std::span<const TokenIds> sources =
        request.sources.empty() ? std::span<const TokenIds>() : request.sources[index];
    for (const TokenIds& sequence : request.sequences[index]) ready.pass(index).check(sequence);
    for (const TokenIds& source : sources) ready.pass(index).encoder()->check(source);
    const std::size_t known = plan.items.size();
    add_batches(plan, index, request.sequences[index], layers, sources);
    if (!sources.empty()) continue;  // of two texts no head raises what it reads
    RaisesOfBatch::prepare(ready.pass(index), request.sequences[index],
                           std::span(plan.items).subspan(known));
  }
  ReportHead head{.command = "attention", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
