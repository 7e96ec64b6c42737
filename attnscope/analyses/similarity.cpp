#include "attnscope/analyses/similarity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/analyses/estimates.h"
#include "attnscope/analyses/read_weight.h"
#include "attnscope/analyses/weights.h"
#include "attnscope/analysis/head_overlap.h"
#include "attnscope/analysis/heads.h"
#include "attnscope/analysis/similarity.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/run/runner.h"

namespace attnscope {
namespace {

constexpr std::array kVectorMatrices = {Role::query, Role::key, Role::value};

Outcome scope_outcome(PairScope scope, const Similarity& similarity, bool with_histogram) {
  const auto index = static_cast<std::size_t>(scope);
  Outcome outcome{.fields = scope_fields(scope, similarity, with_histogram)};
  const std::string& note = similarity.scopes[index].note;
  if (!note.empty()) outcome.note = std::string(kPairScopeNames[index]) + ": " + note;
  return outcome;
}

template <class T>
std::vector<Outcome> cosine_outcomes(MatrixView<const T> matrix, std::int64_t head_rows,
                                     const std::optional<BinRule>& bins, const Compute& compute) {
  const Similarity similarity = cosine_similarity(matrix, head_rows, bins, compute);
  std::vector<Outcome> outcomes;
  for (const PairScope scope : {PairScope::within_head, PairScope::across_head, PairScope::all}) {
    outcomes.push_back(scope_outcome(scope, similarity, bins.has_value()));
  }
  return outcomes;
}

std::vector<double> row_values(const Matrix<double>& matrix, std::int64_t row) {
  return {&matrix(row, 0), &matrix(row, 0) + matrix.cols()};
}

template <class T>
std::vector<Outcome> head_matrix_outcomes(MatrixView<const T> head_rows, std::int64_t head,
                                          const Compute& compute) {
  const Matrix<double> cosines = cosine_matrix(head_rows, compute);
  std::vector<Outcome> outcomes;
  for (std::int64_t row = 0; row < cosines.rows(); ++row) {
    Outcome& outcome = outcomes.emplace_back(Outcome{.head = head});
    outcome.fields.add("row", row).add("values", row_values(cosines, row));
  }
  return outcomes;
}

/// The outcomes that `outcomes_of` makes of the item's matrix.
template <class OutcomesOf>
std::vector<Outcome> with_matrix(const WorkItem& item, const ModelSource& source,
                                 OutcomesOf outcomes_of) {
  const auto read = read_heads(*source.model, *item.layer, *item.role);
  if (!read.skipped.empty()) return all_skipped(read.skipped, 0);
  return std::visit([&](const auto& decoded) { return outcomes_of(decoded.view()); }, read.values);
}

std::int64_t head_rows_of(const WorkItem& item, const ModelSource& source) {
  return source.model->dimensions(*item.layer).heads.inner_dim(*item.role);
}

std::vector<Outcome> compute_cosines(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  return with_matrix(item, source, [&](const auto& matrix) {
    if (const auto reason = find_not_finite(matrix)) return all_skipped(*reason, 0);
    return cosine_outcomes(matrix, head_rows_of(item, source), bins_of(item.parameters), compute);
  });
}

std::vector<Outcome> compute_overlap(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  return with_matrix(item, source, [&](const auto& matrix) {
    if (const auto reason = find_not_finite(matrix)) return all_skipped(*reason, 0);
    return std::vector<Outcome>{
        {.fields = overlap_fields(head_overlap(matrix, head_rows_of(item, source), compute))}};
  });
}

std::vector<Outcome> compute_head_matrix(const WorkItem& item, const ModelSource& source,
                                         const Compute& compute) {
  const auto head = expect<std::int64_t>(item.parameters, "head");
  return with_matrix(item, source, [&](const auto& matrix) -> std::vector<Outcome> {
    const HeadShape& shape = source.model->dimensions(*item.layer).heads;
    if (head < 0 || head >= shape.count(*item.role)) refuse_field("head");
    const auto rows = head_slice(matrix, *item.role, head, shape);
    if (const auto reason = find_not_finite(rows)) return {{.head = head, .skipped = *reason}};
    return head_matrix_outcomes(rows, head, compute);
  });
}

constexpr std::int64_t kPanel = 512;  // rows whose products with as many others are formed at once

/// Of the products of all `vectors` rows with each other; memory beside the decoded matrix.
Cost cost_of(const WorkItem& item, const ModelSource& source, std::int64_t vectors,
             std::uint64_t bytes) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  const auto count = static_cast<double>(vectors);
  return {count * count * static_cast<double>(cols),
          decoded_bytes(*source.model, *item.layer, *item.role) + bytes + kPackedBytes};
}

std::uint64_t panel_bytes(std::int64_t vectors, std::int64_t cols) {
  const std::int64_t panel = std::min(kPanel, vectors);
  return 2 * float64_bytes(panel, cols) + 2 * float64_bytes(panel, panel);
}

Cost cosines_cost(const WorkItem& item, const ModelSource& source) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  return cost_of(item, source, rows, panel_bytes(rows, cols));
}

/// All bases, the QR of one head, its products with the others.
Cost overlap_cost(const WorkItem& item, const ModelSource& source) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  const std::int64_t head_rows = head_rows_of(item, source);
  return cost_of(item, source, rows,
                 float64_bytes(rows, cols) + 3 * float64_bytes(head_rows, cols) +
                     float64_bytes(head_rows, rows));
}

Cost head_matrix_cost(const WorkItem& item, const ModelSource& source) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  const std::int64_t head_rows = head_rows_of(item, source);
  return cost_of(item, source, head_rows,
                 panel_bytes(head_rows, cols) + float64_bytes(head_rows, head_rows));
}

RowMaker make_head_rows(RowSink& sink) { return rows_with_heads(sink); }

/// Leaves the matrices of each model that have the head asked for. Throws Error(usage) for a model
/// that lacks the layer, or has the head in none of them.
void keep_matrices_with_head(std::span<const Model> models, std::vector<std::vector<Role>>& roles,
                             const HeadPlace& place, RowSink& notes) {
  const std::int64_t head = place.head;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const HeadShape& shape = models[index].dimensions().heads;
    const std::int64_t layers = models[index].dimensions().layers;
    if (place.layer < -layers || place.layer >= layers) {
      throw Error(ErrorKind::usage, {.parameter = "head_matrix",
                                     .problem = models[index].name() + " has layers 0 to " +
                                                std::to_string(layers - 1)});
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
      throw Error(ErrorKind::usage, {.parameter = "head_matrix",
                                     .problem = models[index].name() + " has heads 0 to " +
                                                std::to_string(most - 1)});
    }
    std::erase_if(roles[index], [&](Role role) { return head >= shape.count(role); });
    if (!lacking.empty()) {
      notes.add_note(models[index].name() + " has " + counted(shape.kv_heads, "key/value head") +
                     ", so head " + std::to_string(head) + " is left out of:" + lacking);
    }
  }
}

/// What is asked of each matrix.
Plan plan_of(const SimilarityRequest& request) {
  if (request.head_matrix) {
    return {.analysis = &head_matrix_analysis(),
            .parameters = {{"head", request.head_matrix->head}}};
  }
  if (request.overlap) return {.analysis = &head_overlap_analysis()};
  return {.analysis = &similarity_analysis(), .parameters = request.options};
}

ReportHead similarity_head(const SimilarityRequest& request, std::span<const Role> matrices,
                           const Plan& plan) {
  ReportHead head{
      .command = "similarity",
      .parameters = {{"matrix", roles_value(matrices)}, {"layers", request.layers.parameter()}}};
  if (request.head_matrix) {
    head.parameters.add("head_matrix", std::vector<std::int64_t>{request.head_matrix->layer,
                                                                 request.head_matrix->head});
  } else if (request.overlap) {
    head.parameters.add("overlap", true);
  } else {
    for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  }
  return head;
}

}  // namespace

const Analysis& similarity_analysis() {
  static constexpr Analysis analysis = {.name = "similarity",
                                        .command = "similarity",
                                        .roles = kVectorMatrices,
                                        .compute = compute_cosines,
                                        .cost = cosines_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = rows_without_heads};
  return analysis;
}

const Analysis& head_overlap_analysis() {
  static constexpr Analysis analysis = {.name = "head_overlap",
                                        .command = "similarity",
                                        .roles = kVectorMatrices,
                                        .compute = compute_overlap,
                                        .cost = overlap_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = rows_without_heads};
  return analysis;
}

const Analysis& head_matrix_analysis() {
  static constexpr Analysis analysis = {.name = "head_matrix",
                                        .command = "similarity",
                                        .roles = kVectorMatrices,
                                        .compute = compute_head_matrix,
                                        .cost = head_matrix_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = make_head_rows};
  return analysis;
}

void run_similarity(std::span<const Model> models, const SimilarityRequest& request,
                    const Context& context, RowSink& sink) {
  const std::span<const Role> wanted =
      request.matrices.empty() ? std::span<const Role>(kVectorMatrices) : request.matrices;
  auto matrices = select_matrices(models, wanted, sink);
  LayerSelection layers = request.layers;
  if (request.head_matrix) {
    keep_matrices_with_head(models, matrices, *request.head_matrix, sink);
    layers = {{{request.head_matrix->layer, request.head_matrix->layer}}};
  }
  Plan plan = plan_of(request);
  add_layers(plan, models, matrices, layers, sink);
  run_plan(plan, sources_of(models), similarity_head(request, wanted, plan), context, sink);
}

}  // namespace attnscope
