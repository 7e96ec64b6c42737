// `ablate --prompts`: which parts of a model make it prefer the right answer to the wrong one.
#include <optional>
#include <utility>

#include "attnscope/analyses/ablate.h"
#include "attnscope/analyses/ablation_parts.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/forward/patching.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

struct PatchedLayer {
  std::size_t model = 0;
  std::int64_t layer = 0;
  AskedParts parts;
  LayerPatch found;
};

void add_patch_rows(const Model& model, const PatchedLayer& layer, const std::string& how,
                    RowSink& sink) {
  const LayerPatch& found = layer.found;
  const Preference preference = preference_of(found.clean, found.corrupted);
  for (const PatchEffect& effect : found.effects) {
    const MeanWithError restored = share_of(effect.restored, found.corrupted, preference);
    const MeanWithError destroyed = share_of(found.clean, effect.destroyed, preference);
    Record row = {{"model", model.name()},
                  {"layer", layer.layer},
                  {"head", effect.part.head},
                  {"component", part_name(effect.part.part)},
                  {"how", how},
                  {"restored", restored.mean},
                  {"restored_error", restored.standard_error},
                  {"destroyed", destroyed.mean},
                  {"destroyed_error", destroyed.standard_error}};
    add_preference(row, preference, found.clean.size());
    sink.add_row(std::move(row));
  }
}

}  // namespace

void run_ablate_prompts(std::span<const Model> models, const AblatePromptsRequest& request,
                        const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  const std::optional<Replacement> how =
      request.how.empty() ? std::nullopt : std::optional(replacement_named(request.how));
  std::vector<PatchedLayer> layers;
  for (std::size_t index = 0; index < models.size(); ++index) {
    check_answers(ready.pass(index), request.prompts.of_models[index]);
    note_long_prompts(ready.pass(index), request.prompts.of_models[index], sink);
    const std::vector<std::int64_t> chosen = attention_layers(request.layers, models[index], &sink);
    const AskedParts parts =
        parts_named(parts_or_usual(request.parts, models[index], chosen, sink));
    for (const std::int64_t layer : chosen) {
      layers.push_back({.model = index, .layer = layer, .parts = parts, .found = {}});
    }
  }
  std::vector<QueueItem> items;
  for (PatchedLayer& layer : layers) {
    const Model& model = models[layer.model];
    const AnsweredPrompts& prompts = request.prompts.of_models[layer.model];
    const PromptTokens tokens = prompt_tokens(prompts);
    const AblationRows rows{.all = tokens.all, .longest = tokens.longest};
    items.push_back({.flops = ablation_flops(layer.parts, model, layer.layer, rows),
                     .memory_bytes = ablation_bytes(model, rows),
                     .run = [&](const Compute& compute) {
                       layer.found = patch_layer(ready.pass(layer.model), prompts, layer.layer,
                                                 layer.parts, how, compute);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"layer", "layers"});

  ReportHead head{.command = "ablate", .parameters = request.prompts.parameters};
  head.parameters.add("how", how ? request.how : "corrupted")
      .add("layers", request.layers.parameter());
  for (const Model& model : models) head.models.push_back(facts_record(model_facts(model)));
  sink.begin(head);
  std::optional<std::size_t> noted;
  for (const PatchedLayer& layer : layers) {
    const Model& model = models[layer.model];
    add_patch_rows(model, layer, how ? request.how : "corrupted", sink);
    if (noted == layer.model) continue;
    note_preference(model.name(), preference_of(layer.found.clean, layer.found.corrupted), sink);
    noted = layer.model;
  }
  sink.end();
}

}  // namespace attnscope
