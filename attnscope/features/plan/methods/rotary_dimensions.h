// Rotary keys as complex numbers: pair f of head g is κ_gf = k_f + i k_{f + d/2}, which RoPE
// multiplies by e^{iθ_f s} at position s. A unitary mix of heads at one frequency commutes with
// this rotation. So keys of several heads are reduced by principal components across heads at each
// frequency, and queries absorb the coefficients.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/role.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/model/rope.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {

/// Rotary keys of adjacent key/value heads in one layer. Matrices are (rows, n), `moments` (n, n).
struct RotaryKeys {
  std::int64_t first = 0, count = 0, pairs = 0;  // key heads, and pairs per head
  /// w_gf = √(Σ E|q_hf|²) over the query heads h of key head g, (count, pairs); always positive.
  Matrix<double> weights;
  /// Per pair f: eigenvalues and eigenvectors U of K_f G K_fᴴ, with rows w_gf κ_gf in K_f.
  std::vector<ComplexEigenvectors> components;
};

RotaryKeys rotary_keys(MatrixView<const double> query, MatrixView<const double> key,
                       MatrixView<const double> moments, const HeadShape& heads, std::int64_t first,
                       std::int64_t count, const Compute& compute);

/// A kept component c of the keys at one frequency, pair f.
struct RotarySlot {
  std::int64_t pair = 0, component = 0;
};

/// Adds Σ_g conj(U_gc) w_gf κ_gf to the rows of its real and imaginary part.
void add_slot_keys(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                   const RotarySlot& slot, double* real, double* imaginary);

/// Likewise adds q_hf conj(U_gc / w_gf). `head` must use one of the key heads.
void add_slot_queries(const RotaryKeys& keys, MatrixView<const double> query,
                      const HeadShape& heads, std::int64_t head, const RotarySlot& slot,
                      double* real, double* imaginary);

/// Replaces the rows of κ_gf by their part in the components from `first` on.
void keep_components(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                     std::int64_t pair, std::int64_t first, Matrix<double>& out);

/// Radians per token of each rotary pair in a head, and the gain.
RopeFrequencies frequencies_of(const Model& model);

/// Sets the config so that pair j of heads with `head_dim` dimensions rotates by `radians[j]` per
/// token.
void set_frequencies(ChangedModel& model, const std::vector<double>& radians, double gain,
                     std::int64_t head_dim);

}  // namespace attnscope
