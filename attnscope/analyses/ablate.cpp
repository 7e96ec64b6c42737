#include "attnscope/analyses/ablate.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "attnscope/analyses/ablation_parts.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analysis/attention_means.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/run/model_facts.h"

namespace attnscope {
namespace {

AblationRequest request_of(const WorkItem& item) {
  return {.layer = item.batch->layers.front(),
          .parts = parts_named(expect<std::string>(item.parameters, "parts")),
          .how = replacement_named(expect<std::string>(item.parameters, "how"))};
}

std::vector<Outcome> ablate_outcomes(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  const LayerAblation found = ablate_layer(pass, foretold_places(item), request_of(item), compute);
  std::vector<Outcome> outcomes;
  for (const AblationEffect& effect : found.effects) {
    Record fields = {{"component", part_name(effect.part.part)},
                     {"layer", item.batch->layers.front()},
                     {"how", expect<std::string>(item.parameters, "how")},
                     {"clean_loss", found.loss},
                     {"loss", effect.loss},
                     {"kl", effect.kl},
                     {"changed", effect.changed},
                     {"predicted", found.predicted},
                     {"places", found.places}};
    if (!effect.direct.empty()) fields.add("direct", effect.direct);
    outcomes.push_back({.head = effect.part.head, .fields = std::move(fields)});
  }
  return outcomes;
}

Cost ablate_cost(const WorkItem& item, const ModelSource& source) {
  const AblationRequest request = request_of(item);
  const std::int64_t length = std::ssize(item.batch->tokens.front());
  const std::int64_t rows = std::ssize(item.batch->tokens) * length;
  return {.flops = ablation_flops(request.parts, *source.model, request.layer,
                                  static_cast<double>(rows)),
          .memory_bytes = ablation_bytes(*source.model, rows, length)};
}

void add_ablate_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_batch_inputs(inputs, item, source);
  inputs.add("mask", mask_parameter(item))
      .add("parts", expect<std::string>(item.parameters, "parts"));
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

/// The mean over all tokens, and its standard error over sequences, of sums that have a number of
/// tokens each.
MeanWithError mean_over(const std::vector<double>& sums, const std::vector<std::int64_t>& counts) {
  RunningMean means;
  double tokens = 0;
  for (std::size_t at = 0; at < sums.size(); ++at) {
    if (counts[at] == 0) continue;
    tokens += static_cast<double>(counts[at]);
    means.add(sums[at] / static_cast<double>(counts[at]));
  }
  MeanWithError out = means.result();
  if (out.mean) out.mean = sum_of(sums) / tokens;
  return out;
}

Record ablate_row(const RowPlace& place, const Outcome& outcome) {
  const Record& fields = outcome.fields;
  const auto& clean = expect_vector<double>(fields, "clean_loss");
  const auto& predicted = expect_vector<std::int64_t>(fields, "predicted");
  const auto& places = expect_vector<std::int64_t>(fields, "places");
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
                {"how", expect<std::string>(fields, "how")},
                {"loss_increase", found.mean},
                {"loss_increase_error", found.standard_error},
                {"kl", mean_over(numbers("kl"), places).mean},
                {"changed", mean_over(numbers("changed"), places).mean}};
  const bool linear = fields.find("direct") != nullptr;
  const MeanWithError direct = linear ? mean_over(numbers("direct"), predicted) : MeanWithError();
  row.add("direct", direct.mean)
      .add("direct_error", direct.standard_error)
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
                    std::int64_t length) {
  double flops = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    flops += ablation_flops(parts_named(parts), model, layer,
                            static_cast<double>(windows) * static_cast<double>(length));
  }
  return flops;
}

void run_ablate(std::span<const Model> models, const AblateRequest& request, const Context& context,
                RowSink& sink) {
  Plan plan{.analysis = &ablate_analysis(), .parameters = {{"how", request.how}}};
  plan.parameters.add("layers", request.layers.parameter())
      .add("tokens_hash", tokens_hash(request.texts.sequences));
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::vector<TokenIds>& sequences = request.texts.sequences[index];
    if (request.how == "resample" && sequences.size() < 2) {
      throw Error(
          ErrorKind::usage,
          {.parameter = "how", .problem = "resample takes another window's, and there is one"});
    }
    check_foretelling(ready.pass(index), sequences, request.texts.masks[index]);
    const std::vector<std::int64_t> layers = attention_layers(request.layers, models[index], &sink);
    const std::string parts = parts_or_usual(request.parts, models[index], layers, sink);
    for (const std::int64_t layer : layers) {
      WorkItem& item = plan.add(index, std::nullopt);
      item.parameters.add("parts", parts);
      add_mask_parameter(item, request.texts.masks[index]);
      item.batch = SequenceBatch{.first = 0, .tokens = sequences, .layers = {layer}};
    }
  }
  const std::vector<ModelSource> sources = ready.sources();
  double flops = 0;
  std::int64_t variants = 0;
  for (const WorkItem& item : plan.items) {
    flops += ablate_cost(item, sources[item.model]).flops;
    const AblationRequest replaced = request_of(item);
    variants += count_parts(replaced.parts, models[item.model], replaced.layer);
  }
  constexpr double kLong = 1e12;  // seconds to come
  if (flops > kLong) {
    sink.add_note(fmt::format("{} on {}: about {:.2g} TFLOP", counted(variants, "replacement"),
                              counted(std::ssize(request.texts.sequences.front()), "window"),
                              flops / 1e12));
  }
  ReportHead head{.command = "ablate", .parameters = request.texts.parameters};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, sources, std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
