// Selects the MLP neurons to remove.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The `count` neurons to remove, in removal order. Each time removes the neuron with the smallest
/// increase of E‖W_down a‖² after least-squares compensation by the others. With H = (G + ε I)⁻¹
/// and ε 1e-6 of the mean diagonal of G, it minimizes ‖W_:j‖² / H_jj. Then W −= W_:j H_j: / H_jj
/// and H −= H_:j H_j: / H_jj. `down` (m, F); `moments` G (F, F) of the activations. Source: optimal
/// brain surgeon (Hassibi & Stork 1992), as in SparseGPT. About (1 + m / 64) (F³ − s³) / 3
/// operations for s kept neurons. Above 8192 neurons, removes those with the smallest G_jj ‖W_:j‖².
std::vector<std::int64_t> neurons_to_remove(MatrixView<const double> down, Matrix<double> moments,
                                            std::int64_t count, const Compute& compute);

/// Peak memory of neurons_to_remove() in bytes, including `down` (m, F) and `moments`.
std::uint64_t neurons_bytes(std::int64_t neurons, std::int64_t outputs);

}  // namespace attnscope
