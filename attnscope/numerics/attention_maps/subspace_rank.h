// Energy ranks from a subspace that holds the leading directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The share of the energy that a subspace should hold before its bounds are likely to decide.
double deciding_share(double threshold);

/// The rank where `width` directions of G, a multiple of 24, prove it; G (n, n) lies in tiles as
/// gram_tiles() makes it. Nothing where they do not, or are too few to go on with.
std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute);

}  // namespace attnscope
