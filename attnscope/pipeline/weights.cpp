#include "attnscope/pipeline/weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/analysis/heads.h"
#include "attnscope/analysis/value_pass.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"
#include "attnscope/tensor/stored_values.h"

namespace attnscope {
namespace {

constexpr int kRevision = 1;  // raised when the numbers of rows change

/// The whole matrix, or one head of it.
struct Piece {
  std::optional<std::int64_t> head;
  MatrixPart part;
};

MatrixPart part_of_head(const StoredMatrix& stored, Role role, std::int64_t head,
                        const HeadShape& shape) {
  const bool by_value_dim = role == Role::output || role == Role::value;
  const std::int64_t size = by_value_dim ? shape.value_dim : shape.head_dim;
  if (role == Role::output) return {0, stored.rows, head * size, size};
  return {head * size, size, 0, stored.cols};
}

/// In which the values of a matrix are read: together they are the whole, each value once.
std::vector<Piece> pieces_of(const StoredMatrix& stored, Role role, std::int64_t heads,
                             const HeadShape& shape) {
  if (heads == 0) return {{std::nullopt, whole_part(stored)}};
  std::vector<Piece> pieces;
  for (std::int64_t head = 0; head < heads; ++head) {
    pieces.push_back({head, part_of_head(stored, role, head, shape)});
  }
  return pieces;
}

/// Where the first NaN or Inf is: read again, since nothing else needs to know places.
std::string why_not_finite(const StoredMatrix& stored, Role role, std::optional<std::int64_t> head,
                           const HeadShape& shape) {
  return std::visit(
      [&](const auto& matrix) {
        const auto view = matrix.view();
        const auto found = find_not_finite(head ? head_slice(view, role, *head, shape) : view);
        return found.value_or("holds NaN or Inf");  // none: the file changed meanwhile
      },
      decode_exact(stored));
}

// ---- Dtypes of 8 and 16 bits: one pass counts the bit patterns ----------------------------------

using PatternCounts = std::vector<std::int64_t>;

std::optional<BinRule> bins_wanted(const WeightsRequest& request) {
  return request.with_histogram ? std::optional(request.bins) : std::nullopt;
}

Outcome outcome_of(std::optional<std::int64_t> head, Distribution&& distribution) {
  return {.head = head, .fields = std::move(distribution.fields), .note = distribution.note};
}

std::vector<Outcome> counted_outcomes(const StoredMatrix& stored, Role role,
                                      const std::vector<Piece>& pieces, const HeadShape& shape,
                                      const WeightsRequest& request) {
  const PatternTable& table = pattern_table(stored.tensor.dtype);
  const auto counted = [&](std::optional<std::int64_t> head, const PatternCounts& counts) {
    const auto values = counted_values(counts, table.values, table.ascending);
    if (values) return outcome_of(head, counted_distribution(*values, bins_wanted(request)));
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

std::vector<Outcome> streamed_outcomes(const StoredMatrix& stored, Role role,
                                       const std::vector<Piece>& pieces, const HeadShape& shape,
                                       const WeightsRequest& request) {
  const auto source_of = [&](const MatrixPart& part) {
    return ValueSource{
        .count = part.count(),
        .visit = [&stored, part](const ValueVisitor& visit) { visit_values(stored, part, visit); },
        .sample = [&stored,
                   part](std::int64_t wanted) { return sample_values(stored, part, wanted); }};
  };
  std::vector<std::optional<std::int64_t>> heads = {std::nullopt};
  std::vector<ValueSource> parts;
  for (const Piece& piece : pieces) {
    if (!piece.head) continue;
    heads.push_back(piece.head);
    parts.push_back(source_of(piece.part));
  }
  std::vector<Distribution> distributions =
      streamed_distributions(source_of(whole_part(stored)), parts, bins_wanted(request));
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

std::vector<Outcome> weights_of(const Model& model, std::int64_t layer, Role role,
                                const WeightsRequest& request) {
  const Weight& weight = model.weight(layer, role);
  const StoredMatrix& stored = weight.matrix;
  const HeadShape& shape = model.dimensions().heads;
  const std::int64_t heads = request.per_head ? shape.count(role) : 0;
  if (const auto reason = why_not_analysed(model.checkpoint(), *weight.tensor)) {
    return all_skipped(*reason, heads);
  }
  if (stored.rows == 0 || stored.cols == 0) return all_skipped("is empty", heads);
  const auto pieces = pieces_of(stored, role, heads, shape);
  std::vector<Outcome> outcomes = has_countable_patterns(stored.tensor.dtype)
                                      ? counted_outcomes(stored, role, pieces, shape, request)
                                      : streamed_outcomes(stored, role, pieces, shape, request);
  model.checkpoint().check_intact(*weight.tensor);
  return outcomes;
}

/// Values are read in blocks, and those near a quantile kept: of a head, most of them.
std::uint64_t estimated_bytes(const StoredMatrix& stored, bool per_head) {
  constexpr std::uint64_t kTables = 4 << 20;  // counts of bit patterns, or a sample of the values
  if (has_countable_patterns(stored.tensor.dtype)) return kTables;
  const std::uint64_t all = float64_bytes(stored.rows, stored.cols);
  return kTables + (per_head ? all : all / 4);
}

}  // namespace

void add_bin_parameters(Record& parameters, const BinRule& rule) {
  parameters.add("bins", rule.freedman_diaconis ? Value("fd") : Value(rule.bins));
  parameters.add("range",
                 rule.range ? Value(Value::List{rule.range->low, rule.range->high}) : Value());
}

Report run_weights(std::span<const Model> models, const WeightsRequest& request,
                   const ProgressFn& on_progress) {
  const auto matrices = select_matrices(models, request.matrices);
  Report report{.command = "weights"};
  Value::List names;
  for (const Role role : request.matrices) names.emplace_back(role_name(role));
  report.parameters.add("matrix", names.empty() ? Value() : Value(std::move(names)))
      .add("layers", request.layers_text.empty() ? Value() : Value(request.layers_text))
      .add("per_head", request.per_head)
      .add("histogram", request.with_histogram);
  if (request.with_histogram) add_bin_parameters(report.parameters, request.bins);
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (matrices[index].empty())
      report.notes.push_back(models[index].name + " has none of these matrices");
  }

  LayerWork work;
  work.compute = [&](const Model& model, std::int64_t layer, Role role) {
    return weights_of(model, layer, role, request);
  };
  work.flops = [](const Model& model, Role role) {
    constexpr double kPerValue = 20;
    const auto [rows, cols] = canonical_shape(model.dimensions(), role);
    return kPerValue * static_cast<double>(rows) * static_cast<double>(cols);
  };
  work.memory_bytes = [&](const Model& model, std::int64_t layer, Role role) {
    return estimated_bytes(model.weight(layer, role).matrix, request.per_head);
  };
  work.store = request.store;
  work.analysis = {
      .name = "weights",
      .revision = kRevision,
      .command = "weights",
      .parameters = {{"per_head", request.per_head}, {"histogram", request.with_histogram}}};
  if (request.with_histogram) add_bin_parameters(work.analysis.parameters, request.bins);
  run_layers(report, models, matrices, request.layers, work, request.resources, on_progress);
  return report;
}

}  // namespace attnscope
