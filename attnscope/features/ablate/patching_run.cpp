#include "attnscope/features/ablate/patching_run.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/ablate/metric_effects.h"
#include "attnscope/features/ablate/run.h"
#include "attnscope/features/common/fields.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/interventions/position_patching.h"

namespace attnscope {
namespace {

// In the order of PatchedKind: names in rows, and in --components.
constexpr std::array kPatchedKindNames = {"resid_pre", "attention", "mixer", "mlp",
                                          "head",      "q",         "k",     "v"};
constexpr std::array kPatchedKindChoices = {"resid_pre", "attention", "mixer", "mlp",
                                            "heads",     "q",         "k",     "v"};

std::string_view patched_kind_name(PatchedKind kind) {
  return kPatchedKindNames[static_cast<std::size_t>(kind)];
}

std::vector<PatchedKind> patched_kinds_named(const std::vector<std::string>& names) {
  std::vector<PatchedKind> out;
  for (std::size_t at = 0; at < kPatchedKindNames.size(); ++at) {
    const auto kind = static_cast<PatchedKind>(at);
    const bool is_default = kind <= PatchedKind::head;  // residual stream and components
    const bool is_layer = is_default && kind != PatchedKind::head && kind != PatchedKind::resid_pre;
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return name == kPatchedKindChoices[at] || (name == "all" && is_default) ||
                 (name == "layers" && is_layer);
        })) {
      out.push_back(kind);
    }
  }
  return out;
}

/// The kinds for one model. By default all components, but no heads if the layers have many.
std::vector<PatchedKind> patched_kinds_of(const PatchingRequest& request, const Model& model,
                                          RowSink& sink) {
  if (!request.components.empty()) return patched_kinds_named(request.components);
  std::int64_t heads = 0;
  for (const std::int64_t layer : request.layers.resolve(model.dimensions().layers, model.name())) {
    if (model.dimensions().attends(layer)) heads += model.spec().dimensions_of(layer).heads.heads;
  }
  std::vector<PatchedKind> out = patched_kinds_named({"all"});
  if (heads <= kUsualHeads) return out;
  std::erase(out, PatchedKind::head);
  sink.add_note(model.name() + ": heads are not patched one at a time, because its " +
                std::to_string(heads) +
                " heads take long; pass {components} all, or fewer {layers}");
  return out;
}

struct PositionPatchLayer {
  std::size_t model = 0;
  PositionPatchRequest request;
  PositionPatch found = {};
  std::vector<EffectCertainties> certainties = {};  // of each effect

  MetricGap gap() const { return {.clean = found.clean, .corrupted = found.corrupted}; }
  void add_certainties(const std::vector<std::int64_t>& groups) {
    for (const PositionPatchEffect& effect : found.effects) {
      certainties.push_back(certainties_of(gap(), effect.denoised, effect.noised, groups));
    }
  }
};

/// Positions and tokens of the places of one model.
struct PatchedPlaces {
  std::vector<NamedPlace> places;
  std::vector<Value> labels;  // text of the token, or the label of the prompt file
};

PatchedPlaces patched_places_of(const PatchingRequest& request, std::size_t index,
                                const Model& model) {
  const AnsweredPrompts& prompts = request.prompts.of_models[index];
  PatchedPlaces out{
      .places = patched_places(request.positions, prompts.clean, request.prompts.labels),
      .labels = {}};
  const auto tokenizer = Tokenizer::find(model.checkpoint().folder());
  for (const NamedPlace& place : out.places) {
    Value& label = out.labels.emplace_back();
    if (!place.label.empty()) {
      label = place.label;
    } else if (place.position && tokenizer) {
      const auto row = static_cast<std::size_t>(place.rows.front().front());
      label = token_value(&*tokenizer, prompts.clean.front()[row]);
    }
  }
  return out;
}

std::vector<PositionPatchLayer> patched_layers_of(const PatchingRequest& request, std::size_t index,
                                                  const ForwardPass& pass,
                                                  const PatchedPlaces& places, RowSink& sink) {
  const Model& model = pass.model();
  const std::vector<PatchedKind> kinds = patched_kinds_of(request, model, sink);
  const PromptMeasure measure = prompt_measure(metric_named(request.metric), *request.scored,
                                               request.prompts.of_models[index].clean);
  std::vector<PositionPatchLayer> out;
  for (const std::int64_t layer : request.layers.resolve(model.dimensions().layers, model.name())) {
    PositionPatchLayer& added = out.emplace_back();
    added.model = index;
    added.request = {.layer = layer,
                     .parts = patched_parts(pass, layer, kinds),
                     .measure = measure,
                     .directions = request.directions};
    for (const NamedPlace& place : places.places) added.request.places.push_back(place.rows);
    if (added.request.parts.empty()) out.pop_back();
  }
  if (!out.empty()) return out;
  throw Error(ErrorKind::usage, {.parameter = "components",
                                 .problem = verbatim(model.name()) +
                                            ": the selected layers have none of these components"});
}

double patching_flops(const ForwardPass& pass, const AnsweredPrompts& prompts,
                      const PositionPatchRequest& request) {
  const Model& model = pass.model();
  return position_patch_runs(pass, prompts, request) *
         static_cast<double>(prompt_rows(prompts).all) * layer_parameters(model) *
         static_cast<double>(model.dimensions().layers);
}

void add_patching_rows(const Model& model, const PositionPatchLayer& layer,
                       const PatchedPlaces& places, EffectRows& rows) {
  const MetricGap gap = layer.gap();
  const std::size_t count = places.places.size();
  for (std::size_t at = 0; at < layer.found.effects.size(); ++at) {
    const PatchedPart& part = layer.request.parts[at / count];
    const NamedPlace& place = places.places[at % count];
    Record row = {{"model", model.name()},      {"layer", layer.request.layer},
                  {"head", part.head},          {"component", patched_kind_name(part.kind)},
                  {"position", place.position}, {"token", places.labels[at % count]}};
    add_effects(row, gap, layer.found.effects[at].denoised, layer.found.effects[at].noised);
    rows.add(std::move(row), layer.certainties[at]);
  }
}

}  // namespace

std::string patching_name(const PatchDirections& directions) {
  if (directions.denoising && directions.noising) return "both";
  return directions.denoising ? "denoising" : "noising";
}

PatchingRequest patching_request(const Arguments& arguments, PromptsRequest prompts,
                                 const ScorePositions& scored) {
  const std::string patching = arguments.text("patching");
  return {
      .prompts = std::move(prompts),
      .layers = arguments.layers("layers"),
      .components = arguments.texts("components"),
      .positions = arguments.given("patch_positions") ? arguments.text("patch_positions") : "all",
      .metric = arguments.text("metric"),
      .directions = {.denoising = patching != "noising", .noising = patching != "denoising"},
      .scored = &scored};
}

void run_patching(std::span<const Model> models, const PatchingRequest& request,
                  const Context& context, RowSink& sink) {
  if (request.prompts.of_models.front().corrupted.empty()) {
    throw Error(ErrorKind::usage, {.parameter = "patch_positions",
                                   .problem = "activation patching requires corrupted prompts",
                                   .hint = "add a 'corrupted' text to each prompt"});
  }
  const ReadyModels ready(models, context);
  std::vector<PatchedPlaces> places;
  std::vector<PositionPatchLayer> layers;
  for (std::size_t index = 0; index < models.size(); ++index) {
    check_answers(ready.pass(index), request.prompts.of_models[index]);
    note_long_prompts(ready.pass(index), request.prompts.of_models[index], sink);
    places.push_back(patched_places_of(request, index, models[index]));
    for (PositionPatchLayer& layer :
         patched_layers_of(request, index, ready.pass(index), places.back(), sink)) {
      layers.push_back(std::move(layer));
    }
  }
  std::vector<QueueItem> items;
  double flops = 0;
  for (PositionPatchLayer& layer : layers) {
    const ForwardPass& pass = ready.pass(layer.model);
    const AnsweredPrompts& prompts = request.prompts.of_models[layer.model];
    items.push_back({.flops = patching_flops(pass, prompts, layer.request),
                     .memory_bytes = position_patch_bytes(pass, prompts, layer.request),
                     .run = [&](const Compute& compute) {
                       layer.found = patch_positions(pass, prompts, layer.request, compute);
                       layer.add_certainties(request.prompts.groups);
                     }});
    flops += items.back().flops;
  }
  constexpr double kLong = 1e13;  // takes more than a minute on a few cores
  if (flops > kLong) sink.add_note(fmt::format("patching takes about {:.2g} TFLOPs", flops / 1e12));
  run_queue(items, ready.rest(), {}, {"layer", "layers"});

  ReportHead head{.command = "ablate", .parameters = request.prompts.parameters};
  head.parameters.add("patch_positions", request.positions)
      .add("metric", request.metric)
      .add("patching", patching_name(request.directions));
  request.scored->add_to(head.parameters);
  head.parameters.add("layers", request.layers.parameter());
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  write_effect_rows(
      models, request.prompts, layers, sink,
      [&](const Model& model, const PositionPatchLayer& layer, EffectRows& rows) {
        add_patching_rows(model, layer, places[layer.model], rows);
      },
      [&](const Model& model, const PositionPatchLayer& layer) {
        note_unclear_gap(model.name(), layer.gap(), sink);
      });
  sink.end();
}

}  // namespace attnscope
