// Composition of heads: how much a later head reads of what an earlier head writes to the residual
// stream. Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
#include "attnscope/features/circuits/composition_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/circuits/prepared_layers.h"
#include "attnscope/features/common/composition_measures.h"
#include "attnscope/features/common/cost_estimates.h"

namespace attnscope {
namespace {

/// Adds an outcome per pair of heads, sorted by later head, then earlier head.
void add_pairs(std::vector<Outcome>& outcomes, std::int64_t earlier_layer,
               const WritingHeads& writers, std::int64_t later_layer, const ReadingHeads& readers,
               double baseline, const Compute& compute) {
  const Matrix<double> scores = composition_scores(readers, writers, compute);
  for (std::int64_t receiver_head = 0; receiver_head < scores.rows(); ++receiver_head) {
    if (!readers.norms[static_cast<std::size_t>(receiver_head)]) continue;
    for (std::int64_t head = 0; head < scores.cols(); ++head) {
      if (!writers.norms[static_cast<std::size_t>(head)]) continue;
      std::optional<double> score;
      if (!std::isnan(scores(receiver_head, head))) score = scores(receiver_head, head);
      outcomes.push_back({.fields = {{"kind", reading_kind_name(readers.kind)},
                                     {"layer", earlier_layer},
                                     {"head", head},
                                     {"receiver_layer", later_layer},
                                     {"receiver_head", receiver_head},
                                     {"score", score},
                                     {"excess", score ? Value(*score - baseline) : Value()}}});
    }
  }
}

/// Checks both circuits of a layer: reasons for skipping, heads excluded from all pairs, and notes.
/// Pairs do not repeat them, so that each layer is reported once.
std::vector<Outcome> layer_outcomes(const Model& model, std::int64_t layer,
                                    const CircuitVariant& variant, const Compute& compute) {
  std::vector<Outcome> out;
  std::string note;
  for (const Role circuit : {Role::qk, Role::ov}) {
    compute.check_stop();
    const LoadedCircuit loaded = load_circuit(model, layer, circuit, variant);
    const Record which = {{"circuit", role_name(circuit)}};
    if (circuit == Role::ov) note = loaded.note;
    if (!loaded.skipped.empty()) {
      out.push_back({.fields = which, .skipped = loaded.skipped});
      continue;
    }
    for (std::int64_t head = 0; head < loaded.heads.heads; ++head) {
      if (is_finite_head(loaded.weights(), head)) continue;
      out.push_back({.head = head, .fields = which, .skipped = kFactorNotFinite});
    }
  }
  if (!note.empty()) out.push_back({.note = note});
  return out;
}

PreparedLayer read_writers(const Model& model, std::int64_t layer, const CircuitVariant& variant,
                           const Compute& compute) {
  PreparedLayer out;
  const LoadedCircuit ov = load_circuit(model, layer, Role::ov, variant);
  if (!ov.skipped.empty()) return out;
  compute.check_stop();
  out.writers.push_back(prepare_writers(ov.weights(), {0, ov.heads.heads}, compute));
  return out;
}

PreparedLayer read_readers(const Model& model, std::int64_t layer, const CircuitVariant& variant,
                           const Compute& compute) {
  PreparedLayer out;
  for (const Role circuit : {Role::qk, Role::ov}) {
    compute.check_stop();
    const LoadedCircuit loaded = load_circuit(model, layer, circuit, variant);
    if (!loaded.skipped.empty()) continue;
    for (const ReadingKind kind : kReadingKinds) {
      if ((kind == ReadingKind::value) != (circuit == Role::ov)) continue;
      out.readers.push_back(
          prepare_readers(loaded.weights(), kind, {0, loaded.heads.heads}, compute));
    }
  }
  return out;
}

/// Size of R_K W_Q of every head, W_K and W_V of every key/value head, and the roots of W_Q and
/// W_O.
std::uint64_t readers_bytes(const Dimensions& dimensions) {
  const HeadShape& shape = dimensions.heads;
  const std::int64_t rows =
      shape.heads * shape.head_dim + shape.kv_heads * (shape.head_dim + shape.value_dim);
  return float64_bytes(rows, dimensions.width) +
         float64_bytes(shape.heads * shape.head_dim, shape.head_dim) +
         float64_bytes(shape.heads * shape.value_dim, shape.value_dim);
}

std::uint64_t writers_bytes(const Dimensions& dimensions) {
  return float64_bytes(dimensions.heads.heads * dimensions.heads.value_dim, dimensions.width);
}

std::vector<Outcome> pair_outcomes(const Model& model, PreparedLayers& layers,
                                   std::int64_t earlier_layer, std::int64_t layer,
                                   const CircuitVariant& variant, const Compute& compute) {
  const std::uint64_t reading = readers_bytes(model.dimensions(layer));
  const std::uint64_t writing = writers_bytes(model.dimensions(earlier_layer));
  const PreparedLayers::Room room(layers, reading + writing);
  // Writers first: concurrent pairs have different writers but share readers.
  std::vector<Outcome> out;
  const auto earlier =
      layers.get({.model = &model, .layer = earlier_layer, .writes = true}, writing, compute,
                 [&] { return read_writers(model, earlier_layer, variant, compute); });
  if (earlier->writers.empty()) return out;
  const auto later = layers.get({.model = &model, .layer = layer}, reading, compute,
                                [&] { return read_readers(model, layer, variant, compute); });
  const double baseline = composition_baseline(model.dimensions(layer).width);
  for (const ReadingHeads& readers : later->readers) {
    add_pairs(out, earlier_layer, earlier->writers.front(), layer, readers, baseline, compute);
  }
  return out;
}

/// Whether both layers read and write the same residual stream: between stages, it changes.
bool share_stream(const Model& model, std::int64_t earlier_layer, std::int64_t layer) {
  const Dimensions& dimensions = model.dimensions();
  return dimensions.places == nullptr ||
         layer_numbers(dimensions, earlier_layer).group == layer_numbers(dimensions, layer).group;
}

std::vector<Outcome> compute_pair(const WorkItem& item, const ModelSource& source,
                                  const Compute& compute) {
  const CircuitVariant variant = variant_of(item.parameters);
  PreparedLayers own;
  PreparedLayers& layers =
      source.shared == nullptr ? own : *static_cast<PreparedLayers*>(source.shared);
  if (item.earlier_layer) {
    return pair_outcomes(*source.model, layers, *item.earlier_layer, *item.layer, variant, compute);
  }
  // The reserved memory may be used by cached layers that no running pair needs.
  const PreparedLayers::Room none(layers, 0);
  return layer_outcomes(*source.model, *item.layer, variant, compute);
}

/// FLOPs of the products of all heads with all heads, for queries, keys and values.
double pair_flops(const Dimensions& dimensions) {
  const auto width = static_cast<double>(dimensions.width);
  const auto inner = static_cast<double>(dimensions.heads.heads * dimensions.heads.head_dim);
  return 6 * width * inner * inner;
}

/// Size of the weights of the larger circuit of a layer.
std::uint64_t factor_bytes(const Dimensions& dimensions) {
  return std::max(circuit_factor_bytes(dimensions, Role::qk),
                  circuit_factor_bytes(dimensions, Role::ov));
}

/// Size of readers, writers, the weights that one of them is computed from, and the products of
/// some heads of one with all heads of the other.
std::uint64_t pair_bytes(const Dimensions& dimensions) {
  const HeadShape& shape = dimensions.heads;
  constexpr std::int64_t kMeeting = 2048;  // number of rows
  return readers_bytes(dimensions) + writers_bytes(dimensions) + factor_bytes(dimensions) +
         float64_bytes(kMeeting, shape.heads * shape.value_dim) + kPackedBytes;
}

Cost composition_cost(const WorkItem& item, const ModelSource& source) {
  const Dimensions dimensions = largest_dimensions(source.model->spec());
  if (item.earlier_layer) return {pair_flops(dimensions), pair_bytes(dimensions)};
  // An item of a single layer only checks what will be skipped.
  return {0.01 * pair_flops(dimensions), factor_bytes(dimensions)};
}

void add_circuit_inputs(ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant) {
  inputs.add_role(model, layer, circuit);
  add_variant_inputs(inputs, model, layer, circuit, variant);
}

/// Adds every weight of the circuits of the later layer, and of the OV circuit of the earlier one.
void add_composition_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  const Model& model = *source.model;
  const CircuitVariant variant = variant_of(item.parameters);
  std::vector<std::int64_t> layers;  // rows contain layer indices
  inputs.add_shape(model, *item.layer);
  add_circuit_inputs(inputs, model, *item.layer, Role::qk, variant);
  add_circuit_inputs(inputs, model, *item.layer, Role::ov, variant);
  if (item.earlier_layer) {
    if (!model.spec().own_dimensions.empty()) {
      inputs.add("writing_dim", model.dimensions(*item.earlier_layer).heads.value_dim);
    }
    layers.push_back(*item.earlier_layer);
    add_circuit_inputs(inputs, model, *item.earlier_layer, Role::ov, variant);
  }
  layers.push_back(*item.layer);
  inputs.add("layers", std::move(layers));
}

void refuse_bias(const CircuitVariant& variant) {
  if (variant.with_bias) {
    throw Error(ErrorKind::usage,
                {.parameter = "with_bias",
                 .problem = "cannot be combined with {composition}: head outputs have no bias "
                            "coordinate"});
  }
}

void check_composition_parameters(const WorkItem& item, const ModelSource& source) {
  const CircuitVariant variant = variant_of(item.parameters);
  refuse_bias(variant);
  check_variant(*source.model, variant);
  if (item.earlier_layer && !share_stream(*source.model, *item.earlier_layer, *item.layer)) {
    throw Error(ErrorKind::usage,
                {.problem = "layers " + std::to_string(*item.earlier_layer) + " and " +
                            std::to_string(*item.layer) + " are in different stages"});
  }
}

void add_outcome(RowSink& sink, const RowPlace& place, const Outcome& outcome) {
  if (!outcome.skipped.empty()) {
    const Value* circuit = outcome.fields.find("circuit");
    const auto* name = circuit == nullptr ? nullptr : circuit->get<std::string>();
    sink.add_skipped(
        {place.model, place.layer, name == nullptr ? "" : *name, outcome.head, outcome.skipped});
  } else if (!outcome.note.empty()) {
    sink.add_note(place.model + ": layer " + std::to_string(place.layer.value_or(0)) + ": " +
                  outcome.note);
  } else {
    Record row = {{"model", place.model}};
    for (const auto& [name, value] : outcome.fields.fields()) row.add(name, value);
    sink.add_row(std::move(row));
  }
}

RowMaker make_composition_rows(RowSink& sink) {
  return {.add = [&sink](const RowPlace& place, std::span<const Outcome> outcomes) {
    for (const Outcome& outcome : outcomes) add_outcome(sink, place, outcome);
  }};
}

}  // namespace

const Analysis& composition_analysis() {
  static constexpr Analysis analysis = {.name = "composition",
                                        .command = "circuits",
                                        .items = {"pair of layers", "pairs of layers"},
                                        .compute = compute_pair,
                                        .cost = composition_cost,
                                        .add_inputs = add_composition_inputs,
                                        .make_rows = make_composition_rows,
                                        .check_parameters = check_composition_parameters};
  return analysis;
}

void run_composition(std::span<const Model> models, const CircuitsRequest& request,
                     const Context& context, RowSink& sink) {
  const CircuitVariant variant = variant_of(request.options);
  refuse_bias(variant);
  Plan plan{.analysis = &composition_analysis()};
  for (const char* name : {"fold_norm", "with_bias", "rope_offset"}) {
    plan.parameters.add(name, *request.options.find(name));
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    if (!model.has(Role::qk) || !model.has(Role::ov)) {
      throw Error(ErrorKind::usage,
                  {.parameter = "composition",
                   .problem = model.name() + " does not have all of q, k, v and o"});
    }
    if (model.dimensions().key_inputs() != model.dimensions().width) {
      throw Error(ErrorKind::unsupported,
                  {.parameter = "composition",
                   .problem = verbatim(model.name()) +
                              ": its keys and values read vectors of another size than its queries",
                   .hint = "select another stack with {stack}"});
    }
    check_variant(model, variant);
    if (model.norms_queries()) sink.add_note(query_norm_note(model));
    if (model.stack() == "cross") {
      sink.add_note(
          model.name() +
          ": cross-attention: only Q-composition is meaningful. Keys and values come from "
          "the encoder, which earlier cross-attention layers do not write to");
    }
    if (model.dimensions().places != nullptr) {
      sink.add_note(model.name() +
                    ": only heads in the same stage are compared, because the residual stream "
                    "changes between stages");
    }
    auto layers = request.layers.resolve(model.dimensions().layers, model.name());
    std::erase_if(layers, [&](std::int64_t layer) {
      return is_passed_over(request.layers, model, Role::qk, layer);
    });
    for (std::size_t later = 0; later < layers.size(); ++later) {
      plan.add(index, layers[later]);
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (!share_stream(model, layers[earlier], layers[later])) continue;
        plan.add(index, layers[later]).earlier_layer = layers[earlier];
      }
    }
  }
  PreparedLayers prepared;
  std::vector<ModelSource> sources = sources_of(models);
  for (ModelSource& source : sources) source.shared = &prepared;
  run_plan(plan, sources, {.command = "circuits", .parameters = circuits_parameters(request)},
           context, sink);
}

}  // namespace attnscope
