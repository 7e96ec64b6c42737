// How much of what an earlier head writes into the residual stream a later head reads.
// Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
#include <algorithm>
#include <cmath>
#include <optional>

#include "attnscope/core/error.h"
#include "attnscope/model/inventory.h"
#include "attnscope/numerics/lapack.h"
#include "attnscope/pipeline/circuits.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/info.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"

namespace attnscope {
namespace {

/// One head's circuit leftᵀ · right, as far as norms of products with it need it.
struct HeadTriangles {
  Matrix<double> left;   // R of leftᵀ = Q R, so that ‖leftᵀ X‖ = ‖R X‖; (min(d, D), d)
  Matrix<double> right;  // likewise of rightᵀ
  double norm = 0;       // ‖leftᵀ right‖_F
  bool finite = true;    // else nothing above is set
};

/// One layer's circuit and its heads.
struct LayerCircuit {
  LoadedCircuit loaded;
  std::vector<HeadTriangles> heads;
};

double frobenius_norm(MatrixView<const double> matrix) {
  double sum = 0;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) sum += matrix(row, col) * matrix(row, col);
  }
  return std::sqrt(sum);
}

LayerCircuit read_layer(const Model& model, std::int64_t layer, Role circuit,
                        const CircuitVariant& variant) {
  LayerCircuit out{.loaded = load_circuit(model, layer, circuit, variant)};
  if (!out.loaded.skipped.empty()) return out;
  const CircuitWeights weights = out.loaded.weights();
  for (std::int64_t head = 0; head < weights.heads.heads; ++head) {
    const CircuitFactors factors = head_factors(weights, head);
    HeadTriangles& triangles = out.heads.emplace_back();
    triangles.finite = !find_not_finite(factors.left) && !find_not_finite(factors.right);
    if (!triangles.finite) continue;
    triangles.left = lapack::qr_r_factor(factors.left.transposed());
    triangles.right = lapack::qr_r_factor(factors.right.transposed());
    const Matrix<double> core =
        lapack::multiply_transposed(triangles.left.view(), triangles.right.view());
    triangles.norm = frobenius_norm(core.view());
  }
  return out;
}

/// What every head of a layer writes, transposed and stacked, (H n, D) with n = min(d_v, D): rows
/// whose product with X has the norm of X · OV_h. Zero for a head that is not finite.
Matrix<double> written_by(const LayerCircuit& ov) {
  const CircuitWeights weights = ov.loaded.weights();
  const std::int64_t width = weights.left.rows;
  const std::int64_t rank = std::min(weights.heads.value_dim, weights.right.cols);
  Matrix<double> out(weights.heads.heads * rank, width);
  std::fill_n(out.data(), out.rows() * out.cols(), 0.0);
  for (std::int64_t head = 0; head < weights.heads.heads; ++head) {
    const HeadTriangles& triangles = ov.heads[static_cast<std::size_t>(head)];
    if (!triangles.finite) continue;
    // ‖X W_O W_V‖ = ‖X W_O Rᵀ‖ with W_Vᵀ = Q R.
    const Matrix<double> written = lapack::multiply_transposed(
        triangles.right.view(), head_factors(weights, head).left.transposed());
    std::copy_n(written.data(), rank * width, out.data() + head * rank * width);
  }
  return out;
}

/// One way in which a later head reads: which of its matrices meets the residual stream, and the
/// triangle of the other one.
struct Kind {
  const char* name;
  bool of_qk;          // else ov
  bool reads_by_left;  // W_Q; else W_K, or W_V
};
constexpr Kind kKinds[] = {{"q", true, true}, {"k", true, false}, {"v", false, false}};

constexpr const char* kPlace = "pairs";  // in place of a matrix's name
constexpr int kRevision = 1;             // raised when the numbers of rows change

/// Adds an outcome for each pair of heads, later head before earlier.
void add_pairs(std::vector<Outcome>& outcomes, const Kind& kind, std::int64_t earlier_layer,
               const LayerCircuit& earlier, const Matrix<double>& written, std::int64_t later_layer,
               const LayerCircuit& later) {
  const CircuitWeights weights = later.loaded.weights();
  const HeadShape& shape = weights.heads;
  const MatrixView<const double> reader = kind.reads_by_left ? weights.left : weights.right;
  const std::int64_t inner = kind.of_qk ? shape.head_dim : shape.value_dim;
  const std::int64_t rank = written.rows() / shape.heads;
  const double baseline = 1 / std::sqrt(static_cast<double>(written.cols()));
  // Every reading head with every writing head at once: (heads · inner, H · rank).
  const Matrix<double> met = lapack::multiply_transposed(reader, written.view());
  for (std::int64_t to_head = 0; to_head < shape.heads; ++to_head) {
    const HeadTriangles& reading = later.heads[static_cast<std::size_t>(to_head)];
    if (!reading.finite) continue;
    const std::int64_t read_head = kind.reads_by_left ? to_head : shape.kv_head(to_head);
    const Matrix<double>& other = kind.reads_by_left ? reading.right : reading.left;
    const Matrix<double> product = lapack::multiply_transposed(
        other.view(), met.view().row_block(read_head * inner, inner).transposed());
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const HeadTriangles& writing = earlier.heads[static_cast<std::size_t>(head)];
      if (!writing.finite) continue;
      const double norms = reading.norm * writing.norm;
      std::optional<double> score;
      if (norms > 0) score = frobenius_norm(product.view().col_block(head * rank, rank)) / norms;
      outcomes.push_back({.fields = {{"kind", kind.name},
                                     {"layer", earlier_layer},
                                     {"head", head},
                                     {"to_layer", later_layer},
                                     {"to_head", to_head},
                                     {"score", score},
                                     {"excess", score ? Value(*score - baseline) : Value()}}});
    }
  }
}

/// A circuit of the later layer, or heads of it, that take part in no pair.
void add_skipped(std::vector<Outcome>& outcomes, const char* circuit, const LayerCircuit& read) {
  const Record which = {{"circuit", circuit}};
  if (!read.loaded.skipped.empty()) {
    outcomes.push_back({.fields = which, .skipped = read.loaded.skipped});
  }
  for (std::size_t head = 0; head < read.heads.size(); ++head) {
    if (read.heads[head].finite) continue;
    outcomes.push_back(
        {.head = static_cast<std::int64_t>(head), .fields = which, .skipped = kFactorNotFinite});
  }
}

std::vector<Outcome> compose(const Model& model, std::span<const std::int64_t> earlier_layers,
                             std::int64_t layer, const CircuitVariant& variant) {
  std::vector<Outcome> out;
  const LayerCircuit qk = read_layer(model, layer, Role::qk, variant);
  const LayerCircuit ov = read_layer(model, layer, Role::ov, variant);
  add_skipped(out, "qk", qk);
  add_skipped(out, "ov", ov);
  if (!ov.loaded.note.empty()) out.push_back({.note = ov.loaded.note});
  for (const std::int64_t earlier_layer : earlier_layers) {
    const LayerCircuit earlier = read_layer(model, earlier_layer, Role::ov, variant);
    if (!earlier.loaded.skipped.empty()) continue;
    const Matrix<double> written = written_by(earlier);
    for (const Kind& kind : kKinds) {
      const LayerCircuit& later = kind.of_qk ? qk : ov;
      if (!later.loaded.skipped.empty()) continue;
      add_pairs(out, kind, earlier_layer, earlier, written, layer, later);
    }
  }
  return out;
}

/// For each earlier layer three products of all heads with all heads.
double estimated_flops(const Dimensions& dimensions, std::size_t earlier_layers) {
  const auto width = static_cast<double>(dimensions.width);
  const auto inner = static_cast<double>(dimensions.heads.heads * dimensions.heads.head_dim);
  return static_cast<double>(earlier_layers + 1) * 6 * width * inner * inner;
}

/// Both circuits of the later layer and one of an earlier one with their triangles, what the
/// earlier one writes, and the product of all heads with all heads.
std::uint64_t estimated_bytes(const Dimensions& dimensions) {
  const HeadShape& shape = dimensions.heads;
  const std::uint64_t factors =
      circuit_factor_bytes(dimensions, Role::qk) + 2 * circuit_factor_bytes(dimensions, Role::ov);
  const std::int64_t read = shape.heads * std::max(shape.head_dim, shape.value_dim);
  const std::int64_t written = shape.heads * shape.value_dim;
  return factors + 6 * float64_bytes(read, std::max(shape.head_dim, shape.value_dim)) +
         float64_bytes(written, dimensions.width) + float64_bytes(read, written) + kPackedBytes;
}

/// The later layer's circuits, and of each earlier one what it writes.
std::uint64_t bytes_read(const Model& model, std::span<const std::int64_t> earlier_layers,
                         std::int64_t layer) {
  std::uint64_t total = stored_bytes(model, layer, Role::qk) + stored_bytes(model, layer, Role::ov);
  for (const std::int64_t earlier : earlier_layers) total += stored_bytes(model, earlier, Role::ov);
  return total;
}

/// Every weight of the later layer's circuits and of those before it.
ItemInputs inputs_of(const Model& model, std::span<const std::int64_t> earlier_layers,
                     std::int64_t layer, const CircuitVariant& variant) {
  ItemInputs inputs;
  Value::List layers;
  const auto add_circuit = [&](std::int64_t of_layer, Role circuit) {
    const bool qk = circuit == Role::qk;
    for (const Role role : {qk ? Role::query : Role::output, qk ? Role::key : Role::value}) {
      const Weight& weight = model.weight(of_layer, role);
      inputs.add_matrix(model.checkpoint(), *weight.tensor, weight.matrix);
    }
    add_variant_inputs(inputs, model, of_layer, circuit, variant);
  };
  inputs.add_shape(model);
  add_circuit(layer, Role::qk);
  add_circuit(layer, Role::ov);
  for (const std::int64_t earlier_layer : earlier_layers) {
    layers.emplace_back(earlier_layer);
    add_circuit(earlier_layer, Role::ov);
  }
  layers.emplace_back(layer);  // rows say the numbers of layers
  inputs.add("layers", std::move(layers));
  return inputs;
}

StoredRun stored_run(std::span<const Model> models, const CircuitsRequest& request,
                     const Report& report) {
  StoredRun run{.analysis = {.name = "composition",
                             .revision = kRevision,
                             .command = "circuits",
                             .parameters = {{"fold_norm", request.variant.fold_norm},
                                            {"rope_offset", request.variant.rope_offset}}},
                .parameters = report.parameters};
  for (std::size_t index = 0; index < models.size(); ++index) {
    run.models.push_back(stored_model(models[index], report.models[index]));
  }
  return run;
}

}  // namespace

void add_composition(Report& report, const std::string& model, std::int64_t later_layer,
                     std::span<const Outcome> outcomes) {
  for (const Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) {
      const Value* circuit = outcome.fields.find("circuit");
      const auto* name = circuit == nullptr ? nullptr : circuit->get<std::string>();
      report.skipped.push_back(
          {model, later_layer, name == nullptr ? "" : *name, outcome.head, outcome.skipped});
    } else if (!outcome.note.empty()) {
      report.notes.push_back(model + ": layer " + std::to_string(later_layer) + ": " +
                             outcome.note);
    } else {
      Record row = {{"model", model}};
      for (const auto& [name, value] : outcome.fields.fields()) row.add(name, value);
      report.rows.push_back(std::move(row));
    }
  }
}

Report run_composition(std::span<const Model> models, const CircuitsRequest& request,
                       const ProgressFn& on_progress) {
  if (request.variant.with_bias) {
    throw Error(ErrorKind::usage, "--with-bias",
                "has no meaning beside --composition: what a head writes has no such coordinate");
  }
  Report report{.command = "circuits", .parameters = circuits_parameters(request)};
  std::vector<WorkItem> items;
  std::vector<std::vector<std::int64_t>> layers;
  std::size_t count = 0;
  for (const Model& model : models) {
    if (!model.has(Role::qk) || !model.has(Role::ov)) {
      throw Error(ErrorKind::usage, "--composition",
                  model.name() + " has not all of q, k, v and o");
    }
    check_variant(model, request.variant);
    if (model.norms_queries()) report.notes.push_back(query_norm_note(model));
    layers.push_back(request.layers.resolve(model.dimensions().layers, model.name()));
    count += layers.back().size();
  }
  for (const Model& model : models) {
    report.models.push_back(facts_record(model_facts(model)));
  }
  std::optional<StoredItems> stored;
  if (request.store != nullptr) {
    stored.emplace(*request.store, stored_run(models, request, report));
  }
  std::vector<std::vector<Outcome>> found(count);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::span<const std::int64_t> own = layers[index];
    for (std::size_t at = 0; at < own.size(); ++at) {
      const std::size_t slot = items.size();
      const auto run = [&, index, own, at, slot] {
        const auto compute = [&] {
          return compose(model, own.first(at), own[at], request.variant);
        };
        const auto all_there = [&](std::int64_t layer) {
          return model.has(Role::ov, layer) && (layer != own[at] || model.has(Role::qk, layer));
        };
        const auto read_layers = own.first(at + 1);
        const bool keep = stored && std::all_of(read_layers.begin(), read_layers.end(), all_there);
        found[slot] =
            keep ? stored->get(inputs_of(model, own.first(at), own[at], request.variant),
                               {{.model = index, .layer = own[at], .matrix = kPlace}}, compute)
                 : compute();
      };
      const auto read_soon = [&, own, at] {
        for (const Role role : {Role::qk, Role::ov}) prefetch(model, own[at], role);
      };
      items.push_back({.flops = estimated_flops(model.dimensions(), at),
                       .bytes = bytes_read(model, own.first(at), own[at]),
                       .memory_bytes = estimated_bytes(model.dimensions()),
                       .run = run,
                       .prefetch = read_soon});
    }
  }
  run_all(items, request.resources, on_progress);
  if (stored) stored->finish();

  std::size_t slot = 0;
  for (std::size_t index = 0; index < models.size(); ++index) {
    for (const std::int64_t layer : layers[index]) {
      add_composition(report, models[index].name(), layer, found[slot++]);
    }
  }
  return report;
}

}  // namespace attnscope
