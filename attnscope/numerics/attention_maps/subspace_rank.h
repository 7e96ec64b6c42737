// Energy ranks from a subspace that holds the leading directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The share of the energy that a subspace needs before its bounds are likely to decide.
double deciding_share(double threshold);

/// The rank, if `width` directions of G prove it; `width` is a multiple of 24; G (n, n) is in tiles
/// as gram_tiles() makes it. Nothing if they do not, or if so few directions have no chance.
std::optional<std::int64_t> rank_by_subspace(const double* gram, std::size_t n, double energy,
                                             std::size_t width, double threshold,
                                             const Compute& compute);

}  // namespace attnscope
