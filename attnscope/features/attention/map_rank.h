// Energy ranks of attention maps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The energy rank of each map (T, S), all of one shape and finite: that of the singular values
/// that LAPACK finds in float64. Throws Error(numerical) where no solver converges.
std::vector<std::int64_t> map_energy_ranks(std::span<const MatrixView<const float>> maps,
                                           double threshold, const Compute& compute = {});

}  // namespace attnscope
