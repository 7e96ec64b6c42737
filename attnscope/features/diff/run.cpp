#include "attnscope/features/diff/run.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "attnscope/adapters/adapter_names.h"
#include "attnscope/base/error.h"
#include "attnscope/base/heads.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/diff/measures.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/eigenvectors.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

/// A matrix of both models, and its rows.
struct MatrixPair {
  std::int64_t layer = 0;
  Role role = Role::query;
  std::string skipped;  // reason if there are no rows
  std::vector<std::pair<std::optional<std::int64_t>, Record>>
      rows;  // of the whole matrix and of heads
};

std::vector<double> roots(const std::vector<double>& squares) {
  std::vector<double> out;
  for (const double square : squares) out.push_back(std::sqrt(std::max(square, 0.0)));
  return out;
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

Record by_threshold(const std::vector<double>& values, const std::vector<double>& thresholds) {
  Record out;
  for (const double threshold : thresholds) {
    out.add(shortest_decimal(threshold), energy_rank(values, threshold));
  }
  return out;
}

Record size_fields(const std::vector<double>& change, const std::vector<double>& weight,
                   const SpectrumShape& shape, const DiffRequest& request) {
  const double of_change = norm_of(change), of_weight = norm_of(weight);
  Record nulls;
  const RandomBaseline baseline(shape);
  for (const double threshold : request.energy) {
    nulls.add(shortest_decimal(threshold), baseline.energy_rank(threshold));
  }
  Record out = {{"shape", std::vector<std::int64_t>{shape.rows, shape.cols}}};
  out.add("relative_change", of_weight > 0 ? Value(of_change / of_weight) : Value())
      .add("change_norm", of_change)
      .add("weight_norm", of_weight)
      .add("energy_rank", by_threshold(change, request.energy))
      .add("random_energy_rank", std::move(nulls))
      .add("weight_energy_rank", by_threshold(weight, request.energy))
      .add("max_possible_rank", shape.max_possible_rank());
  return out;
}

/// Overlap of the leading directions of the change with those of the weight, on one side.
Record space_fields(MatrixView<const double> change, MatrixView<const double> weight,
                    const Compute& compute) {
  const SubspaceOverlap overlap = subspace_overlap(change, weight, compute);
  return {{"overlap", overlap.share}, {"random_overlap", overlap.null}, {"angle", overlap.angle}};
}

void add_head_rows(MatrixPair& pair, const Matrix<double>& change, const Matrix<double>& weight,
                   const HeadShape& heads, const DiffRequest& request, const Compute& compute) {
  for (std::int64_t head = 0; head < heads.count(pair.role); ++head) {
    const auto of_change = head_slice(change.view(), pair.role, head, heads);
    const auto of_weight = head_slice(weight.view(), pair.role, head, heads);
    Record row = size_fields(singular_values(of_change, compute).values,
                             singular_values(of_weight, compute).values,
                             {.rows = of_change.rows, .cols = of_change.cols}, request);
    row.add("output_space", Value()).add("input_space", Value());
    pair.rows.emplace_back(head, std::move(row));
  }
}

void compare(const Model& base, const Model& tuned, const DiffRequest& request, MatrixPair& pair,
             const Compute& compute) {
  const Weight& old_weight = base.weight(pair.layer, pair.role);
  const Weight& new_weight = tuned.weight(pair.layer, pair.role);
  if (new_weight.tensor == nullptr) {
    pair.skipped = new_weight.missing;
    return;
  }
  if (std::pair(old_weight.matrix.rows, old_weight.matrix.cols) !=
      std::pair(new_weight.matrix.rows, new_weight.matrix.cols)) {
    const auto shape = [](const TensorMatrix& matrix) {
      return shape_text(Shape{matrix.rows, matrix.cols});
    };
    pair.skipped = "has a different shape than in " + base.name() + ": " +
                   shape(new_weight.matrix) + ", not " + shape(old_weight.matrix);
    return;
  }
  Read<Matrix<double>> weight = read_weight_float64(base, old_weight);
  Read<Matrix<double>> change = read_weight_float64(tuned, new_weight);
  for (const Read<Matrix<double>>* read : {&weight, &change}) {
    if (read->skipped.empty()) {
      if (auto reason = find_not_finite(read->values.view())) pair.skipped = *reason;
    } else {
      pair.skipped = read->skipped;
    }
    if (pair.skipped.empty()) continue;
    if (read == &weight) pair.skipped += " in " + base.name();
    return;
  }
  const std::int64_t count = weight.values.rows() * weight.values.cols();
  for (std::int64_t at = 0; at < count; ++at) change.values.data()[at] -= weight.values.data()[at];
  const Directions of_weight = directions_of(weight.values.view(), compute);
  compute.check_stop();
  const Directions of_change = directions_of(change.values.view(), compute);
  const std::vector<double> own = roots(of_change.squares), whole = roots(of_weight.squares);
  Record row = size_fields(own, whole, {.rows = weight.values.rows(), .cols = weight.values.cols()},
                           request);
  const std::int64_t used = energy_rank(own, request.energy.front());
  const std::int64_t uses = energy_rank(whole, request.energy.front());
  if (used == 0 || uses == 0) {
    row.add("output_space", Value()).add("input_space", Value());
  } else {
    row.add("output_space", space_fields(of_change.left.view().row_block(0, used),
                                         of_weight.left.view().row_block(0, uses), compute))
        .add("input_space", space_fields(of_change.right.view().row_block(0, used),
                                         of_weight.right.view().row_block(0, uses), compute));
  }
  pair.rows.emplace_back(std::nullopt, std::move(row));
  if (!request.per_head) return;
  const HeadShape &old_heads = base.dimensions(pair.layer).heads,
                  &new_heads = tuned.dimensions(pair.layer).heads;
  if (old_heads.count(pair.role) != new_heads.count(pair.role)) {
    pair.skipped = "has " + counted(new_heads.count(pair.role), "head") + ", but " +
                   std::to_string(old_heads.count(pair.role)) + " in " + base.name() +
                   ": heads are not compared";
    return;
  }
  add_head_rows(pair, change.values, weight.values, base.dimensions(pair.layer).heads, request,
                compute);
}

/// The tensors of the projections.
std::set<const CheckpointTensor*> projections_of(const Model& model) {
  std::set<const CheckpointTensor*> out;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : kProjections) out.insert(model.weight(layer, role).tensor);
  }
  return out;
}

/// Adds a note if the fine-tuned model has a separate LM head but the base ties it to the
/// embedding.
void note_untied_head(const Model& base, const Model& tuned, RowSink& sink) {
  const CheckpointTensor* head = tuned.checkpoint().find_first(tuned.spec().head.rule.weight);
  const auto& heads = base.spec().head.rule.weight;
  if (head == nullptr || tuned.spec().tied || !base.spec().tied) return;
  if (base.checkpoint().find_first(heads) != nullptr) return;  // compared like any other tensor
  const CheckpointTensor* embedding =
      base.checkpoint().find(base.prefix() + base.spec().stream.embedding.tokens);
  if (embedding == nullptr) return;
  sink.add_note(verbatim("the LM head of " + tuned.name() + ", '" + head->name + "', " +
                         (same_elements(embedding->view, head->view) ? "equals" : "differs from") +
                         " the embedding to which " + base.name() + " ties its LM head"));
}

/// Adds notes about tensors other than matrices that changed, or exist in only one of the models.
void note_others(const Model& base, const Model& tuned, RowSink& sink) {
  if (base.checkpoint().is_remote() || tuned.checkpoint().is_remote()) {
    sink.add_note("tensors other than the matrices are not fetched and not compared");
    return;
  }
  const auto matrices = projections_of(base), new_matrices = projections_of(tuned);
  std::vector<std::string> changed, missing, added;
  for (const CheckpointTensor& tensor : base.checkpoint().tensors()) {
    if (matrices.contains(&tensor)) continue;
    const CheckpointTensor* other = counterpart(base, tensor.name, tuned);
    if (other == nullptr) {
      missing.push_back(tensor.name);
    } else if (!same_elements(tensor.view, other->view)) {
      changed.push_back(tensor.name);
    }
  }
  for (const CheckpointTensor& tensor : tuned.checkpoint().tensors()) {
    if (new_matrices.contains(&tensor)) continue;
    if (counterpart(tuned, tensor.name, base) == nullptr) added.push_back(tensor.name);
  }
  const auto say = [&](const std::vector<std::string>& names, const std::string& what) {
    if (names.empty()) return;
    constexpr std::size_t kShown = 4;
    std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
    sink.add_note(verbatim(what + counted(names.size(), "tensor") + " other than matrices: " +
                           join(shown) + (names.size() > kShown ? ", …" : "")));
  };
  say(changed, tuned.name() + " changed ");
  say(missing, tuned.name() + " does not have ");
  say(added, tuned.name() + " adds ");
  note_untied_head(base, tuned, sink);
}

/// Adds notes about differences in size that rows cannot show.
void note_sizes(const Model& base, const Model& tuned, RowSink& sink) {
  const auto say = [&](std::int64_t before, std::int64_t after, std::string_view what) {
    if (before == after) return;
    sink.add_note(verbatim(tuned.name() + " has " + counted(after, what) + ", but " + base.name() +
                           " has " + std::to_string(before)));
  };
  say(base.dimensions().layers, tuned.dimensions().layers, "layer");
  say(base.dimensions().experts, tuned.dimensions().experts, "expert");
  if (base.dimensions().experts > 0 || tuned.dimensions().experts > 0) {
    sink.add_note("matrices of experts are not compared");
  }
}

/// The requested projections that at least one of the models has, by default in the order of
/// kProjections.
std::vector<Role> roles_of_both(const Model& base, const Model& tuned, const DiffRequest& request,
                                RowSink& sink) {
  const std::vector<Model> models = {base, tuned};
  const auto selected = select_matrices(models, request.matrices, sink, /*of_experts=*/false);
  const std::span<const Role> order =
      request.matrices.empty() ? std::span<const Role>(kProjections) : request.matrices;
  std::vector<Role> out;
  for (const Role role : order) {
    const bool any = std::any_of(selected.begin(), selected.end(), [&](const auto& own) {
      return std::find(own.begin(), own.end(), role) != own.end();
    });
    if (!any || std::find(out.begin(), out.end(), role) != out.end()) continue;
    if (!is_projection(role)) {
      throw Error(
          ErrorKind::usage,
          {.parameter = "matrix",
           .problem = '\'' + std::string(role_name(role)) +
                      "' is a product of several matrices; compare the matrices themselves"});
    }
    out.push_back(role);
  }
  return out;
}

/// The reason why a matrix has no rows because one of the models lacks it; empty if both have it.
/// No value: neither has it, because of the kind of the layer.
std::optional<std::string> why_missing(const Model& base, const Model& tuned,
                                       const DiffRequest& request, std::int64_t layer, Role role) {
  const Weight& before = base.weight(layer, role);
  const bool in_tuned =
      layer < tuned.dimensions().layers && tuned.weight(layer, role).tensor != nullptr;
  if (before.tensor != nullptr) {
    return layer < tuned.dimensions().layers ? "" : tuned.name() + " has no such layer";
  }
  if (!in_tuned) {
    const bool of_experts = is_of_mlp(role) && base.dimensions().experts > 0;
    if (before.missing.empty() || of_experts) return std::nullopt;
    if (is_passed_over(request.layers, base, role, layer)) return std::nullopt;
  }
  return (before.missing.empty() ? "has no such matrix" : before.missing) + " in " + base.name();
}

/// Every matrix that at least one of the models has.
std::vector<MatrixPair> matrix_pairs(const Model& base, const Model& tuned,
                                     const DiffRequest& request, std::span<const Role> roles) {
  std::vector<MatrixPair> pairs;
  for (const std::int64_t layer : request.layers.resolve(base.dimensions().layers, base.name())) {
    for (const Role role : roles) {
      if (auto reason = why_missing(base, tuned, request, layer, role)) {
        pairs.push_back({.layer = layer, .role = role, .skipped = *std::move(reason)});
      }
    }
  }
  if (!request.layers.ranges.empty()) return pairs;
  for (std::int64_t layer = base.dimensions().layers; layer < tuned.dimensions().layers; ++layer) {
    for (const Role role : roles) {
      if (tuned.weight(layer, role).tensor == nullptr) continue;
      pairs.push_back(
          {.layer = layer, .role = role, .skipped = base.name() + " has no such layer"});
    }
  }
  return pairs;
}

}  // namespace

void run_diff(const Model& base, const Model& tuned, const DiffRequest& request,
              const Context& context, RowSink& sink) {
  const std::vector<Role> roles = roles_of_both(base, tuned, request, sink);
  std::vector<MatrixPair> pairs = matrix_pairs(base, tuned, request, roles);
  std::vector<QueueItem> items;
  for (MatrixPair& pair : pairs) {
    if (!pair.skipped.empty()) continue;
    const TensorMatrix& matrix = base.weight(pair.layer, pair.role).matrix;
    const auto rows = static_cast<double>(matrix.rows), cols = static_cast<double>(matrix.cols);
    const double least = std::min(rows, cols);
    items.push_back(
        {.flops = 8 * rows * cols * least + 20 * least * least * least,
         .memory_bytes =
             static_cast<std::uint64_t>(sizeof(double) * (6 * rows * cols + 8 * least * least)),
         .run = [&](const Compute& compute) { compare(base, tuned, request, pair, compute); }});
  }
  run_queue(items, context, {}, {"matrix", "matrices"});
  const bool any = std::any_of(pairs.begin(), pairs.end(),
                               [](const MatrixPair& pair) { return !pair.rows.empty(); });
  if (!any) {
    throw Error(ErrorKind::numerical,
                {.place = tuned.name(),
                 .problem = "has no matrix in common with " + base.name() +
                            (pairs.empty() ? "" : ": " + verbatim(pairs.front().skipped))});
  }
  ReportHead head{.command = "diff",
                  .models = {facts_record(summarize(base)), facts_record(summarize(tuned))},
                  .parameters = {{"energy", request.energy}}};
  head.parameters.add("matrix", roles_value(request.matrices))
      .add("layers", request.layers.parameter())
      .add("per_head", request.per_head);
  sink.begin(head);
  for (const MatrixPair& pair : pairs) {
    const std::string matrix(role_name(pair.role));
    if (!pair.skipped.empty()) {
      sink.add_skipped({.model = tuned.name(),
                        .layer = pair.layer,
                        .matrix = matrix,
                        .head = std::nullopt,
                        .reason = pair.skipped});
    }
    for (const auto& [head_number, fields] : pair.rows) {
      Record row = {{"model", tuned.name()}, {"layer", pair.layer}, {"matrix", matrix}};
      row.add("head", head_number);
      for (const auto& [name, value] : fields.fields()) row.add(name, value);
      sink.add_row(std::move(row));
    }
  }
  note_sizes(base, tuned, sink);
  note_others(base, tuned, sink);
  sink.end();
}

}  // namespace attnscope
