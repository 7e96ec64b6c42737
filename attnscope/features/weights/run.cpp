#include "attnscope/features/weights/run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/base/heads.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/weights/measures.h"
#include "attnscope/tensor/value_visitor.h"

namespace attnscope {
namespace {

/// The whole matrix, or one head of it.
struct Piece {
  std::optional<std::int64_t> head;
  MatrixPart part;
};

MatrixPart part_of_head(const TensorMatrix& stored, Role role, std::int64_t head,
                        const HeadShape& shape) {
  const HeadCut cut = head_cut(role, head, shape);
  if (cut.of_columns) return {0, stored.rows, cut.first, cut.count};
  return {cut.first, cut.count, 0, stored.cols};
}

/// The pieces in which a matrix is read: its heads if it has any, else the whole.
std::vector<Piece> pieces_of(const TensorMatrix& stored, Role role, std::int64_t heads,
                             const HeadShape& shape) {
  if (heads == 0) return {{std::nullopt, whole_part(stored)}};
  std::vector<Piece> pieces;
  for (std::int64_t head = 0; head < heads; ++head) {
    pieces.push_back({head, part_of_head(stored, role, head, shape)});
  }
  return pieces;
}

/// Locates the first NaN or Inf by reading again, because nothing else needs positions.
std::string why_not_finite(const TensorMatrix& stored, Role role, std::optional<std::int64_t> head,
                           const HeadShape& shape) {
  return std::visit(
      [&](const auto& matrix) {
        const auto view = matrix.view();
        const auto found = find_not_finite(head ? head_slice(view, role, *head, shape) : view);
        return found.value_or("holds NaN or Inf");  // none: the file has changed meanwhile
      },
      decode_exact(stored));
}

// ---- Dtypes of 8 and 16 bits: one pass counts the bit patterns ----------------------------------

using PatternCounts = std::vector<std::int64_t>;

Outcome outcome_of(std::optional<std::int64_t> head, Distribution&& distribution) {
  return {.head = head, .fields = std::move(distribution.fields), .note = distribution.note};
}

std::vector<Outcome> counted_outcomes(const TensorMatrix& stored, Role role,
                                      const std::vector<Piece>& pieces, const HeadShape& shape,
                                      const std::optional<BinRule>& rule) {
  const PatternTable& table = pattern_table(stored.tensor.dtype);
  const auto counted = [&](std::optional<std::int64_t> head, const PatternCounts& counts) {
    const auto values = counted_values(counts, table.values, table.ascending);
    if (values) return outcome_of(head, counted_distribution(*values, rule));
    return Outcome{.head = head, .skipped = why_not_finite(stored, role, head, shape)};
  };
  std::vector<Outcome> outcomes(1);
  PatternCounts whole(table.values.size(), 0);
  for (const Piece& piece : pieces) {
    if (!piece.head) {
      count_patterns(stored, piece.part, whole);
      break;
    }
    PatternCounts counts(whole.size(), 0);
    count_patterns(stored, piece.part, counts);
    for (std::size_t pattern = 0; pattern < whole.size(); ++pattern) {
      whole[pattern] += counts[pattern];
    }
    outcomes.push_back(counted(piece.head, counts));
  }
  outcomes[0] = counted(std::nullopt, whole);
  return outcomes;
}

// ---- Wider dtypes: a pass for moments and quantiles, another for the histogram ------------------

std::vector<Outcome> streamed_outcomes(const TensorMatrix& stored, Role role,
                                       const std::vector<Piece>& pieces, const HeadShape& shape,
                                       const std::optional<BinRule>& rule) {
  const auto source_of = [&](const MatrixPart& part) {
    return ValueStream{
        .count = part.count(),
        .visit = [&stored, part](const ValueVisitor& visit) { visit_values(stored, part, visit); },
        .sample = [&stored,
                   part](std::int64_t wanted) { return sample_values(stored, part, wanted); }};
  };
  std::vector<std::optional<std::int64_t>> heads = {std::nullopt};
  std::vector<ValueStream> parts;
  for (const Piece& piece : pieces) {
    if (!piece.head) continue;
    heads.push_back(piece.head);
    parts.push_back(source_of(piece.part));
  }
  std::vector<Distribution> distributions =
      streamed_distributions(source_of(whole_part(stored)), parts, rule);
  std::vector<Outcome> outcomes;
  for (std::size_t index = 0; index < heads.size(); ++index) {
    if (distributions[index].all_finite) {
      outcomes.push_back(outcome_of(heads[index], std::move(distributions[index])));
    } else {
      outcomes.push_back(
          {.head = heads[index], .skipped = why_not_finite(stored, role, heads[index], shape)});
    }
  }
  return outcomes;
}

bool weights_per_head(const WorkItem& item) { return expect<bool>(item.parameters, "per_head"); }

std::vector<Outcome> outcomes_of_weight(const WorkItem& item, const Model& model,
                                        const Weight& weight) {
  const Role role = *item.role;
  const TensorMatrix& stored = weight.matrix;
  const HeadShape& shape = model.dimensions(*item.layer).heads;
  const std::int64_t heads = weights_per_head(item) ? shape.count(role) : 0;
  if (weight.tensor == nullptr) return all_skipped(weight.missing, heads);
  if (const auto reason = why_not_analyzed(model.checkpoint(), *weight.tensor)) {
    return all_skipped(*reason, heads);
  }
  if (stored.rows == 0 || stored.cols == 0) return all_skipped("is empty", heads);
  model.checkpoint().need(byte_ranges(stored));
  const auto pieces = pieces_of(stored, role, heads, shape);
  const auto rule = bins_of(item.parameters);
  std::vector<Outcome> outcomes = has_countable_patterns(stored.tensor)
                                      ? counted_outcomes(stored, role, pieces, shape, rule)
                                      : streamed_outcomes(stored, role, pieces, shape, rule);
  model.checkpoint().check_intact(*weight.tensor);
  return outcomes;
}

std::vector<Outcome> weights_outcomes(const WorkItem& item, const ModelSource& source,
                                      const Compute& compute) {
  const Model& model = *source.model;
  if (item.experts.empty()) {
    return outcomes_of_weight(item, model, model.weight(*item.layer, *item.role));
  }
  return expert_outcomes(item, [&](std::int64_t expert) {
    compute.check_stop();
    const Weight weight = model.expert_weight(*item.layer, expert, *item.role);
    return std::move(outcomes_of_weight(item, model, weight).front());
  });
}

/// Values are read in blocks; those near a quantile are kept. In a head, most are.
std::uint64_t weights_bytes(const TensorMatrix& stored, bool per_head) {
  constexpr std::uint64_t kTables = 4 << 20;  // counts of bit patterns, or a sample of the values
  if (has_countable_patterns(stored.tensor)) return kTables;
  const std::uint64_t all = float64_bytes(stored.rows, stored.cols);
  return kTables + (per_head ? all : all / 4);
}

Cost weights_cost(const WorkItem& item, const ModelSource& source) {
  constexpr double kFlopsPerValue = 20;
  const Model& model = *source.model;
  const auto cost_of = [&](const TensorMatrix& matrix, double count) -> Cost {
    return {kFlopsPerValue * static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols) *
                count,
            weights_bytes(matrix, weights_per_head(item))};
  };
  if (item.experts.empty()) return cost_of(model.weight(*item.layer, *item.role).matrix, 1);
  const Weight first = model.expert_weight(*item.layer, item.experts.front(), *item.role);
  return cost_of(first.matrix, static_cast<double>(item.experts.size()));
}

RowMaker make_weights_rows(RowSink& sink) { return rows_with_heads(sink); }

}  // namespace

const Analysis& weights_analysis() {
  static constexpr Analysis analysis = {.name = "weights",
                                        .command = "weights",
                                        .roles = kProjections,
                                        .takes_experts = true,
                                        .compute = weights_outcomes,
                                        .cost = weights_cost,
                                        .add_inputs = add_role_inputs,
                                        .make_rows = make_weights_rows};
  return analysis;
}

void run_weights(std::span<const Model> models, const WeightsRequest& request,
                 const Context& context, RowSink& sink) {
  auto matrices = select_matrices(models, request.matrices, sink, /*of_experts=*/true);
  for (std::size_t index = 0; request.matrices.empty() && index < models.size(); ++index) {
    std::erase_if(matrices[index], [&](Role role) { return !models[index].is_stored(role); });
  }
  Plan plan{.analysis = &weights_analysis(), .parameters = request.options};
  add_layers_and_experts(plan, models, matrices, request.layers, request.experts, sink);
  ReportHead head{.command = "weights",
                  .parameters = {{"matrix", roles_value(request.matrices)},
                                 {"layers", request.layers.parameter()}}};
  if (!request.experts.text.empty()) head.parameters.add("experts", request.experts.text);
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, sources_of(models), std::move(head), context, sink);
}

}  // namespace attnscope
