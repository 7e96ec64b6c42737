#include "attnscope/pipeline/spectrum.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "attnscope/analysis/circuit.h"
#include "attnscope/analysis/heads.h"
#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/numerics/singular_values.h"
#include "attnscope/numerics/small_matrices.h"
#include "attnscope/numerics/thin_product.h"
#include "attnscope/pipeline/circuit_weights.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"
#include "attnscope/pipeline/singular_outcome.h"

namespace attnscope {
namespace {

constexpr int kRevision = 2;  // raised when the numbers of rows change

SpectrumFields fields_wanted(const SpectrumRequest& request, std::int64_t width) {
  SpectrumFields wanted{.thresholds = request.thresholds, .with_values = request.with_values};
  for (const RankText& rank : request.ranks) {
    wanted.ranks.push_back({rank.text, rank.resolve(width)});
  }
  return wanted;
}

Outcome measured(std::optional<std::int64_t> head,
                 const std::variant<SingularValues, Error>& result, const SpectrumShape& shape,
                 const SpectrumFields& wanted) {
  return singular_outcome(head, result, [&](const std::vector<double>& values) {
    Record fields;
    add_spectrum_fields(fields, values, shape, wanted);
    return fields;
  });
}

template <class T>
Outcome whole_spectrum(MatrixView<const T> matrix, const SpectrumFields& wanted) {
  if (auto reason = find_not_finite(matrix)) return {.skipped = *reason};
  return measured(std::nullopt, singular_result([&] { return singular_values(matrix); }),
                  {.rows = matrix.rows, .cols = matrix.cols}, wanted);
}

/// One outcome for each head's own matrix, in order.
template <class T>
std::vector<Outcome> head_spectra(const std::vector<MatrixView<const T>>& heads,
                                  const SpectrumFields& wanted) {
  std::vector<Outcome> outcomes;
  std::vector<MatrixView<const T>> finite;
  for (const MatrixView<const T>& matrix : heads) {
    Outcome& outcome = outcomes.emplace_back();
    outcome.head = std::ssize(outcomes) - 1;
    auto reason = find_not_finite(matrix);
    if (reason) outcome.skipped = *reason;
    if (!reason) finite.push_back(matrix);
  }
  const auto results = singular_values_of_each(finite);
  std::size_t next = 0;
  for (Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) continue;
    const MatrixView<const T>& matrix = finite[next];
    outcome =
        measured(outcome.head, results[next++], {.rows = matrix.rows, .cols = matrix.cols}, wanted);
  }
  return outcomes;
}

/// One outcome for each product, whole or of a head.
std::vector<Outcome> product_spectra_of(const std::vector<std::optional<std::int64_t>>& heads,
                                        const std::vector<CircuitFactors>& factors,
                                        const SpectrumFields& wanted) {
  std::vector<Outcome> outcomes;
  std::vector<ThinPair> finite;
  for (std::size_t index = 0; index < factors.size(); ++index) {
    Outcome& outcome = outcomes.emplace_back();
    outcome.head = heads[index];
    if (find_not_finite(factors[index].left) || find_not_finite(factors[index].right)) {
      outcome.skipped = kFactorNotFinite;
    } else {
      finite.push_back({factors[index].left, factors[index].right});
    }
  }
  const auto results = thin_products_singular_values(finite);
  std::size_t next = 0;
  for (Outcome& outcome : outcomes) {
    if (!outcome.skipped.empty()) continue;
    const std::int64_t width = finite[next].left.cols, inner = finite[next].left.rows;
    outcome = measured(outcome.head, results[next++],
                       {.rows = width, .cols = width, .inner = inner}, wanted);
  }
  return outcomes;
}

std::vector<Outcome> matrix_spectra(const Model& model, std::int64_t layer, Role role,
                                    const SpectrumRequest& request) {
  const HeadShape& shape = model.dimensions().heads;
  const std::int64_t heads = request.per_head ? shape.count(role) : 0;
  const auto read = read_matrix(model, layer, role);
  if (!read.skipped.empty()) return all_skipped(read.skipped, heads);
  const SpectrumFields wanted = fields_wanted(request, model.dimensions().width);
  return std::visit(
      [&](const auto& matrix) {
        using T = std::remove_const_t<std::remove_pointer_t<decltype(matrix.data())>>;
        std::vector<Outcome> outcomes = {whole_spectrum(matrix.view(), wanted)};
        std::vector<MatrixView<const T>> own;
        std::vector<Matrix<T>> stacked;  // heads whose rows do not lie together
        for (std::int64_t head = 0; head < heads; ++head) {
          if (role == Role::kv) {
            stacked.push_back(stacked_head(matrix.view(), head, shape));
            own.push_back(stacked.back().view());
          } else {
            own.push_back(head_slice(matrix.view(), role, head, shape));
          }
        }
        for (Outcome& outcome : head_spectra(own, wanted)) outcomes.push_back(std::move(outcome));
        return outcomes;
      },
      read.matrix);
}

std::vector<Outcome> product_spectra(const Model& model, std::int64_t layer, Role circuit,
                                     const SpectrumRequest& request) {
  const HeadShape& shape = model.dimensions().heads;
  const std::int64_t heads = request.per_head ? shape.count(circuit) : 0;
  const bool qk = circuit == Role::qk;
  const auto left =
      read_weight_float64(model, model.weight(layer, qk ? Role::query : Role::output));
  const auto right = read_weight_float64(model, model.weight(layer, qk ? Role::key : Role::value));
  for (const auto* read : {&left, &right}) {
    if (!read->skipped.empty()) return all_skipped("a factor: " + read->skipped, heads);
  }
  const CircuitWeights weights{circuit, left.matrix.view(), right.matrix.view(), shape};
  const Matrix<double> summed = summed_left_factor(weights);
  std::vector<std::optional<std::int64_t>> ids = {std::nullopt};
  std::vector<CircuitFactors> factors = {{summed.view(), weights.right}};
  for (std::int64_t head = 0; head < heads; ++head) {
    ids.emplace_back(head);
    factors.push_back(head_factors(weights, head));
    // Where no heads are added up, the sum's rows are the heads'.
    CircuitFactors& own = factors.back();
    if (shape.group_size() == 1) {
      own.left = summed.view().row_block(head * own.left.rows, own.left.rows);
    }
  }
  return product_spectra_of(ids, factors, fields_wanted(request, model.dimensions().width));
}

double estimated_flops(const Dimensions& dimensions, Role role, bool per_head) {
  const HeadShape& shape = dimensions.heads;
  const double heads = per_head ? static_cast<double>(shape.count(role)) : 0;
  const double width = static_cast<double>(dimensions.width);
  if (is_product(role)) {
    const double inner = static_cast<double>(role == Role::qk ? shape.head_dim : shape.value_dim);
    const double summed = std::min(inner * static_cast<double>(shape.kv_heads), width);
    // Two QR factorisations, the product of the triangles, and its spectrum.
    const auto product = [&](double rank) {
      return 4 * width * rank * rank + 4 * rank * rank * rank;
    };
    return product(summed) + heads * product(inner);
  }
  const auto [rows, cols] = canonical_shape(dimensions, role);
  const double slice =
      static_cast<double>(role == Role::kv ? shape.head_dim + shape.value_dim : shape.head_dim);
  return spectrum_flops(static_cast<double>(rows), static_cast<double>(cols)) +
         heads * spectrum_flops(slice, width);
}

/// The whole matrix takes more than any head of it.
std::uint64_t estimated_bytes(const Model& model, std::int64_t layer, Role role) {
  if (!is_product(role)) return matrix_spectrum_bytes(model, layer, role);
  const Dimensions& dimensions = model.dimensions();
  const std::int64_t inner = summed_rank(dimensions.heads, role);
  return circuit_factor_bytes(dimensions, role) + float64_bytes(inner, dimensions.width) +
         product_spectrum_bytes(inner, dimensions.width);
}

Record common_parameters(const SpectrumRequest& request) {
  Record parameters = {{"energy", request.thresholds}, {"values", request.with_values}};
  if (request.ranks.empty()) return parameters;
  Value::List ranks;
  for (const RankText& rank : request.ranks) ranks.emplace_back(rank.text);
  return parameters.add("rank", std::move(ranks));
}

/// How a store names the rows: all that decides their numbers beside the weights.
StoredAnalysis stored_analysis(const SpectrumRequest& request) {
  return {.name = "spectrum",
          .revision = kRevision,
          .command = "spectrum",
          .parameters = common_parameters(request)};
}

}  // namespace

std::int64_t RankText::resolve(std::int64_t width) const {
  const double rank = of_width ? std::round(number * static_cast<double>(width)) : number;
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(rank));
}

Report run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                    const ProgressFn& on_progress) {
  const auto matrices = select_matrices(models, request.matrices);
  Report report{.command = "spectrum", .parameters = common_parameters(request)};
  Value::List names;
  for (const Role role : request.matrices) names.emplace_back(role_name(role));
  report.parameters.add("matrix", names.empty() ? Value() : Value(std::move(names)))
      .add("layers", request.layers_text.empty() ? Value() : Value(request.layers_text))
      .add("per_head", request.per_head);

  for (std::size_t index = 0; index < models.size(); ++index) {
    if (matrices[index].empty())
      report.notes.push_back(models[index].name() + " has none of these matrices");
  }

  LayerWork work;
  work.compute = [&](const Model& model, std::int64_t layer, Role role) {
    return is_product(role) ? product_spectra(model, layer, role, request)
                            : matrix_spectra(model, layer, role, request);
  };
  work.flops = [&](const Model& model, Role role) {
    return estimated_flops(model.dimensions(), role, request.per_head);
  };
  work.memory_bytes = estimated_bytes;
  work.store = request.store;
  work.analysis = stored_analysis(request);
  work.analysis.parameters.add("per_head", request.per_head);
  run_layers(report, models, matrices, request.layers, work, request.resources, on_progress);
  return report;
}

Report run_tensor_spectrum(std::span<const Checkpoint> checkpoints,
                           std::span<const std::string> names, const std::string& tensor,
                           const SpectrumRequest& request, const ProgressFn& on_progress) {
  for (const RankText& rank : request.ranks) {
    if (!rank.of_width) continue;
    throw Error(ErrorKind::usage, "--rank",
                "'" + rank.text +
                    "' is a share of a model's width, which a tensor alone has not; "
                    "name a number");
  }
  const SpectrumFields wanted = fields_wanted(request, /*width=*/0);
  std::vector<const CheckpointTensor*> tensors;
  for (const Checkpoint& checkpoint : checkpoints) {
    const CheckpointTensor* found = checkpoint.find(tensor);
    if (found == nullptr) {
      std::vector<std::string> known;
      for (const CheckpointTensor& other : checkpoint.tensors()) known.push_back(other.name);
      throw Error(ErrorKind::usage, "--tensor",
                  checkpoint.main_file().string() + " has no '" + tensor + "'" +
                      checkpoint.missing_note(tensor) + suggestion(tensor, known));
    }
    if (found->view.shape.size() != 2 || found->view.element_count() == 0) {
      throw Error(ErrorKind::usage, "--tensor",
                  checkpoint.place_of(*found) + " has shape " + shape_text(found->view.shape) +
                      ", expected a matrix");
    }
    tensors.push_back(found);
  }

  Report report{.command = "spectrum"};
  report.parameters = common_parameters(request);
  report.parameters.add("tensor", tensor);
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    report.models.push_back({{"name", names[index]}, {"bytes", checkpoints[index].file_bytes()}});
  }
  std::optional<StoredItems> stored;
  if (request.store != nullptr) {
    StoredRun run{.analysis = stored_analysis(request), .parameters = report.parameters};
    run.analysis.parameters.add("tensor", tensor);
    for (std::size_t index = 0; index < tensors.size(); ++index) {
      run.models.push_back(
          stored_checkpoint(checkpoints[index], names[index], report.models[index]));
    }
    stored.emplace(*request.store, run);
  }

  std::vector<WorkItem> items;
  std::vector<Outcome> outcomes(tensors.size());
  for (std::size_t index = 0; index < tensors.size(); ++index) {
    const TensorView& view = tensors[index]->view;
    const auto compute = [&, index]() -> std::vector<Outcome> {
      const auto read = read_tensor(checkpoints[index], *tensors[index]);
      if (!read.skipped.empty()) return {{.skipped = read.skipped}};
      return {std::visit([&](const auto& matrix) { return whole_spectrum(matrix.view(), wanted); },
                         read.matrix)};
    };
    const auto run = [&, index, compute] {
      if (!stored) {
        outcomes[index] = compute().front();
        return;
      }
      ItemInputs inputs;
      inputs.add_matrix(checkpoints[index], *tensors[index], whole_matrix(tensors[index]->view));
      outcomes[index] = stored->get(inputs, {{.model = index, .matrix = tensor}}, compute).front();
    };
    const auto prefetch = [&, index] {
      checkpoints[index].prefetch(*tensors[index], tensors[index]->view.bytes);
    };
    const std::uint64_t decoded =
        static_cast<std::uint64_t>(view.element_count()) * (view.dtype == DType::f64 ? 8 : 4);
    items.push_back({.flops = spectrum_flops(static_cast<double>(view.shape[0]),
                                             static_cast<double>(view.shape[1])),
                     .bytes = view.bytes.size(),
                     .memory_bytes = decoded + spectrum_bytes(view.shape[0], view.shape[1]),
                     .run = run,
                     .prefetch = prefetch});
  }
  run_all(items, request.resources, on_progress);
  if (stored) stored->finish();

  for (std::size_t index = 0; index < tensors.size(); ++index) {
    add_outcome(report, names[index], std::nullopt, "matrix", tensor, outcomes[index]);
  }
  return report;
}

}  // namespace attnscope
