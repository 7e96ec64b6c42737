#include "attnscope/pipeline/weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/analysis/distribution.h"
#include "attnscope/analysis/heads.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/layer_work.h"
#include "attnscope/pipeline/read_weight.h"
#include "attnscope/tensor/tensor_values.h"

namespace attnscope {
namespace {

constexpr int kRevision = 1;  // raised when the numbers of rows change

/// The whole matrix, or one head of it.
struct Piece {
  std::optional<std::int64_t> head;
  MatrixPart part;
};

MatrixPart part_of_head(const TensorMatrix& stored, Role role, std::int64_t head,
                        const HeadShape& shape) {
  const bool by_value_dim = role == Role::output || role == Role::value;
  const std::int64_t size = by_value_dim ? shape.value_dim : shape.head_dim;
  if (role == Role::output) return {0, stored.rows, head * size, size};
  return {head * size, size, 0, stored.cols};
}

/// In which the values of a matrix are read: together they are the whole, each value once.
std::vector<Piece> pieces_of(const TensorMatrix& stored, Role role, std::int64_t heads,
                             const HeadShape& shape) {
  if (heads == 0) return {{std::nullopt, whole_part(stored)}};
  std::vector<Piece> pieces;
  for (std::int64_t head = 0; head < heads; ++head) {
    pieces.push_back({head, part_of_head(stored, role, head, shape)});
  }
  return pieces;
}

/// Where the first NaN or Inf is: read again, since nothing else needs to know places.
std::string why_not_finite(const TensorMatrix& stored, Role role, std::optional<std::int64_t> head,
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

bool all_finite(const PatternCounts& counts, const PatternTable& table) {
  std::int64_t total = 0, finite = 0;
  for (const std::int64_t count : counts) total += count;
  for (const std::uint32_t pattern : table.ascending) finite += counts[pattern];
  return finite == total;
}

std::vector<ValueCount> counted_values(const PatternCounts& counts, const PatternTable& table) {
  std::vector<ValueCount> out;
  for (const std::uint32_t pattern : table.ascending) {
    if (counts[pattern] == 0) continue;
    const double value = table.values[pattern] + 0.0;  // -0 becomes 0
    if (!out.empty() && out.back().value == value) {
      out.back().count += counts[pattern];
    } else {
      out.push_back({value, counts[pattern]});
    }
  }
  return out;
}

void add_counted_fields(Outcome& outcome, const std::vector<ValueCount>& values,
                        const WeightsRequest& request) {
  add_distribution_fields(outcome.fields, moments_of(values), quantiles_of(values, kQuantiles));
  if (!request.with_histogram) return;
  const Bins bins = choose_bins(request.bins, spread_of(values, request.bins));
  outcome.note = bins.note;
  Value record;
  if (!bins.edges.empty()) {
    Histogram histogram(bins.edges);
    for (const ValueCount& entry : values) histogram.add(entry.value, entry.count);
    record = Value(histogram.record());
  }
  outcome.fields.add("histogram", std::move(record));
}

std::vector<Outcome> counted_outcomes(const TensorMatrix& stored, Role role,
                                      const std::vector<Piece>& pieces, const HeadShape& shape,
                                      const WeightsRequest& request) {
  const PatternTable& table = pattern_table(stored.tensor.dtype);
  const auto outcome_of = [&](std::optional<std::int64_t> head, const PatternCounts& counts) {
    Outcome outcome{.head = head};
    if (all_finite(counts, table)) {
      add_counted_fields(outcome, counted_values(counts, table), request);
    } else {
      outcome.skipped = why_not_finite(stored, role, head, shape);
    }
    return outcome;
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
    outcomes.push_back(outcome_of(piece.head, counts));
  }
  outcomes[0] = outcome_of(std::nullopt, whole);
  return outcomes;
}

// ---- Wider dtypes: a pass for moments and quantiles, another for the histogram ------------------

/// Enough to tell where quantiles lie, little beside the values themselves.
std::int64_t sample_size(std::int64_t count) {
  return std::clamp<std::int64_t>(count / 32, 4096, 65536);
}

/// What is learned of one piece, or of the whole, in the first pass.
class FirstPass {
 public:
  FirstPass(std::vector<double> sample, std::int64_t count, const WeightsRequest& request,
            double margin)
      : moments_(sample), quantiles_(sample, kQuantiles, count, margin) {
    if (request.with_histogram && request.bins.freedman_diaconis) {
      spread_.emplace(request.bins, sample, count, margin);
    }
  }

  void add(std::span<const double> values) {
    moments_.add(values);
    if (!moments_.all_finite()) return;
    quantiles_.add(values);
    if (spread_) spread_->add(values);
  }

  bool all_finite() const { return moments_.all_finite(); }

  /// False where the sample was misleading.
  bool finish(Outcome& outcome, Bins& bins, const WeightsRequest& request) {
    std::vector<double> quantiles;
    for (const double fraction : kQuantiles) {
      const auto found = quantiles_.quantile(fraction);
      if (!found) return false;
      quantiles.push_back(*found);
    }
    const Moments moments = moments_.moments();
    std::optional<Spread> spread =
        Spread{.count = moments.count, .min = moments.min, .max = moments.max};
    if (spread_) spread = spread_->spread();
    if (!spread) return false;
    add_distribution_fields(outcome.fields, moments, quantiles);
    if (request.with_histogram) bins = choose_bins(request.bins, *spread);
    return true;
  }

 private:
  MomentSums moments_;
  QuantileSearch quantiles_;
  std::optional<SpreadSearch> spread_;
};

std::vector<Outcome> streamed_outcomes(const TensorMatrix& stored, Role role,
                                       const std::vector<Piece>& pieces, const HeadShape& shape,
                                       const WeightsRequest& request) {
  // The whole first, then the heads, which are read once for both.
  std::vector<Piece> all = {{std::nullopt, whole_part(stored)}};
  if (pieces.front().head) all.insert(all.end(), pieces.begin(), pieces.end());
  const auto first_pass = [&](const Piece& piece, double margin) {
    const std::int64_t count = piece.part.count();
    std::vector<double> sample = sample_values(stored, piece.part, sample_size(count));
    std::erase_if(sample, [](double value) { return value - value != 0; });  // NaN and Inf
    return FirstPass(std::move(sample), count, request, margin);
  };
  std::vector<FirstPass> passes;
  for (const Piece& piece : all) passes.push_back(first_pass(piece, kFirstMargin));
  for (std::size_t index = all.size() > 1 ? 1 : 0; index < all.size(); ++index) {
    visit_values(stored, all[index].part, [&](std::span<const double> values) {
      passes[index].add(values);
      if (index > 0) passes[0].add(values);
    });
  }

  std::vector<Outcome> outcomes;
  std::vector<std::optional<Histogram>> histograms(all.size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    Outcome& outcome = outcomes.emplace_back(Outcome{.head = all[index].head});
    if (!passes[index].all_finite()) {
      outcome.skipped = why_not_finite(stored, role, outcome.head, shape);
      continue;
    }
    Bins bins;
    for (double margin = kFirstMargin; !passes[index].finish(outcome, bins, request);) {
      margin *= 8;
      passes[index] = first_pass(all[index], margin);
      visit_values(stored, all[index].part,
                   [&](std::span<const double> values) { passes[index].add(values); });
    }
    outcome.note = bins.note;
    if (!bins.edges.empty()) histograms[index].emplace(std::move(bins.edges));
  }
  if (!request.with_histogram) return outcomes;

  for (std::size_t index = all.size() > 1 ? 1 : 0; index < all.size(); ++index) {
    visit_values(stored, all[index].part, [&](std::span<const double> values) {
      if (histograms[index]) histograms[index]->add(values);
      if (index > 0 && histograms[0]) histograms[0]->add(values);
    });
  }
  for (std::size_t index = 0; index < all.size(); ++index) {
    outcomes[index].fields.add("histogram",
                               histograms[index] ? Value(histograms[index]->record()) : Value());
  }
  return outcomes;
}

std::vector<Outcome> weights_of(const Model& model, std::int64_t layer, Role role,
                                const WeightsRequest& request) {
  const Weight& weight = model.weight(layer, role);
  const TensorMatrix& stored = weight.matrix;
  const HeadShape& shape = model.dimensions().heads;
  const std::int64_t heads = request.per_head ? shape.count(role) : 0;
  if (weight.tensor == nullptr) return all_skipped(weight.missing, heads);
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
std::uint64_t estimated_bytes(const TensorMatrix& stored, bool per_head) {
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
      report.notes.push_back(models[index].name() + " has none of these matrices");
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
