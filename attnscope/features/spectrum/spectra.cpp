#include "attnscope/features/spectrum/spectra.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "attnscope/base/heads.h"
#include "attnscope/features/common/circuit_factors.h"
#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/mla_head_weights.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/spectrum/run.h"
#include "attnscope/features/spectrum/stored_spectrum.h"
#include "attnscope/numerics/products/factored_product_batch.h"
#include "attnscope/numerics/svd/batched_singular_values.h"
#include "attnscope/numerics/svd/resolved_singular_values.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

Outcome measured_spectrum(std::optional<std::int64_t> head,
                          const std::variant<SingularValues, Error>& result,
                          const SpectrumShape& shape, const SpectrumFields& wanted) {
  return singular_outcome(head, result, [&](const SingularValues& values) {
    Record fields;
    add_spectrum_fields(fields, values, shape, wanted);
    return fields;
  });
}

/// The resolution of a matrix with that element type, unless it is a product of latents.
template <class T>
constexpr Resolution kOwnResolution =
    std::is_same_v<T, double> ? Resolution::float64 : Resolution::float32;

/// Results for matrices of the same shape, in order.
template <class T>
std::vector<SingularResult> results_of_each(std::span<const MatrixView<const T>> matrices,
                                            Resolution resolution, const Compute& compute) {
  if constexpr (std::is_same_v<T, double>) {
    if (resolution == Resolution::float64) {
      std::vector<SingularResult> out;
      for (const MatrixView<const double>& matrix : matrices) {
        out.push_back(singular_result([&] { return resolved_singular_values(matrix, compute); }));
      }
      return out;
    }
  }
  return singular_values_of_each(matrices, compute);
}

/// Spectrum of a matrix in memory.
template <class T>
Outcome whole_spectrum(MatrixView<const T> matrix, Resolution resolution,
                       const SpectrumShape& shape, const SpectrumFields& wanted,
                       const Compute& compute) {
  if (auto reason = find_not_finite(matrix)) return {.skipped = *reason};
  if constexpr (std::is_same_v<T, double>) {
    if (resolution == Resolution::float64) {
      return measured_spectrum(
          std::nullopt, singular_result([&] { return resolved_singular_values(matrix, compute); }),
          shape, wanted);
    }
  }
  return measured_spectrum(std::nullopt,
                           singular_result([&] { return singular_values(matrix, compute); }), shape,
                           wanted);
}

/// Spectrum of a matrix that is read block by block.
Outcome read_spectrum(const Read<SingularResult>& read, const SpectrumShape& shape,
                      const SpectrumFields& wanted) {
  if (!read.skipped.empty()) return {.skipped = read.skipped};
  return measured_spectrum(std::nullopt, read.values, shape, wanted);
}

/// One outcome per head, in order. All heads have the same shape.
template <class T>
std::vector<Outcome> head_spectra(const std::vector<MatrixView<const T>>& heads,
                                  Resolution resolution, const SpectrumShape& shape,
                                  const SpectrumFields& wanted, const Compute& compute) {
  std::vector<Outcome> outcomes;
  std::vector<MatrixView<const T>> finite;
  for (const MatrixView<const T>& matrix : heads) {
    Outcome& outcome = outcomes.emplace_back();
    outcome.head = std::ssize(outcomes) - 1;
    auto reason = find_not_finite(matrix);
    if (reason) outcome.skipped = *reason;
    if (!reason) finite.push_back(matrix);
  }
  const auto results = results_of_each<T>(finite, resolution, compute);
  std::size_t next = 0;
  for (Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) continue;
    outcome = measured_spectrum(outcome.head, results[next++], shape, wanted);
  }
  return outcomes;
}

/// The spectra of the heads of a matrix with that role.
template <class T>
std::vector<Outcome> spectra_of_heads(MatrixView<const T> matrix, Resolution resolution, Role role,
                                      const HeadShape& shape, std::int64_t count,
                                      const std::optional<SpectrumShape>& known,
                                      const SpectrumFields& wanted, const Compute& compute) {
  std::vector<MatrixView<const T>> own;
  std::vector<Matrix<T>> stacked;  // heads whose rows are not contiguous
  for (std::int64_t head = 0; head < count; ++head) {
    if (role == Role::kv) {
      stacked.push_back(stacked_head(matrix, head, shape));
      own.push_back(std::as_const(stacked.back()).view());
    } else {
      own.push_back(head_slice(matrix, role, head, shape));
    }
  }
  if (own.empty()) return {};
  const SpectrumShape of_head =
      known.value_or(SpectrumShape{.rows = own.front().rows, .cols = own.front().cols});
  return head_spectra(own, resolution, of_head, wanted, compute);
}

/// Spectra of a matrix represented by latents. Singular values are computed in latent coordinates.
std::vector<Outcome> latent_spectra(const WorkItem& item, const Model& model,
                                    const SpectrumFields& wanted, const Compute& compute) {
  const Role role = *item.role;
  const HeadShape& shape = model.dimensions(*item.layer).heads;
  const std::int64_t heads = spectrum_per_head(item) ? shape.count(role) : 0;
  const Resolution resolution = resolution_of(model, *item.layer, role);
  std::vector<Outcome> outcomes;
  LatentRms divided_by;
  for (const SharedRows shared : {SharedRows::once, SharedRows::in_every_head}) {
    const bool whole = shared == SharedRows::once;
    if (!whole && heads == 0) break;
    auto read = read_mla(model, *item.layer, role, shared, item.latent_rms);
    if (!read.skipped.empty()) return all_skipped(read.skipped, heads);
    (role == Role::query ? divided_by.queries : divided_by.keys_and_values) = read.values.rms;
    SpectrumShape own{.rows = read.values.up.rows(),
                      .cols = model.dimensions().width,
                      .inner = read.values.down.rows()};
    narrow(read.values, compute);
    const Matrix<double> matrix = product_of(read.values, compute);
    if (whole) {
      outcomes.push_back(whole_spectrum(matrix.view(), resolution, own, wanted, compute));
      continue;
    }
    own.rows = shape.inner_dim(role);
    for (Outcome& outcome :
         spectra_of_heads(matrix.view(), resolution, role, shape, heads, own, wanted, compute)) {
      outcomes.push_back(std::move(outcome));
    }
  }
  add_latent_rms(outcomes, divided_by);
  return outcomes;
}

std::vector<SingularResult> results_of_products(std::span<const FactorPair> pairs,
                                                Resolution resolution, const Compute& compute) {
  if (resolution == Resolution::float32) return factored_products_singular_values(pairs, compute);
  std::vector<SingularResult> out;
  for (const FactorPair& pair : pairs) {
    out.push_back(singular_result(
        [&] { return resolved_product_singular_values(pair.left, pair.right, compute); }));
  }
  return out;
}

/// One outcome per product (rows, columns), for the whole matrix or a head.
std::vector<Outcome> product_spectra_of(const std::vector<std::optional<std::int64_t>>& heads,
                                        const std::vector<CircuitFactors>& factors,
                                        std::pair<std::int64_t, std::int64_t> shape,
                                        Resolution resolution, const SpectrumFields& wanted,
                                        const Compute& compute) {
  std::vector<Outcome> outcomes;
  std::vector<FactorPair> finite;
  for (std::size_t index = 0; index < factors.size(); ++index) {
    Outcome& outcome = outcomes.emplace_back();
    outcome.head = heads[index];
    if (find_not_finite(factors[index].left) || find_not_finite(factors[index].right)) {
      outcome.skipped = kFactorNotFinite;
    } else {
      finite.push_back({factors[index].left, factors[index].right});
    }
  }
  const auto results = results_of_products(finite, resolution, compute);
  std::size_t next = 0;
  for (Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) continue;
    const std::int64_t inner = finite[next].left.rows;
    outcome =
        measured_spectrum(outcome.head, results[next++],
                          {.rows = shape.first, .cols = shape.second, .inner = inner}, wanted);
  }
  return outcomes;
}

std::vector<Outcome> expert_spectra(const WorkItem& item, const Model& model,
                                    const SpectrumFields& wanted, const Compute& compute) {
  const auto measure = [&](std::int64_t expert) {
    compute.check_stop();
    const Weight weight = model.expert_weight(*item.layer, expert, *item.role);
    return read_spectrum(read_singular_values(model, weight, compute),
                         {.rows = weight.matrix.rows, .cols = weight.matrix.cols}, wanted);
  };
  return expert_outcomes(item, measure, add_rank_spread);
}

std::vector<Outcome> matrix_spectra(const WorkItem& item, const Model& model,
                                    const SpectrumFields& wanted, const Compute& compute) {
  const Role role = *item.role;
  const HeadShape& shape = model.dimensions(*item.layer).heads;
  const std::int64_t heads = spectrum_per_head(item) ? shape.count(role) : 0;
  if (model.is_of_latents(role)) {
    return latent_spectra(item, model, wanted, compute);
  }
  if (heads == 0 && is_projection(role)) {
    const Weight& weight = model.weight(*item.layer, role);
    return {read_spectrum(read_singular_values(model, weight, compute),
                          {.rows = weight.matrix.rows, .cols = weight.matrix.cols}, wanted)};
  }
  const auto read = read_matrix(model, *item.layer, role);
  if (!read.skipped.empty()) return all_skipped(read.skipped, heads);
  return std::visit(
      [&](const auto& matrix) {
        const MatrixView view = matrix.view();
        constexpr Resolution kResolution =
            kOwnResolution<std::remove_const_t<std::remove_pointer_t<decltype(view.data)>>>;
        std::vector<Outcome> outcomes = {whole_spectrum(
            view, kResolution, {.rows = view.rows, .cols = view.cols}, wanted, compute)};
        for (Outcome& outcome : spectra_of_heads(view, kResolution, role, shape, heads,
                                                 std::nullopt, wanted, compute)) {
          outcomes.push_back(std::move(outcome));
        }
        return outcomes;
      },
      read.values);
}

std::vector<Outcome> product_spectra(const WorkItem& item, const Model& model,
                                     const SpectrumFields& wanted, const Compute& compute) {
  const Role circuit = *item.role;
  const HeadShape& shape = model.dimensions(*item.layer).heads;
  const std::int64_t heads = spectrum_per_head(item) ? shape.count(circuit) : 0;
  const bool of_latents = model.dimensions().mla.has_value();
  const bool of_parts = is_mla_product(circuit);
  const CircuitVariant variant{.latent_rms = item.latent_rms};
  const auto load = [&] {
    if (of_parts) {
      return load_mla_product(model, *item.layer, circuit, item.latent_rms, /*narrowed=*/true,
                              compute);
    }
    return of_latents
               ? load_mla_circuit(model, *item.layer, circuit, variant, /*narrowed=*/true, compute)
               : load_circuit(model, *item.layer, circuit, variant);
  };
  const LoadedCircuit loaded = load();
  if (!loaded.skipped.empty()) return all_skipped(loaded.skipped, heads);
  const CircuitWeights weights = loaded.weights();
  const SumFactors sum = loaded.sum();
  std::vector<std::optional<std::int64_t>> ids = {std::nullopt};
  std::vector<CircuitFactors> factors = {sum.factors};
  for (std::int64_t head = 0; head < heads; ++head) {
    ids.emplace_back(head);
    factors.push_back(head_factors(weights, head));
    // Without grouped heads, the rows of the sum are those of the heads.
    CircuitFactors& own = factors.back();
    if (shape.group_size() == 1 && !of_latents) {
      own.left = sum.factors.left.row_block(head * own.left.rows, own.left.rows);
    }
  }
  const Dimensions& dimensions = model.dimensions();
  const auto stream = canonical_shape(dimensions, circuit);
  auto outcomes =
      product_spectra_of(ids, factors, of_parts ? mla_product_shape(dimensions, circuit) : stream,
                         resolution_of(model, *item.layer, circuit), wanted, compute);
  add_latent_rms(outcomes, loaded.latent_rms);
  return outcomes;
}

std::vector<Outcome> tensor_spectrum(const WorkItem& item, const ModelSource& source,
                                     const SpectrumFields& wanted, const Compute& compute) {
  const CheckpointTensor& tensor = *source.checkpoint->find(item.tensor);
  const Shape& shape = tensor.view.shape;
  return {read_spectrum(read_singular_values(*source.checkpoint, tensor, compute),
                        {.rows = shape[0], .cols = shape[1]}, wanted)};
}

}  // namespace

bool spectrum_per_head(const WorkItem& item) { return expect<bool>(item.parameters, "per_head"); }

std::vector<Outcome> compute_spectra(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  if (!item.tensor.empty()) {
    return tensor_spectrum(item, source, spectrum_fields(item.parameters, /*width=*/0), compute);
  }
  const Model& model = *source.model;
  const SpectrumFields wanted = spectrum_fields(item.parameters, model.dimensions().width);
  if (!item.experts.empty()) return expert_spectra(item, model, wanted, compute);
  return is_product(*item.role) ? product_spectra(item, model, wanted, compute)
                                : matrix_spectra(item, model, wanted, compute);
}

void add_rank_spread(Record& fields, const std::vector<const Record*>& experts) {
  constexpr std::array<std::pair<const char*, double>, 4> kShares = {
      {{"least_energy_rank", 0},
       {"lower_quartile_energy_rank", 0.25},
       {"upper_quartile_energy_rank", 0.75},
       {"most_energy_rank", 1}}};
  for (const auto& [name, share] : kShares) {
    Record by_threshold;
    for (const auto& entry : expect<Record>(*experts.front(), "energy_rank").fields()) {
      std::vector<std::int64_t> ranks;
      for (const Record* expert : experts) {
        const Record& own = expect<Record>(*expert, "energy_rank");
        ranks.push_back(expect<std::int64_t>(own, entry.first));
      }
      std::sort(ranks.begin(), ranks.end());
      by_threshold.add(entry.first, lower_quantile(ranks, share));
    }
    fields.add(name, std::move(by_threshold));
  }
}

Cost expert_spectra_cost(const WorkItem& item, const Model& model) {
  Cost cost;
  for (const std::int64_t expert : item.experts) {
    const Weight weight = model.expert_weight(*item.layer, expert, *item.role);
    cost.flops += spectrum_flops(static_cast<double>(weight.matrix.rows),
                                 static_cast<double>(weight.matrix.cols));
    cost.memory_bytes = std::max(cost.memory_bytes, weight_spectrum_bytes(weight.matrix));
  }
  return cost;
}

}  // namespace attnscope
