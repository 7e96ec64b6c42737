#include "attnscope/pipeline/circuits.h"

#include <algorithm>
#include <optional>

#include "attnscope/analysis/circuit_measures.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"

namespace attnscope {
namespace {

constexpr int kRevision = 2;  // raised when the numbers of rows change

/// Up to this order the eigenvalues of a sum over heads take seconds at most.
constexpr std::int64_t kMostEigenvalues = 1024;

FactorNames factor_names(Role circuit) {
  return circuit == Role::qk ? FactorNames{"q", "k"} : FactorNames{"o", "v"};
}

/// An error that is one circuit's alone does not end the run.
Outcome measured(std::optional<std::int64_t> head, Role circuit, const ThinFactor& left,
                 const ThinFactor& right, bool with_eigenvalues, const CircuitsRequest& request) {
  if (!left.finite || !right.finite) return {.head = head, .skipped = kFactorNotFinite};
  try {
    const CircuitMeasures measures = measure_circuit(left, right, with_eigenvalues);
    return {.head = head,
            .fields = circuit_fields(measures, factor_names(circuit), request.thresholds)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return {.head = head, .skipped = error.what()};
  }
}

std::vector<Outcome> layer_circuits(const Model& model, std::int64_t layer, Role circuit,
                                    const CircuitsRequest& request) {
  const HeadShape& shape = model.dimensions().heads;
  const LoadedCircuit loaded = load_circuit(model, layer, circuit, request.variant);
  if (!loaded.skipped.empty()) return all_skipped(loaded.skipped, shape.heads);
  const CircuitWeights weights = loaded.weights();

  std::vector<Outcome> outcomes;
  {
    const Matrix<double> summed = summed_left_factor(weights);
    const bool with_eigenvalues = request.all_eigenvalues || weights.right.rows <= kMostEigenvalues;
    outcomes.push_back(measured(std::nullopt, circuit, make_thin_factor(summed.view()),
                                make_thin_factor(weights.right), with_eigenvalues, request));
    outcomes.back().note = loaded.note;
  }
  ThinFactor right;  // serves every query head that reads the same key/value head
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const CircuitFactors factors = head_factors(weights, head);
    if (head % shape.group_size() == 0) right = make_thin_factor(factors.right);
    outcomes.push_back(measured(head, circuit, make_thin_factor(factors.left), right,
                                /*with_eigenvalues=*/true, request));
  }
  return outcomes;
}

double estimated_flops(const Model& model, Role circuit, const CircuitsRequest& request) {
  const HeadShape& shape = model.dimensions().heads;
  const auto width = static_cast<double>(model.dimensions().width);
  const auto inner = static_cast<double>(circuit == Role::qk ? shape.head_dim : shape.value_dim);
  // Gram matrices and the head-space product; then eigenvalues, symmetric and not.
  const auto product = [&](double order, bool with_eigenvalues) {
    return 4 * width * order * order + (with_eigenvalues ? 40 : 20) * order * order * order;
  };
  const double summed = inner * static_cast<double>(shape.kv_heads);
  return product(summed, request.all_eigenvalues || summed <= kMostEigenvalues) +
         static_cast<double>(shape.heads) * product(inner, true);
}

/// The sum over heads takes more than any head.
std::uint64_t estimated_bytes(const Dimensions& dimensions, Role circuit,
                              const CircuitVariant& variant) {
  const std::int64_t width = dimensions.width;
  const std::int64_t inner = summed_rank(dimensions.heads, circuit);
  const std::int64_t rank = std::min(inner, width);
  const std::uint64_t factors = circuit_factor_bytes(dimensions, circuit);
  // A factor with its bias is made from the one without.
  const std::uint64_t loading = variant.with_bias ? 2 * factors : factors;
  // The sum, and both factors packed, with two matrices of head space for each; then products in
  // head space and in the up to 2 r dimensions that both factors span.
  const std::uint64_t packed = 3 * float64_bytes(inner, width) + 4 * float64_bytes(rank, rank);
  const std::int64_t spanned = std::min(2 * rank, width);
  const std::uint64_t solving =
      3 * float64_bytes(rank, rank) + 4 * float64_bytes(spanned, spanned) + kPackedBytes;
  return std::max(loading, factors + packed + std::max(solving, spectrum_bytes(rank, width)));
}

std::vector<std::vector<Role>> select_circuits(std::span<const Model> models,
                                               const CircuitsRequest& request) {
  std::vector<Role> wanted = request.circuits;
  if (wanted.empty()) wanted = {Role::qk, Role::ov};
  std::vector<std::vector<Role>> selected;
  for (const Model& model : models) {
    auto& own = selected.emplace_back();
    for (const Role role : wanted) {
      if (model.has(role)) own.push_back(role);
    }
  }
  for (const Role role : request.circuits) {
    if (std::any_of(models.begin(), models.end(), [&](const Model& m) { return m.has(role); })) {
      continue;
    }
    throw Error(ErrorKind::usage, "--circuit",
                models.front().name() + " has no '" + std::string(role_name(role)) + "'");
  }
  return selected;
}

}  // namespace

Record circuits_parameters(const CircuitsRequest& request) {
  Value::List circuits;
  for (const Role role : request.circuits) circuits.emplace_back(role_name(role));
  return {{"energy", request.thresholds},
          {"circuit", circuits.empty() ? Value() : Value(std::move(circuits))},
          {"layers", request.layers_text.empty() ? Value() : Value(request.layers_text)},
          {"fold_norm", request.variant.fold_norm},
          {"with_bias", request.variant.with_bias},
          {"rope_offset", request.variant.rope_offset},
          {"all_eigenvalues", request.all_eigenvalues},
          {"composition", request.composition}};
}

Report run_circuits(std::span<const Model> models, const CircuitsRequest& request,
                    const ProgressFn& on_progress) {
  const auto circuits = select_circuits(models, request);
  Report report{.command = "circuits", .parameters = circuits_parameters(request)};
  for (std::size_t index = 0; index < models.size(); ++index) {
    check_variant(models[index], request.variant);
    const auto& own = circuits[index];
    if (own.empty()) report.notes.push_back(models[index].name() + " has none of these circuits");
    const bool qk = std::find(own.begin(), own.end(), Role::qk) != own.end();
    if (qk && models[index].norms_queries()) report.notes.push_back(query_norm_note(models[index]));
  }
  LayerWork work{.role_field = "circuit"};
  // The norm before a layer and its rotary angles are not among the weights that layers share.
  work.shares_equal_weights = !request.variant.fold_norm && request.variant.rope_offset == 0;
  work.compute = [&](const Model& model, std::int64_t layer, Role circuit) {
    return layer_circuits(model, layer, circuit, request);
  };
  work.flops = [&](const Model& model, Role circuit) {
    return estimated_flops(model, circuit, request);
  };
  work.memory_bytes = [&](const Model& model, std::int64_t, Role circuit) {
    return estimated_bytes(model.dimensions(), circuit, request.variant);
  };
  work.store = request.store;
  work.analysis = {.name = "circuits",
                   .revision = kRevision,
                   .command = "circuits",
                   .parameters = {{"energy", request.thresholds},
                                  {"fold_norm", request.variant.fold_norm},
                                  {"with_bias", request.variant.with_bias},
                                  {"rope_offset", request.variant.rope_offset},
                                  {"all_eigenvalues", request.all_eigenvalues}}};
  work.add_inputs = [&](ItemInputs& inputs, const Model& model, std::int64_t layer, Role circuit) {
    add_variant_inputs(inputs, model, layer, circuit, request.variant);
  };
  run_layers(report, models, circuits, request.layers, work, request.resources, on_progress);
  return report;
}

}  // namespace attnscope
