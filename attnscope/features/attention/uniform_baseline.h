// Measures of uniform attention: every query gives equal weight to all keys that it sees. They are
// the baseline for the measures of heads. Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/features/attention/measures.h"
#include "attnscope/numerics/inference/attention.h"

namespace attnscope {

/// The map of `tokens` > 0 queries and keys. Its weights are 1 / n for the n keys that `mask` lets
/// a query see, otherwise 0.
struct UniformAttention {
  std::int64_t tokens = 1;
  AttentionMask mask;
  std::optional<std::int64_t> queries =
      {};  // for cross-attention: keys of the source, all visible; empty: own keys
  std::optional<PatchGrid> grid = {};  // for images
  /// The queries in means over queries: see AttentionMapOptions; empty: all.
  std::optional<std::vector<std::int64_t>> chosen = {};
  std::vector<std::int64_t> texts = {};  // see AttentionMapOptions
  std::vector<std::int64_t> roles = {};  // see AttentionMapOptions
  /// For a window of an image: the region of each token, then of the window's padding. A query sees
  /// all keys of its region, and the mask is ignored. Empty: there are no regions.
  std::vector<std::int64_t> regions = {};

  double weight(std::int64_t query, std::int64_t key) const;
};

/// Distance between two patches, in patches, by the number of rows and columns between them: (rows,
/// cols).
Matrix<double> patch_distances(const PatchGrid& grid);

// The values of AttentionMapMeasures:
std::optional<double> sink_mass(const UniformAttention& uniform);
std::optional<double> previous_token(const UniformAttention& uniform);
std::optional<double> patch_distance(const UniformAttention& uniform);
/// From tokens of one text of a pair to all tokens of the other one; texts are 0 (A) and 1 (B).
std::optional<double> across_texts(const UniformAttention& uniform, std::int64_t from,
                                   std::int64_t to);
/// On all tokens of a role: an index in kMessageRoles. Empty if no token has it.
std::optional<double> mass_on_role(const UniformAttention& uniform, std::int64_t role);
std::int64_t columns(const UniformAttention& uniform, double energy, bool exclude_first_token);

/// The values of induction_score() and duplicate_token_score(): `back` is block − 1, or block.
std::optional<double> repeated_token(const UniformAttention& uniform, std::int64_t block,
                                     std::int64_t back);

}  // namespace attnscope
