// Which neurons of an MLP to leave out.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The neurons to keep, ascending: from all of them, one after another goes whose removal costs
/// E‖W_down a‖² least when the others make up for it. With H = (G + ε I)⁻¹, ε 1e-6 of the mean of
/// G's diagonal, that is the least ‖W_:j‖² / H_jj; then W −= W_:j H_j: / H_jj, H −= H_:j H_j: /
/// H_jj. `down` (m, F), `moments` G (F, F) of the activations. Source: optimal brain surgeon
/// (Hassibi & Stork 1992), as SparseGPT has it. (F³ − s³) / 3 operations for s kept. Above 8192
/// neurons those with the largest G_jj ‖W_:j‖² stay.
std::vector<std::int64_t> kept_neurons(MatrixView<const double> down,
                                       MatrixView<const double> moments, std::int64_t kept,
                                       const Compute& compute);

}  // namespace attnscope
