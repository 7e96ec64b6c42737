// Keys that turn, as complex numbers: pair f of head g is κ_gf = k_f + i k_{f + d/2}, which e^{iθ_f
// s} turns at position s. Any unitary mix of heads within one frequency commutes with that; so keys
// of several heads become fewer by principal components of each frequency across heads, and queries
// take up the coefficients.
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

/// Of neighbouring key/value heads of one layer. Matrices are (rows, n), `moments` (n, n).
struct RotaryKeys {
  std::int64_t first = 0, count = 0, pairs = 0;  // key heads, and pairs of each
  /// w_gf = √(Σ E|q_hf|²) over the query heads h that read g, (count, pairs); never quite 0.
  Matrix<double> weights;
  /// Of each pair f: energies and vectors U of K_f G K_fᴴ with K_f the rows w_gf κ_gf.
  std::vector<ComplexEigenvectors> components;
};

RotaryKeys rotary_keys(MatrixView<const double> query, MatrixView<const double> key,
                       MatrixView<const double> moments, const HeadShape& heads, std::int64_t first,
                       std::int64_t count, const Compute& compute);

/// A component c of a pair f: what is kept of the keys at one frequency.
struct RotarySlot {
  std::int64_t pair = 0, component = 0;
};

/// Σ_g conj(U_gc) w_gf κ_gf: rows of its real and imaginary part.
void add_slot_keys(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                   const RotarySlot& slot, double* real, double* imaginary);

/// q_hf conj(U_gc / w_gf): likewise. `head` reads one of the key heads.
void add_slot_queries(const RotaryKeys& keys, MatrixView<const double> query,
                      const HeadShape& heads, std::int64_t head, const RotarySlot& slot,
                      double* real, double* imaginary);

/// The part of κ_gf that components from `first` on hold, in place of its rows.
void keep_components(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                     std::int64_t pair, std::int64_t first, Matrix<double>& out);

/// Radians per token of each rotary pair of a head, and their gain.
RopeFrequencies frequencies_of(const Model& model);

/// Writes into the config that pair j of heads of `head_dim` rotates by `radians[j]` per token.
void set_frequencies(ChangedModel& model, const std::vector<double>& radians, double gain,
                     std::int64_t head_dim);

}  // namespace attnscope
