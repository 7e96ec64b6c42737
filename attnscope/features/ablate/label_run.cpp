#include "attnscope/features/ablate/label_run.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/ablate/components.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/label_probabilities.h"
#include "attnscope/interventions/label_ablation.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

struct LabelLayer {
  std::size_t model = 0;
  std::int64_t layer = 0, label = 0;
  AskedParts parts;
  LayerLabelEffects found;
};

void add_label_rows(const Model& model, const LabelLayer& layer, const std::string& how,
                    RowSink& sink) {
  const auto label = static_cast<std::size_t>(layer.label);
  const std::vector<LabelLogits>& clean = layer.found.clean;
  const LabelProbability kind = label_probability(*model.spec().labels, std::ssize(clean.front()));
  RunningMean unmodified;
  for (const LabelLogits& logits : clean) unmodified.add(static_cast<double>(logits[label]));
  for (const LabelEffect& effect : layer.found.effects) {
    RunningMean change, changed;
    for (std::size_t text = 0; text < clean.size(); ++text) {
      const LabelLogits& logits = effect.logits[text];
      change.add(static_cast<double>(logits[label]) - static_cast<double>(clean[text][label]));
      const auto before = top_label(kind, clean[text]);
      if (before) changed.add(top_label(kind, logits) == before ? 0.0 : 1.0);
    }
    const MeanWithError mean = change.result();
    sink.add_row({{"model", model.name()},
                  {"layer", layer.layer},
                  {"head", effect.part.head},
                  {"component", part_name(effect.part.part)},
                  {"ablation", how},
                  {"label_logit_change", mean.mean},
                  {"label_logit_change_error", mean.standard_error},
                  {"top_label_changed", changed.result().mean},
                  {"label_logit", unmodified.result().mean},
                  {"sequences", std::ssize(clean)}});
  }
}

}  // namespace

void run_ablate_labels(std::span<const Model> models, const AblateLabelRequest& request,
                       const Context& context, RowSink& sink) {
  if (request.how == "resample") {
    throw Error(ErrorKind::usage, {.parameter = "ablation",
                                   .problem = "resample is not available with {label}, because "
                                              "texts differ in length"});
  }
  check_labels_texts(models, "label");
  const ReadyModels ready(models, context);
  std::vector<LabelLayer> layers;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const ForwardPass& pass = ready.pass(index);
    const std::int64_t label = label_named(pass, request.label, "label");
    check_inputs(pass, {.tokens = request.texts[index]});
    note_past_context(pass, {.tokens = request.texts[index]}, sink);
    const AskedParts parts =
        parts_named(parts_or_usual(request.parts, models[index], request.layers, sink));
    for (const std::int64_t layer : layers_with_parts(parts, request.layers, models[index], sink)) {
      layers.push_back(
          {.model = index, .layer = layer, .label = label, .parts = parts, .found = {}});
    }
  }
  std::vector<QueueItem> items;
  for (LabelLayer& layer : layers) {
    const Model& model = models[layer.model];
    const std::vector<TokenIds>& texts = request.texts[layer.model];
    const AblationRows rows{.texts = text_rows(texts), .sources = {}};
    items.push_back({.flops = ablation_flops(layer.parts, model, layer.layer, rows),
                     .memory_bytes = ablation_bytes(model, rows),
                     .run = [&](const Compute& compute) {
                       layer.found = ablate_labels(
                           ready.pass(layer.model), request.texts[layer.model], layer.layer,
                           layer.parts, replacement_named(request.how), compute);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"layer", "layers"});

  ReportHead head{.command = "ablate", .parameters = {{"label", request.label}}};
  for (const auto& [name, value] : request.parameters.fields()) head.parameters.add(name, value);
  head.parameters.add("ablation", request.how).add("layers", request.layers.parameter());
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  for (const LabelLayer& layer : layers) {
    add_label_rows(models[layer.model], layer, request.how, sink);
  }
  sink.end();
}

}  // namespace attnscope
