// Energy ranks of attention maps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The energy rank of each map (T, S), from float64 singular values of LAPACK. All maps are finite
/// and have the same shape. Throws Error(numerical) if no solver converges.
std::vector<std::int64_t> map_energy_ranks(std::span<const MatrixView<const float>> maps,
                                           double threshold, const Compute& compute = {});

}  // namespace attnscope
