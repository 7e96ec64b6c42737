// Measures of one attention map: energy rank, columns, and attended positions. Definitions:
// docs/metrics.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct AttentionMapOptions {
  double energy = 0.9;               // threshold of energy_rank and columns, between 0 and 1
  bool exclude_first_token = false;  // excludes key 0 from energy_rank and column measures
  bool causal = false;               // everything above the diagonal is zero, in every map
  bool across = false;  // cross-attention: positions of queries and keys are not comparable
  std::optional<PatchGrid> grid = {};  // for maps of images
  /// The queries in means over queries, ascending; empty: all.
  std::optional<std::vector<std::int64_t>> queries = {};
  /// For a pair of texts: the text of each token, see TokenIds::texts; empty: not a pair.
  std::vector<std::int64_t> texts = {};
  /// For a chat: the role of each token, as an index in kMessageRoles; −1: another role. Empty: not
  /// a chat.
  std::vector<std::int64_t> roles = {};
};

struct UniformAttention;
struct MapFacts;  // intermediate results of measures; see measures.cpp

/// A measure of a map A (T, S) after softmax, rows = queries, columns = keys. The table of measures
/// is in measures.cpp; stored records, means over sequences and rows are derived from it.
struct MapMeasure {
  std::string_view name;   // of its values in stores, per sequence and head
  std::string_view field;  // of its mean over sequences, in rows
  /// Not negative: stores use -1 for a missing value.
  std::optional<double> (*of_map)(const MapFacts&);
  /// The value under uniform attention, if rows contain it in addition to the mean.
  std::optional<double> (*of_uniform)(const UniformAttention&) = nullptr;
  bool whole = false;    // an integer that is never missing
  bool of_some = false;  // rows of maps without a uniform value do not have the field
};
std::span<const MapMeasure> map_measures();

/// The measures of one map.
struct AttentionMapMeasures {
  /// In the order of map_measures(); empty for measures of other kinds of maps.
  std::vector<std::optional<double>> values;
  /// The columns counted by "energy_columns", largest first; at most kTopColumns.
  std::vector<std::int64_t> top_columns;

  /// Throws std::out_of_range if no measure has this name.
  std::optional<double> value(std::string_view name) const;
};
inline constexpr std::size_t kTopColumns = 8;

/// The index in map_measures(). Throws std::out_of_range.
std::size_t map_measure_index(std::string_view name);

/// The measures of maps (T, S) of the same shape. T and S must be positive, and T = S except for
/// cross-attention. Weights are finite, not negative, and contiguous within a row. Statistics are
/// accumulated in float64; ranks come from float64 singular values. Throws Error(numerical) if no
/// solver converges.
std::vector<AttentionMapMeasures> measure_attention_maps(
    std::span<const MatrixView<const float>> maps, const AttentionMapOptions& options = {},
    const Compute& compute = {});

/// The smallest set of columns, from column `first` on, whose `squares` hold the share `threshold`
/// of the total: largest first, ties by position. Empty if all are zero.
std::vector<std::size_t> largest_columns(std::span<const double> squares, std::size_t first,
                                         double threshold);

/// Induction score of a map over `start` tokens, then B = `block` tokens, then the same B again. It
/// is the mean weight from the queries of the second block to the key B − 1 back, the token after
/// the earlier occurrence. Empty if B < 1 or the map has no such query. Source: "prefix matching"
/// of Olsson et al. 2022.
std::optional<double> induction_score(MatrixView<const float> map, std::int64_t block,
                                      std::int64_t start = 0);

/// Duplicate-token score: the same for the key B back, the earlier occurrence. Source: the
/// duplicate token heads of Wang et al. 2022 (arXiv 2211.00593).
std::optional<double> duplicate_token_score(MatrixView<const float> map, std::int64_t block,
                                            std::int64_t start = 0);

}  // namespace attnscope
