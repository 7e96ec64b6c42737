#include "attnscope/features/circuits/run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/circuits/measures.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/model/expected_roles.h"

namespace attnscope {
namespace {

/// Up to this order, the eigenvalues of a sum over heads take a few seconds at most.
constexpr std::int64_t kMaxEigenvalues = 1024;

constexpr std::array kCircuits = {Role::qk, Role::ov};

FactorNames factor_names(Role circuit) {
  return circuit == Role::qk ? FactorNames{"q", "k"} : FactorNames{"o", "v"};
}

/// Turns an error of a single circuit into a skipped circuit, so that the run continues.
Outcome measured_circuit(std::optional<std::int64_t> head, Role circuit, const ProductFactor& left,
                         const ProductFactor& right, bool with_eigenvalues,
                         const std::vector<double>& thresholds, const Compute& compute) {
  if (!left.finite || !right.finite) return {.head = head, .skipped = kFactorNotFinite};
  try {
    const CircuitMeasures measures = measure_circuit(left, right, with_eigenvalues, compute);
    return {.head = head, .fields = circuit_fields(measures, factor_names(circuit), thresholds)};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return {.head = head, .skipped = error.what()};
  }
}

bool wants_all_eigenvalues(const WorkItem& item) {
  return expect<bool>(item.parameters, "all_eigenvalues");
}

std::vector<Outcome> compute_circuits(const WorkItem& item, const ModelSource& source,
                                      const Compute& compute) {
  const Model& model = *source.model;
  const Role circuit = *item.role;
  const auto& thresholds = expect_vector<double>(item.parameters, "energy");
  const HeadShape& shape = model.dimensions(*item.layer).heads;
  CircuitVariant variant = variant_of(item.parameters);
  variant.latent_rms = item.latent_rms;
  const LoadedCircuit loaded = load_circuit(model, *item.layer, circuit, variant);
  if (!loaded.skipped.empty()) return all_skipped(loaded.skipped, shape.heads);
  const CircuitWeights weights = loaded.weights();

  std::vector<Outcome> outcomes;
  {
    const SumFactors sum = loaded.sum();
    const bool with_eigenvalues =
        wants_all_eigenvalues(item) || sum.factors.right.rows <= kMaxEigenvalues;
    outcomes.push_back(measured_circuit(std::nullopt, circuit,
                                        make_product_factor(sum.factors.left, true, compute),
                                        make_product_factor(sum.factors.right, true, compute),
                                        with_eigenvalues, thresholds, compute));
    outcomes.back().note = loaded.note;
  }
  ProductFactor right;  // shared by all query heads of the same key/value head
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const CircuitFactors factors = head_factors(weights, head);
    if (head % shape.group_size() == 0) right = make_product_factor(factors.right, true, compute);
    outcomes.push_back(measured_circuit(head, circuit,
                                        make_product_factor(factors.left, true, compute), right,
                                        /*with_eigenvalues=*/true, thresholds, compute));
  }
  add_latent_rms(outcomes, loaded.latent_rms);
  return outcomes;
}

double circuit_flops(const Dimensions& dimensions, Role circuit, bool all_eigenvalues) {
  const HeadShape& shape = dimensions.heads;
  const auto width = static_cast<double>(dimensions.width);
  const auto inner = static_cast<double>(circuit == Role::qk ? shape.head_dim : shape.value_dim);
  // Gram matrices and the head-space product, then symmetric and general eigenvalues.
  const auto product = [&](double order, bool with_eigenvalues) {
    return 4 * width * order * order + (with_eigenvalues ? 40 : 20) * order * order * order;
  };
  const auto summed = static_cast<double>(summed_rank(dimensions, circuit));
  return product(summed, all_eigenvalues || summed <= kMaxEigenvalues) +
         static_cast<double>(shape.heads) * product(inner, true);
}

/// The sum over heads needs more memory than any single head.
std::uint64_t circuit_bytes(const Dimensions& dimensions, Role circuit,
                            const CircuitVariant& variant) {
  const std::int64_t width = dimensions.width;
  const std::int64_t inner = summed_rank(dimensions, circuit);
  const std::int64_t rank = std::min(inner, width);
  const std::uint64_t factors = circuit_factor_bytes(dimensions, circuit);
  // A factor with its bias is a copy of the factor without it.
  const std::uint64_t loading = variant.with_bias ? 2 * factors : factors;
  // Memory for the sum and both packed factors, and two head-space matrices for each. Then products
  // in head space and in the space of up to 2 r dimensions that both factors span.
  const std::uint64_t packed = 3 * float64_bytes(inner, width) + 4 * float64_bytes(rank, rank);
  const std::int64_t spanned = std::min(2 * rank, width);
  const std::uint64_t solving =
      3 * float64_bytes(rank, rank) + 4 * float64_bytes(spanned, spanned) + kPackedBytes;
  return std::max(loading, factors + packed + std::max(solving, spectrum_bytes(rank, width)));
}

Cost circuits_cost(const WorkItem& item, const ModelSource& source) {
  const Dimensions& dimensions = source.model->dimensions(*item.layer);
  return {circuit_flops(dimensions, *item.role, wants_all_eigenvalues(item)),
          circuit_bytes(dimensions, *item.role, variant_of(item.parameters))};
}

void add_circuits_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_role_inputs(inputs, item, source);
  add_variant_inputs(inputs, *source.model, *item.layer, *item.role, variant_of(item.parameters));
}

void check_circuits_parameters(const WorkItem& item, const ModelSource& source) {
  check_variant(*source.model, variant_of(item.parameters));
}

RowMaker make_circuits_rows(RowSink& sink) { return rows_with_heads(sink, "circuit"); }

std::vector<std::vector<Role>> select_circuits(std::span<const Model> models,
                                               const CircuitsRequest& request) {
  std::vector<Role> wanted = request.circuits;
  if (wanted.empty()) wanted.assign(kCircuits.begin(), kCircuits.end());
  std::vector<std::vector<Role>> selected;
  for (const Model& model : models) {
    auto& own = selected.emplace_back();
    for (const Role role : wanted) {
      if (is_expected(model, role)) own.push_back(role);
    }
  }
  for (const Role role : request.circuits) {
    if (std::any_of(models.begin(), models.end(),
                    [&](const Model& m) { return is_expected(m, role); })) {
      continue;
    }
    throw Error(ErrorKind::usage, {.parameter = "circuit",
                                   .problem = models.front().name() + " has no '" +
                                              std::string(role_name(role)) + "'"});
  }
  return selected;
}

}  // namespace

const Analysis& circuits_analysis() {
  static constexpr Analysis analysis = {.name = "circuits",
                                        .command = "circuits",
                                        .items = {"circuit", "circuits"},
                                        .roles = kCircuits,
                                        .compute = compute_circuits,
                                        .cost = circuits_cost,
                                        .add_inputs = add_circuits_inputs,
                                        .make_rows = make_circuits_rows,
                                        .check_parameters = check_circuits_parameters};
  return analysis;
}

Record circuits_parameters(const CircuitsRequest& request) {
  Record parameters;
  for (const auto& [name, value] : request.options.fields()) {
    parameters.add(name, value);
    if (name != "energy") continue;
    parameters.add("circuit", roles_value(request.circuits))
        .add("layers", request.layers.parameter());
  }
  return parameters.add("composition", request.composition);
}

void run_circuits(std::span<const Model> models, const CircuitsRequest& request,
                  const Context& context, RowSink& sink) {
  const auto circuits = select_circuits(models, request);
  note_set_aside(models, sink);
  const CircuitVariant variant = variant_of(request.options);
  for (std::size_t index = 0; index < models.size(); ++index) {
    check_variant(models[index], variant);
    const auto& own = circuits[index];
    if (own.empty()) {
      const bool reads_more = models[index].dimensions().attention_streams > 1;
      sink.add_note(
          models[index].name() + " has none of these circuits" +
          (reads_more ? ": its attention has inputs other than the residual stream" : ""));
    }
    const bool qk = std::find(own.begin(), own.end(), Role::qk) != own.end();
    if (!own.empty() && models[index].stack() == "cross") sink.add_note(cross_note(models[index]));
    if (qk && models[index].norms_queries()) sink.add_note(query_norm_note(models[index]));
    if (!own.empty() && models[index].dimensions().mla) {
      sink.add_note(mla_note(models[index], request.text.has_value()));
    }
  }
  Plan plan{.analysis = &circuits_analysis(), .parameters = request.options};
  ReportHead head{.command = "circuits", .parameters = circuits_parameters(request)};
  add_text_parameters(head.parameters, plan.parameters, request.text);
  add_layers(plan, models, circuits, request.layers, sink);
  measure_latents(plan, models, request.text, context, sink);
  run_plan(plan, sources_of(models), std::move(head), context, sink);
}

}  // namespace attnscope
