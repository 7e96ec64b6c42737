#include "attnscope/analyses/ablate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analysis/attention_means.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/run/model_facts.h"

namespace attnscope {
namespace {

constexpr std::array kPartNames = {"head", "attention", "mlp"};         // as LayerPart counts
constexpr std::array kReplacementNames = {"mean", "zero", "resample"};  // as Replacement counts

Replacement replacement_named(const std::string& name) {
  const auto* found = std::find(kReplacementNames.begin(), kReplacementNames.end(), name);
  if (found == kReplacementNames.end()) refuse_field("how");
  return static_cast<Replacement>(found - kReplacementNames.begin());
}

AblationRequest request_of_parts(const std::string& parts, std::int64_t layer) {
  const bool all = parts == "all", layers = parts == "layers";
  return {.layer = layer,
          .heads = all || parts == "heads",
          .attention = all || layers || parts == "attention",
          .mlp = all || layers || parts == "mlp"};
}

AblationRequest request_of(const WorkItem& item) {
  AblationRequest request =
      request_of_parts(expect<std::string>(item.parameters, "parts"), item.batch->layers.front());
  request.how = replacement_named(expect<std::string>(item.parameters, "how"));
  return request;
}

std::vector<Outcome> ablate_outcomes(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  const LayerAblation found = ablate_layer(pass, foretold_places(item), request_of(item), compute);
  std::vector<Outcome> outcomes;
  for (const AblationEffect& effect : found.effects) {
    Record fields = {{"component", kPartNames[static_cast<std::size_t>(effect.part)]},
                     {"layer", item.batch->layers.front()},
                     {"how", expect<std::string>(item.parameters, "how")},
                     {"clean_loss", found.loss},
                     {"loss", effect.loss},
                     {"kl", effect.kl},
                     {"changed", effect.changed},
                     {"predicted", found.predicted},
                     {"places", found.places}};
    if (!effect.direct.empty()) fields.add("direct", effect.direct);
    outcomes.push_back({.head = effect.head, .fields = std::move(fields)});
  }
  return outcomes;
}

/// Of a model's whole pass, and of the head's product, for one token.
struct TokenFlops {
  double layer = 0, head = 0;
};
TokenFlops token_flops(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  SequenceBatch one{.first = 0, .tokens = {{0}}, .layers = {0}};
  WorkItem item;
  item.batch = std::move(one);
  const ModelSource source{.model = &model};
  return {.layer = batch_cost(item, source).flops,
          .head = 2.0 * static_cast<double>(dimensions.width) *
                  static_cast<double>(dimensions.vocabulary.value_or(0))};
}

std::int64_t variants_of(const AblationRequest& request, const Model& model) {
  return (request.attention ? 1 : 0) + (request.mlp ? 1 : 0) +
         (request.heads ? model.spec().dimensions_of(request.layer).heads.heads : 0);
}

double flops_of(const AblationRequest& request, const Model& model, double rows) {
  const TokenFlops flops = token_flops(model);
  const auto variants = static_cast<double>(variants_of(request, model) + 1);
  const auto layers = static_cast<double>(model.dimensions().layers);
  const auto layer = static_cast<double>(request.layer);
  return rows * (layer * flops.layer + variants * ((layers - layer) * flops.layer + flops.head));
}

Cost ablate_cost(const WorkItem& item, const ModelSource& source) {
  const Model& model = *source.model;
  const Dimensions& dimensions = model.dimensions();
  const std::int64_t length = std::ssize(item.batch->tokens.front());
  const double rows =
      static_cast<double>(std::ssize(item.batch->tokens)) * static_cast<double>(length);
  const double kept =
      rows * static_cast<double>(2 * dimensions.width + dimensions.heads.total_dim(Role::output)) *
      sizeof(float);
  constexpr double kLogits = 4.0 * (64 << 20);
  return {.flops = flops_of(request_of(item), model, rows),
          .memory_bytes = run_bytes(model.spec(), std::max<std::int64_t>(1, 512 / length), length) +
                          static_cast<std::uint64_t>(kept + kLogits)};
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

std::string usual_parts(const Model& model, const std::vector<std::int64_t>& layers,
                        RowSink& sink) {
  std::int64_t heads = 0;
  for (const std::int64_t layer : layers) heads += model.spec().dimensions_of(layer).heads.heads;
  if (heads <= kUsualHeads) return "all";
  sink.add_note(model.name() + ": attention and MLP of each layer; its " + std::to_string(heads) +
                " heads cost more: ask for them with {parts} all, or some with {layers}");
  return "layers";
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
    flops += flops_of(request_of_parts(parts, layer), model,
                      static_cast<double>(windows) * static_cast<double>(length));
  }
  return flops;
}

void run_ablate(std::span<const Model> models, const AblateRequest& request, const Context& context,
                RowSink& sink) {
  Plan plan{.analysis = &ablate_analysis(), .parameters = {{"how", request.how}}};
  plan.parameters.add("layers", request.layers.parameter())
      .add("tokens_hash", tokens_hash(request.sequences));
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::vector<TokenIds>& sequences = request.sequences[index];
    if (request.how == "resample" && sequences.size() < 2) {
      throw Error(
          ErrorKind::usage,
          {.parameter = "how", .problem = "resample takes another window's, and there is one"});
    }
    check_foretelling(ready.pass(index), sequences, request.masks[index]);
    const std::vector<std::int64_t> layers = attention_layers(request.layers, models[index], &sink);
    const std::string parts =
        request.parts.empty() ? usual_parts(models[index], layers, sink) : request.parts;
    for (const std::int64_t layer : layers) {
      WorkItem& item = plan.add(index, std::nullopt);
      item.parameters.add("parts", parts);
      add_mask_parameter(item, request.masks[index]);
      item.batch = SequenceBatch{.first = 0, .tokens = sequences, .layers = {layer}};
    }
  }
  const std::vector<ModelSource> sources = ready.sources();
  double flops = 0;
  std::int64_t variants = 0;
  for (const WorkItem& item : plan.items) {
    flops += ablate_cost(item, sources[item.model]).flops;
    variants += variants_of(request_of(item), models[item.model]);
  }
  constexpr double kLong = 1e12;  // seconds to come
  if (flops > kLong) {
    sink.add_note(fmt::format("{} on {}: about {:.2g} TFLOP", counted(variants, "replacement"),
                              counted(std::ssize(request.sequences.front()), "window"),
                              flops / 1e12));
  }
  ReportHead head{.command = "ablate", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, sources, std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
