// Which neurons of an MLP to leave out.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The neurons to leave out, `count` of them, the first to go first: each time the one whose
/// removal costs E‖W_down a‖² least when the others make up for it. With H = (G + ε I)⁻¹, ε 1e-6 of
/// the mean of G's diagonal, that is the least ‖W_:j‖² / H_jj; then W −= W_:j H_j: / H_jj, H −=
/// H_:j H_j: / H_jj. `down` (m, F), `moments` G (F, F) of the activations. Source: optimal brain
/// surgeon (Hassibi & Stork 1992), as SparseGPT has it. About (1 + m / 64) (F³ − s³) / 3 operations
/// for s kept. Above 8192 neurons those with the least G_jj ‖W_:j‖² go.
std::vector<std::int64_t> neurons_to_remove(MatrixView<const double> down, Matrix<double> moments,
                                            std::int64_t count, const Compute& compute);

/// What that holds at once, `down` (m, F) and `moments` included, in bytes.
std::uint64_t neurons_bytes(std::int64_t neurons, std::int64_t outputs);

}  // namespace attnscope
