#include "attnscope/pipeline/similarity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/analysis/head_overlap.h"
#include "attnscope/analysis/heads.h"
#include "attnscope/analysis/similarity.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"
#include "attnscope/pipeline/weights.h"

namespace attnscope {
namespace {

constexpr int kRevision = 1;  // raised when the numbers of rows change

constexpr std::array kVectorMatrices = {Role::query, Role::key, Role::value};

std::int64_t rows_of_head(const HeadShape& shape, Role role) {
  return role == Role::value ? shape.value_dim : shape.head_dim;
}

Outcome scope_outcome(PairScope scope, const Similarity& similarity,
                      const SimilarityRequest& request) {
  const auto index = static_cast<std::size_t>(scope);
  Outcome outcome{.fields = scope_fields(scope, similarity, request.with_histogram)};
  const std::string& note = similarity.scopes[index].note;
  if (!note.empty()) outcome.note = std::string(kPairScopeNames[index]) + ": " + note;
  return outcome;
}

template <class T>
std::vector<Outcome> cosine_outcomes(MatrixView<const T> matrix, std::int64_t head_rows,
                                     const SimilarityRequest& request) {
  const std::optional<BinRule> bins =
      request.with_histogram ? std::optional(request.bins) : std::nullopt;
  const Similarity similarity = cosine_similarity(matrix, head_rows, bins);
  std::vector<Outcome> outcomes;
  for (const PairScope scope : {PairScope::within_head, PairScope::across_head, PairScope::all}) {
    outcomes.push_back(scope_outcome(scope, similarity, request));
  }
  return outcomes;
}

std::vector<double> row_values(const Matrix<double>& matrix, std::int64_t row) {
  return {&matrix(row, 0), &matrix(row, 0) + matrix.cols()};
}

template <class T>
std::vector<Outcome> overlap_outcomes(MatrixView<const T> matrix, std::int64_t head_rows) {
  return {{.fields = overlap_fields(head_overlap(matrix, head_rows))}};
}

template <class T>
std::vector<Outcome> head_matrix_outcomes(MatrixView<const T> head_rows, std::int64_t head) {
  const Matrix<double> cosines = cosine_matrix(head_rows);
  std::vector<Outcome> outcomes;
  for (std::int64_t row = 0; row < cosines.rows(); ++row) {
    Outcome& outcome = outcomes.emplace_back(Outcome{.head = head});
    outcome.fields.add("row", row).add("values", row_values(cosines, row));
  }
  return outcomes;
}

std::vector<Outcome> similarity_of(const Model& model, std::int64_t layer, Role role,
                                   const SimilarityRequest& request) {
  const HeadShape& shape = model.dimensions().heads;
  const auto read = read_weight(model, model.weight(layer, role));
  if (!read.skipped.empty()) return all_skipped(read.skipped, 0);
  return std::visit(
      [&](const auto& decoded) -> std::vector<Outcome> {
        const auto matrix = decoded.view();
        if (request.head_matrix) {
          const std::int64_t head = request.head_matrix->head;
          const auto rows = head_slice(matrix, role, head, shape);
          if (const auto reason = find_not_finite(rows)) {
            return {{.head = head, .skipped = *reason}};
          }
          return head_matrix_outcomes(rows, head);
        }
        if (const auto reason = find_not_finite(matrix)) return all_skipped(*reason, 0);
        if (request.overlap) return overlap_outcomes(matrix, rows_of_head(shape, role));
        return cosine_outcomes(matrix, rows_of_head(shape, role), request);
      },
      read.matrix);
}

/// Beside the decoded matrix.
std::uint64_t estimated_bytes(const Model& model, Role role, const SimilarityRequest& request) {
  constexpr std::int64_t kPanel =
      512;  // rows whose products with as many others are formed at once
  const auto [rows, cols] = canonical_shape(model.dimensions(), role);
  const std::int64_t head_rows = rows_of_head(model.dimensions().heads, role);
  if (request.overlap) {  // all bases, the QR of one head, its products with the others
    return float64_bytes(rows, cols) + 3 * float64_bytes(head_rows, cols) +
           float64_bytes(head_rows, rows);
  }
  const std::int64_t compared = request.head_matrix ? head_rows : rows;
  const std::int64_t panel = std::min(kPanel, compared);
  const std::uint64_t panels = 2 * float64_bytes(panel, cols) + 2 * float64_bytes(panel, panel);
  if (request.head_matrix) return panels + float64_bytes(head_rows, head_rows);
  return panels;
}

/// Leaves the matrices of each model that have the head asked for. Throws Error(usage) for a model
/// that lacks the layer, or has the head in none of them.
void keep_matrices_with_head(std::span<const Model> models, std::vector<std::vector<Role>>& roles,
                             const HeadPlace& place, std::vector<std::string>& notes) {
  const std::int64_t head = place.head;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const HeadShape& shape = models[index].dimensions().heads;
    const std::int64_t layers = models[index].dimensions().layers;
    if (place.layer < -layers || place.layer >= layers) {
      throw Error(ErrorKind::usage, "--head-matrix",
                  models[index].name + " has layers 0 to " + std::to_string(layers - 1));
    }
    std::string lacking;
    std::int64_t most = 0;
    for (const Role role : roles[index]) {
      most = std::max(most, shape.count(role));
      if (head < shape.count(role)) continue;
      lacking += ' ';
      lacking += role_name(role);
    }
    if (head >= most) {
      throw Error(ErrorKind::usage, "--head-matrix",
                  models[index].name + " has heads 0 to " + std::to_string(most - 1));
    }
    std::erase_if(roles[index], [&](Role role) { return head >= shape.count(role); });
    if (!lacking.empty()) {
      notes.push_back(models[index].name + " has " + std::to_string(shape.kv_heads) +
                      " key/value heads, so head " + std::to_string(head) +
                      " is left out of:" + lacking);
    }
  }
}

void add_parameters(Report& report, const SimilarityRequest& request,
                    std::span<const Role> matrices) {
  Value::List names;
  for (const Role role : matrices) names.emplace_back(role_name(role));
  report.parameters.add("matrix", std::move(names))
      .add("layers", request.layers_text.empty() ? Value() : Value(request.layers_text));
  if (request.head_matrix) {
    report.parameters.add("head_matrix",
                          Value::List{request.head_matrix->layer, request.head_matrix->head});
  } else if (request.overlap) {
    report.parameters.add("overlap", true);
  } else {
    report.parameters.add("histogram", request.with_histogram);
    if (request.with_histogram) add_bin_parameters(report.parameters, request.bins);
  }
}

StoredAnalysis stored_analysis(const SimilarityRequest& request) {
  StoredAnalysis analysis{.revision = kRevision, .command = "similarity"};
  if (request.head_matrix) {
    analysis.name = "head_matrix";
    analysis.parameters.add("head", request.head_matrix->head);
  } else if (request.overlap) {
    analysis.name = "head_overlap";
  } else {
    analysis.name = "similarity";
    analysis.parameters.add("histogram", request.with_histogram);
    if (request.with_histogram) add_bin_parameters(analysis.parameters, request.bins);
  }
  return analysis;
}

}  // namespace

void drop_heads(Report& report) {
  for (Record& row : report.rows) {
    Record kept;
    for (const auto& [name, value] : row.fields()) {
      if (name != "head") kept.add(name, value);
    }
    row = std::move(kept);
  }
}

Report run_similarity(std::span<const Model> models, const SimilarityRequest& request,
                      const ProgressFn& on_progress) {
  const std::span<const Role> wanted =
      request.matrices.empty() ? std::span<const Role>(kVectorMatrices) : request.matrices;
  auto matrices = select_matrices(models, wanted);
  Report report{.command = "similarity"};
  add_parameters(report, request, wanted);
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (matrices[index].empty())
      report.notes.push_back(models[index].name + " has none of these matrices");
  }
  LayerSelection layers = request.layers;
  if (request.head_matrix) {
    keep_matrices_with_head(models, matrices, *request.head_matrix, report.notes);
    layers = LayerSelection(std::to_string(request.head_matrix->layer));
  }

  LayerWork work;
  work.compute = [&](const Model& model, std::int64_t layer, Role role) {
    return similarity_of(model, layer, role, request);
  };
  work.flops = [&](const Model& model, Role role) {
    const auto [rows, cols] = canonical_shape(model.dimensions(), role);
    const bool one_head = request.head_matrix.has_value();
    const double vectors =
        static_cast<double>(one_head ? rows_of_head(model.dimensions().heads, role) : rows);
    return vectors * vectors * static_cast<double>(cols);
  };
  work.memory_bytes = [&](const Model& model, std::int64_t layer, Role role) {
    return decoded_bytes(model, layer, role) + estimated_bytes(model, role, request) + kPackedBytes;
  };
  work.store = request.store;
  work.analysis = stored_analysis(request);
  run_layers(report, models, matrices, layers, work, request.resources, on_progress);
  if (!request.head_matrix) drop_heads(report);
  return report;
}

}  // namespace attnscope
