#include "attnscope/features/ablate/run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/ablate/components.h"
#include "attnscope/features/ablate/effect_certainty.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/interventions/activation_patching.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

AblationRequest request_of(const WorkItem& item, const Model& model) {
  return {.place = {.layer = item.batch->layers.front(), .of = stack_of(item, model)},
          .parts = parts_named(expect<std::string>(item.parameters, "components")),
          .how = replacement_named(expect<std::string>(item.parameters, "ablation"))};
}

std::vector<Outcome> ablate_outcomes(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  const ItemPass ready(source, compute, /*predicts_tokens=*/true);
  const LayerAblation found =
      ablate_layer(*ready, scored_positions(item), request_of(item, *source.model), compute);
  std::vector<Outcome> outcomes;
  for (const AblationEffect& effect : found.effects) {
    Record fields = {{"component", part_name(effect.part.part)},
                     {"layer", item.batch->layers.front()},
                     {"ablation", expect<std::string>(item.parameters, "ablation")},
                     {"clean_loss", found.loss},
                     {"loss", effect.predictions.loss},
                     {"kl", effect.predictions.kl},
                     {"top_token_changed", effect.predictions.changed},
                     {"predicted", found.predicted},
                     {"positions", found.places}};
    if (!effect.direct.empty()) fields.add("direct_effect", effect.direct);
    outcomes.push_back({.head = effect.part.head, .fields = std::move(fields)});
  }
  return outcomes;
}

Cost ablate_cost(const WorkItem& item, const ModelSource& source) {
  const AblationRequest request = request_of(item, *source.model);
  const AblationRows rows = rows_of(*item.batch);
  return {.flops = ablation_flops(request.parts, *source.model, request.place.layer, rows),
          .memory_bytes = ablation_bytes(*source.model, rows)};
}

void add_ablate_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  inputs.add("mask", mask_parameter(item))
      .add("components", expect<std::string>(item.parameters, "components"));
}

Record ablate_row(const RowPlace& place, const Outcome& outcome) {
  const Record& fields = outcome.fields;
  const auto& clean = expect_vector<double>(fields, "clean_loss");
  const auto& predicted = expect_vector<std::int64_t>(fields, "predicted");
  const auto& places = expect_vector<std::int64_t>(fields, "positions");
  const auto numbers = [&](const char* name) {
    const auto& values = expect_vector<double>(fields, name);
    if (values.size() != clean.size() || predicted.size() != clean.size() ||
        places.size() != clean.size()) {
      refuse_field(name);
    }
    return values;
  };
  std::vector<double> increase = numbers("loss");
  for (std::size_t at = 0; at < increase.size(); ++at) increase[at] -= clean[at];
  const MeanWithError found = mean_over(increase, predicted);
  Record row = {{"model", place.model},
                {"layer", expect<std::int64_t>(fields, "layer")},
                {"head", outcome.head},
                {"component", expect<std::string>(fields, "component")},
                {"ablation", expect<std::string>(fields, "ablation")},
                {"loss_increase", found.mean},
                {"loss_increase_error", found.standard_error},
                {"kl", mean_over(numbers("kl"), places).mean},
                {"top_token_changed", mean_over(numbers("top_token_changed"), places).mean}};
  const bool linear = fields.find("direct_effect") != nullptr;
  const MeanWithError direct =
      linear ? mean_over(numbers("direct_effect"), predicted) : MeanWithError();
  row.add("direct_effect", direct.mean)
      .add("direct_effect_error", direct.standard_error)
      .add("loss", mean_over(clean, predicted).mean);
  std::int64_t tokens = 0;
  for (const std::int64_t count : predicted) tokens += count;
  return row.add("predicted", tokens);
}

RowMaker make_ablate_rows(RowSink& sink) {
  return {.add = [&sink](const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) sink.add_row(ablate_row(place, outcome));
  }};
}

}  // namespace

const Analysis& ablate_analysis() {
  static constexpr Analysis analysis = {.name = "ablate",
                                        .command = "ablate",
                                        .items = {"layer", "layers"},
                                        .takes_batches = true,
                                        .compute = ablate_outcomes,
                                        .cost = ablate_cost,
                                        .add_inputs = add_ablate_inputs,
                                        .make_rows = make_ablate_rows};
  return analysis;
}

double ablate_flops(const Model& model, const std::string& parts, std::int64_t windows,
                    std::int64_t length, std::int64_t source) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    flops += ablation_flops(parts_named(parts), model, layer,
                            {.texts = {.all = windows * length, .longest = length},
                             .sources = {.all = windows * source, .longest = source}});
  }
  return flops;
}

void run_ablate(std::span<const Model> models, const AblateRequest& request, const Context& context,
                RowSink& sink) {
  const ScoredTexts& texts = request.texts;
  Plan plan{.analysis = &ablate_analysis(), .parameters = {{"ablation", request.how}}};
  plan.parameters.add("layers", request.layers.parameter())
      .add("tokens_hash", tokens_hash(texts.sequences, texts.sources, texts.scored));
  const ReadyModels ready(models, context, /*predicts_tokens=*/true);
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (request.how == "resample") check_resampling(texts, index);
    check_predicts_tokens(ready.pass(index), texts.sequences[index], texts.masks[index],
                          texts.sources_of(index));
    note_past_context(ready.pass(index), texts.sequences[index], texts.sources_of(index), sink);
    const std::string parts = parts_or_usual(request.parts, models[index], request.layers, sink);
    for (const std::int64_t layer :
         layers_with_parts(parts_named(parts), request.layers, models[index], sink)) {
      WorkItem& item = plan.add(index, std::nullopt);
      item.parameters.add("components", parts);
      add_mask_parameter(item, texts.masks[index]);
      item.batch = SequenceBatch{.first = 0,
                                 .tokens = texts.sequences[index],
                                 .layers = {layer},
                                 .sources = texts.sources_of(index),
                                 .scored = texts.scored_of(index)};
    }
  }
  const std::vector<ModelSource> sources = ready.sources();
  double flops = 0;
  std::int64_t variants = 0;
  for (const WorkItem& item : plan.items) {
    const Model& model = models[item.model];
    flops += ablate_cost(item, sources[item.model]).flops;
    const AblationRequest replaced = request_of(item, model);
    variants += count_parts(replaced.parts, model, replaced.place.layer);
  }
  constexpr double kLong = 1e12;  // takes several seconds
  if (flops > kLong) {
    sink.add_note(fmt::format("{} on {}: about {:.2g} TFLOPs", counted(variants, "replacement"),
                              counted(std::ssize(texts.sequences.front()), noun_of_text(texts)),
                              flops / 1e12));
  }
  ReportHead head{.command = "ablate", .parameters = request.texts.parameters};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, sources, std::move(head), ready.rest(), sink);
}

// `ablate --prompts`: the effect of each component on the logit difference.
namespace {

struct PatchedLayer {
  std::size_t model = 0;
  std::int64_t layer = 0;
  AskedParts parts;
  LayerPatch found;
  std::vector<EffectCertainties> certainties = {};  // of each effect
};

void add_certainties(PatchedLayer& layer, const std::vector<std::int64_t>& groups) {
  const LayerPatch& found = layer.found;
  const Preference preference = preference_of(found.clean, found.corrupted);
  const std::vector<double> wholes =
      preference.whole() > 0 ? preference.wholes : std::vector<double>();
  for (const PatchEffect& effect : found.effects) {
    EffectCertainties& added = layer.certainties.emplace_back();
    if (!effect.restored.empty()) {
      added.denoising =
          certainty_of(prompt_differences(effect.restored, found.corrupted), wholes, groups);
    }
    added.noising = certainty_of(prompt_differences(found.clean, effect.destroyed), wholes, groups);
  }
}

void add_patch_rows(const Model& model, const PatchedLayer& layer, const std::string& how,
                    EffectRows& rows) {
  const LayerPatch& found = layer.found;
  const Preference preference = preference_of(found.clean, found.corrupted);
  for (std::size_t at = 0; at < found.effects.size(); ++at) {
    const PatchEffect& effect = found.effects[at];
    const MeanWithError restored = share_of(effect.restored, found.corrupted, preference);
    const MeanWithError destroyed = share_of(found.clean, effect.destroyed, preference);
    Record row = {{"model", model.name()},
                  {"layer", layer.layer},
                  {"head", effect.part.head},
                  {"component", part_name(effect.part.part)},
                  {"ablation", how},
                  {"denoising_effect", restored.mean},
                  {"denoising_effect_error", restored.standard_error},
                  {"noising_effect", destroyed.mean},
                  {"noising_effect_error", destroyed.standard_error}};
    add_preference(row, preference, found.clean.size());
    rows.add(std::move(row), layer.certainties[at]);
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
    const AskedParts parts =
        parts_named(parts_or_usual(request.parts, models[index], request.layers, sink));
    for (const std::int64_t layer : layers_with_parts(parts, request.layers, models[index], sink)) {
      layers.push_back({.model = index, .layer = layer, .parts = parts, .found = {}});
    }
  }
  std::vector<QueueItem> items;
  for (PatchedLayer& layer : layers) {
    const Model& model = models[layer.model];
    const AnsweredPrompts& prompts = request.prompts.of_models[layer.model];
    const AblationRows rows{.texts = prompt_rows(prompts), .sources = {}};
    items.push_back({.flops = ablation_flops(layer.parts, model, layer.layer, rows),
                     .memory_bytes = ablation_bytes(model, rows),
                     .run = [&](const Compute& compute) {
                       layer.found = patch_layer(ready.pass(layer.model), prompts, layer.layer,
                                                 layer.parts, how, compute);
                       add_certainties(layer, request.prompts.groups);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"layer", "layers"});

  ReportHead head{.command = "ablate", .parameters = request.prompts.parameters};
  head.parameters.add("ablation", how ? request.how : "corrupted")
      .add("layers", request.layers.parameter());
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  write_effect_rows(
      models, request.prompts, layers, sink,
      [&](const Model& model, const PatchedLayer& layer, EffectRows& rows) {
        add_patch_rows(model, layer, how ? request.how : "corrupted", rows);
      },
      [&](const Model& model, const PatchedLayer& layer) {
        const LayerPatch& found = layer.found;
        note_preference(model.name(), preference_of(found.clean, found.corrupted), sink);
      });
  sink.end();
}

}  // namespace attnscope
