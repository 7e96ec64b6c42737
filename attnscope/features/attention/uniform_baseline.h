// What measures of attention maps are where every query looks alike at all keys that it sees: the
// null beside which those of a head are read. Definitions: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/features/attention/measures.h"
#include "attnscope/numerics/inference/attention.h"

namespace attnscope {

/// The map of `tokens` > 0 queries and keys whose weights are 1 / n for the n keys that `mask` lets
/// a query see, else 0.
struct UniformAttention {
  std::int64_t tokens = 1;
  AttentionMask mask;
  std::optional<std::int64_t> queries = {};  // of another text, which see all keys; none: its own
  std::optional<PatchGrid> grid = {};        // of images
  /// The queries that count in means over queries: see AttentionMapOptions; none: all.
  std::optional<std::vector<std::int64_t>> chosen = {};

  double weight(std::int64_t query, std::int64_t key) const;
};

/// From a patch to another, in patches, by how many rows and columns lie between them: (rows,
/// cols).
Matrix<double> patch_distances(const PatchGrid& grid);

// As AttentionMapMeasures has them:
std::optional<double> sink_mass(const UniformAttention& uniform);
std::optional<double> previous_token(const UniformAttention& uniform);
std::optional<double> patch_distance(const UniformAttention& uniform);
std::int64_t columns(const UniformAttention& uniform, double energy, bool exclude_first_token);

/// As induction_score() and duplicate_token_score(): `back` is block − 1, and block.
std::optional<double> repeated_token(const UniformAttention& uniform, std::int64_t block,
                                     std::int64_t back);

}  // namespace attnscope
