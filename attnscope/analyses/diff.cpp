#include "attnscope/analyses/diff.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "attnscope/analyses/read_weight.h"
#include "attnscope/analysis/heads.h"
#include "attnscope/analysis/spectrum.h"
#include "attnscope/analysis/subspaces.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/numerics/factors/vectors.h"
#include "attnscope/numerics/singular_values/singular_values.h"
#include "attnscope/rewrite/encode.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

/// One matrix of both models, and what its rows say.
struct MatrixPair {
  std::int64_t layer = 0;
  Role role = Role::query;
  std::string skipped;                                               // why there are no rows
  std::vector<std::pair<std::optional<std::int64_t>, Record>> rows;  // of the whole, of heads
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
  const NullModel null(shape);
  for (const double threshold : request.energy) {
    nulls.add(shortest_decimal(threshold), null.energy_rank(threshold));
  }
  Record out = {{"shape", std::vector<std::int64_t>{shape.rows, shape.cols}}};
  out.add("relative_change", of_weight > 0 ? Value(of_change / of_weight) : Value())
      .add("change_norm", of_change)
      .add("weight_norm", of_weight)
      .add("energy_rank", by_threshold(change, request.energy))
      .add("null_energy_rank", std::move(nulls))
      .add("weight_energy_rank", by_threshold(weight, request.energy))
      .add("possible_rank", shape.possible_rank());
  return out;
}

/// How the leading directions of the change lie in those of the weight, on one side.
Record space_fields(MatrixView<const double> change, MatrixView<const double> weight,
                    const Compute& compute) {
  const SubspaceOverlap overlap = subspace_overlap(change, weight, compute);
  return {{"overlap", overlap.share}, {"null_overlap", overlap.null}, {"angle", overlap.angle}};
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
    pair.skipped = "has another shape than in " + base.name();
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
  add_head_rows(pair, change.values, weight.values, base.dimensions(pair.layer).heads, request,
                compute);
}

/// The tensors beside matrices that changed, or are in one of the models alone.
void note_others(const Model& base, const Model& tuned, RowSink& sink) {
  std::set<const CheckpointTensor*> matrices;
  for (std::int64_t layer = 0; layer < base.dimensions().layers; ++layer) {
    for (const Role role : kProjections) matrices.insert(base.weight(layer, role).tensor);
  }
  std::vector<std::string> changed, missing;
  for (const CheckpointTensor& tensor : base.checkpoint().tensors()) {
    if (matrices.contains(&tensor)) continue;
    const CheckpointTensor* other = tuned.checkpoint().find(tensor.name);
    if (other == nullptr) {
      missing.push_back(tensor.name);
    } else if (!same_elements(tensor.view, other->view)) {
      changed.push_back(tensor.name);
    }
  }
  const auto say = [&](const std::vector<std::string>& names, const std::string& what) {
    if (names.empty()) return;
    constexpr std::size_t kShown = 4;
    std::vector<std::string> shown(
        names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
    sink.add_note(verbatim(what + counted(names.size(), "tensor") + " beside the matrices: " +
                           join(shown) + (names.size() > kShown ? ", …" : "")));
  };
  say(changed, tuned.name() + " changed ");
  say(missing, tuned.name() + " lacks ");
}

}  // namespace

void run_diff(const Model& base, const Model& tuned, const DiffRequest& request,
              const Context& context, RowSink& sink) {
  const auto roles =
      select_matrices(std::span(&base, 1), request.matrices, sink, /*of_experts=*/false).front();
  std::vector<MatrixPair> pairs;
  for (const std::int64_t layer : request.layers.resolve(base.dimensions().layers, base.name())) {
    for (const Role role : roles) {
      if (!is_projection(role)) {
        throw Error(ErrorKind::usage,
                    {.parameter = "matrix",
                     .problem = '\'' + std::string(role_name(role)) +
                                "' is made of several matrices, whose differences are compared"});
      }
      if (base.weight(layer, role).tensor == nullptr) continue;
      MatrixPair& pair = pairs.emplace_back(MatrixPair{.layer = layer, .role = role});
      if (layer >= tuned.dimensions().layers) {
        pair.skipped = tuned.name() + " has no such layer";
      }
    }
  }
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
                  .models = {facts_record(model_facts(base)), facts_record(model_facts(tuned))},
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
  if (base.dimensions().experts > 0) sink.add_note("matrices of experts are not compared");
  note_others(base, tuned, sink);
  sink.end();
}

}  // namespace attnscope
