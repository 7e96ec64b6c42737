// What one attention map says: its rank, its columns, where its queries look. Definitions:
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
  double energy = 0.9;               // of energy_rank and columns, between 0 and 1
  bool exclude_first_token = false;  // key 0 is left out of energy_rank and of the columns' figures
  bool causal = false;               // what is above the diagonal is zero, in every map
  bool across = false;  // queries and keys are of two texts, whose places do not compare
  std::optional<PatchGrid> grid = {};  // of maps of images
  /// The queries that count in means over queries, ascending; none: all of them.
  std::optional<std::vector<std::int64_t>> queries = {};
};

struct UniformAttention;
struct MapFacts;  // what measures are read from; measures.cpp

/// A measure of a map A (T, S) after softmax, rows = queries, columns = keys. The table of them is
/// in measures.cpp: stored records, means over sequences and rows follow from it.
struct MapMeasure {
  std::string_view name;   // of its numbers in stores, one for each sequence and head
  std::string_view field;  // of its mean over sequences in rows
  /// Not negative: stores keep -1 where there is none.
  std::optional<double> (*of_map)(const MapFacts&);
  /// Of even attention, where rows have that beside the mean.
  std::optional<double> (*of_uniform)(const UniformAttention&) = nullptr;
  bool whole = false;    // an integer, which there always is
  bool of_some = false;  // rows of maps whose even attention has no such number have no such field
};
std::span<const MapMeasure> map_measures();

/// Of one map.
struct AttentionMapMeasures {
  /// Of map_measures(), in their order; none of those that are of other maps.
  std::vector<std::optional<double>> values;
  /// The columns that "energy_columns" counts, that with most first; the first kTopColumns of them.
  std::vector<std::int64_t> top_columns;

  /// Throws std::out_of_range where no measure has this name.
  std::optional<double> value(std::string_view name) const;
};
inline constexpr std::size_t kTopColumns = 8;

/// Its place in map_measures(). Throws std::out_of_range.
std::size_t map_measure_index(std::string_view name);

/// The measures of maps (T, S), all of one shape, T and S > 0, whose weights are finite, not
/// negative, and lie together in each row. T = S but for cross maps. Statistics are accumulated in
/// float64; ranks are those of the float64 singular values. Throws Error(numerical) where no solver
/// finds these.
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

// How a map of two texts aligns them: rows are tokens of the target, columns those of the source.
// Definitions: docs/metrics.md, "Cross attention".

/// How near the weights of a map (T, S) are to the line from its first to its last corner: mean
/// over rows of 1 − d / d_max, where d is the mean distance from that line by weight and d_max the
/// largest that the row allows, both between places (t + ½) / T and (s + ½) / S. 1: all on the
/// line. None where S < 2.
std::optional<double> diagonality(MatrixView<const float> map);

/// That of a map of T rows and S columns with equal weights.
std::optional<double> uniform_diagonality(std::int64_t queries, std::int64_t keys);

/// Whether later tokens look at later ones: the share of pairs of rows of which the later one has
/// its centre of weight in a later column; pairs with the same centre, within 10⁻⁶ S, count half.
/// That is (τ + 1) / 2, τ Kendall's (1938) of rows and centres. None where T < 2 or S < 2.
std::optional<double> monotonicity(MatrixView<const float> map);

}  // namespace attnscope
