// What one attention map says: its rank, its columns, where its queries look. Definitions:
// docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct AttentionMapOptions {
  double energy = 0.9;         // of energy_rank and columns, between 0 and 1
  bool without_first = false;  // key 0 is left out of energy_rank and of the columns' figures
  bool causal = false;         // what is above the diagonal is zero, in every map
};

/// Of a map A (T, T) after softmax, rows = queries, columns = keys.
struct AttentionMapMeasures {
  std::int64_t energy_rank = 0;  // as analysis/spectrum.h has it
  /// Fewest columns with `energy` of all squared weights.        arXiv 2404.08634
  std::int64_t columns = 0;
  /// Those columns, that with most first; the first kTopColumns of them.
  std::vector<std::int64_t> top_columns;
  std::optional<double> first_column_share;  // of the squared weights; none in a zero map
  // Means over queries q:
  double entropy = 0;                    // −Σ_k A_qk ln A_qk, in nats
  double sink_mass = 0;                  // A_q0
  std::optional<double> previous_token;  // A_q,q−1 of the queries that have one; none where T = 1
  double diagonal = 0;                   // A_qq
  double distance = 0;                   // Σ_k A_qk |q − k|
};
inline constexpr std::size_t kTopColumns = 8;

/// The measures of maps (T, T), all of one order T > 0, whose weights are finite, not negative, and
/// lie together in each row. Statistics are accumulated in float64; ranks are those of the float64
/// singular values. Throws Error(numerical) where no solver finds these.
std::vector<AttentionMapMeasures> measure_attention_maps(
    std::span<const MatrixView<const float>> maps, const AttentionMapOptions& options = {},
    const Compute& compute = {});

/// The fewest columns, from column `first` on, whose `squares` hold `threshold` of all theirs: that
/// with most first, equal ones by place. None where all are zero.
std::vector<std::size_t> largest_columns(std::span<const double> squares, std::size_t first,
                                         double threshold);

/// Of a map over `start` tokens, then B = `block` tokens, then the same B again: mean weight from
/// the queries of the second block to the key after the one that holds the same token, B − 1 back.
/// None where B < 1 or the map has no such query. Source: "prefix matching" of Olsson et al. 2022.
std::optional<double> induction_score(MatrixView<const float> map, std::int64_t block,
                                      std::int64_t start = 0);

/// Likewise to the key that holds the same token, B back. Source: the duplicate token heads of Wang
/// et al. 2022 (arXiv 2211.00593).
std::optional<double> duplicate_token_score(MatrixView<const float> map, std::int64_t block,
                                            std::int64_t start = 0);

}  // namespace attnscope
