#include "attnscope/features/similarity/run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/heads.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/similarity/measures.h"

namespace attnscope {
namespace {

constexpr std::array kVectorMatrices = {Role::query, Role::key, Role::value};
/// The same matrices, and others whose vectors do not belong to heads.
constexpr std::array kComparedMatrices = {
    Role::query, Role::key,    Role::value,       Role::gate,      Role::up,
    Role::down,  Role::router, Role::shared_gate, Role::shared_up, Role::shared_down};

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

/// Applies `outcomes_of` to the matrix of the item.
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

/// Cosines of a matrix without heads: the input vectors of its units or, for `down`, their output
/// vectors.
Outcome unit_cosines(const WorkItem& item, const Model& model, const Weight& weight,
                     const Compute& compute) {
  const auto read = read_weight_float64(model, weight);
  if (!read.skipped.empty()) return {.skipped = read.skipped};
  const bool writes = item.role == Role::down || item.role == Role::shared_down;
  const MatrixView<const double> units =
      writes ? read.values.view().transposed() : read.values.view();
  if (const auto reason = find_not_finite(units)) return {.skipped = *reason};
  const auto bins = bins_of(item.parameters);
  return scope_outcome(PairScope::all, cosine_similarity(units, units.rows, bins, compute),
                       bins.has_value());
}

std::vector<Outcome> compute_cosines(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  const Model& model = *source.model;
  if (!item.experts.empty()) {
    return expert_outcomes(item, [&](std::int64_t expert) {
      compute.check_stop();
      return unit_cosines(item, model, model.expert_weight(*item.layer, expert, *item.role),
                          compute);
    });
  }
  if (!is_attention(*item.role)) {
    return {unit_cosines(item, model, model.weight(*item.layer, *item.role), compute)};
  }
  return with_matrix(item, source, [&](const auto& matrix) {
    if (const auto reason = find_not_finite(matrix)) return all_skipped(*reason, 0);
    return cosine_outcomes(matrix, head_rows_of(item, source), bins_of(item.parameters), compute);
  });
}

std::vector<Outcome> compute_overlap(const WorkItem& item, const ModelSource& source,
                                     const Compute& compute) {
  const Resolution resolution = resolution_of(*source.model, *item.layer, *item.role);
  return with_matrix(item, source, [&](const auto& matrix) {
    if (const auto reason = find_not_finite(matrix)) return all_skipped(*reason, 0);
    return std::vector<Outcome>{{.fields = overlap_fields(head_overlap(
                                     matrix, head_rows_of(item, source), resolution, compute))}};
  });
}

void add_overlap_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  add_role_inputs(inputs, item, source);
  // Stores may contain ranks of float64 weights computed with the eps of float32; these are not
  // reused.
  if (resolution_of(*source.model, *item.layer, *item.role) == Resolution::float64) {
    inputs.add("resolution", "float64");
  }
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

constexpr std::int64_t kHeadPanel = 512;  // rows per block of products

/// Cost of the products of all `vectors` rows with each other; memory in addition to the decoded
/// matrix.
Cost cost_of(const WorkItem& item, const ModelSource& source, std::int64_t vectors,
             std::uint64_t bytes) {
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  const auto count = static_cast<double>(vectors);
  return {count * count * static_cast<double>(cols),
          decoded_bytes(*source.model, *item.layer, *item.role) + bytes + kPackedBytes};
}

std::uint64_t panel_bytes(std::int64_t vectors, std::int64_t cols) {
  const std::int64_t panel = std::min(kHeadPanel, vectors);
  return 2 * float64_bytes(panel, cols) + 2 * float64_bytes(panel, panel);
}

/// Cost for a matrix without heads, or for one expert after another.
Cost units_cost(const WorkItem& item, const ModelSource& source) {
  const Model& model = *source.model;
  const Weight weight = item.experts.empty()
                            ? model.weight(*item.layer, *item.role)
                            : model.expert_weight(*item.layer, item.experts.front(), *item.role);
  const bool writes = item.role == Role::down || item.role == Role::shared_down;
  const std::int64_t vectors = writes ? weight.matrix.cols : weight.matrix.rows;
  const std::int64_t size = writes ? weight.matrix.rows : weight.matrix.cols;
  const auto count = static_cast<double>(vectors);
  const auto experts = static_cast<double>(std::max<std::size_t>(1, item.experts.size()));
  return {experts * count * count * static_cast<double>(size),
          2 * float64_bytes(vectors, size) + panel_bytes(vectors, size) + kPackedBytes};
}

Cost cosines_cost(const WorkItem& item, const ModelSource& source) {
  if (!is_attention(*item.role)) return units_cost(item, source);
  const auto [rows, cols] = canonical_shape(source.model->dimensions(*item.layer), *item.role);
  return cost_of(item, source, rows, panel_bytes(rows, cols));
}

/// Cost of all bases: the QR of one head and its products with the others.
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

/// Keeps only the matrices that have the requested head. Throws Error(usage) for a model without
/// the layer, or if none of its matrices has the head.
void keep_matrices_with_head(std::span<const Model> models, std::vector<std::vector<Role>>& roles,
                             const HeadIndex& place, RowSink& notes) {
  const std::int64_t head = place.head;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::int64_t layers = models[index].dimensions().layers;
    if (place.layer < -layers || place.layer >= layers) {
      throw Error(ErrorKind::usage, {.parameter = "head_matrix",
                                     .problem = models[index].name() + " has layers 0 to " +
                                                std::to_string(layers - 1)});
    }
    const std::int64_t layer = place.layer < 0 ? place.layer + layers : place.layer;
    const HeadShape& shape = models[index].dimensions(layer).heads;
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
                     ", so head " + std::to_string(head) + " is skipped for:" + lacking);
    }
  }
}

/// The plan of the request for each matrix.
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
  if (!request.experts.text.empty()) head.parameters.add("experts", request.experts.text);
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
                                        .roles = kComparedMatrices,
                                        .takes_experts = true,
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
                                        .add_inputs = add_overlap_inputs,
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
  const bool of_heads = request.overlap || request.head_matrix;
  for (const Role role : wanted) {
    if (!of_heads || is_attention(role)) continue;
    throw Error(ErrorKind::usage, {.parameter = "matrix",
                                   .problem = '\'' + std::string(role_name(role)) +
                                              "' has no heads to compare; use q, k or v"});
  }
  auto matrices = select_matrices(models, wanted, sink, /*of_experts=*/!of_heads);
  LayerSelection layers = request.layers;
  if (request.head_matrix) {
    keep_matrices_with_head(models, matrices, *request.head_matrix, sink);
    layers = {{{request.head_matrix->layer, request.head_matrix->layer}}};
  }
  Plan plan = plan_of(request);
  if (of_heads) {
    add_layers(plan, models, matrices, layers, sink);
  } else {
    add_layers_and_experts(plan, models, matrices, layers, request.experts, sink);
  }
  run_plan(plan, sources_of(models), similarity_head(request, wanted, plan), context, sink);
}

}  // namespace attnscope
