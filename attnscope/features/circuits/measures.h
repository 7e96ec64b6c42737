// Measures of a circuit M = leftᵀ · right, computed from its thin factors. Definitions:
// docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/numerics/products/factored_product.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Measures that compare M with the identity, its transpose or itself require a square M, (D, D); S
/// = (M + Mᵀ) / 2. They are empty if their divisor is zero.
struct CircuitMeasures {
  std::vector<double> singular_values;  // (k,) of M, descending, k = min(r, rows, columns)
  std::vector<double> left_singular_values;
  std::vector<double> right_singular_values;
  std::vector<double> head_space_singular_values;  // of right · leftᵀ (r, r); empty if not square
  std::int64_t max_possible_rank = 0;              // k
  double frobenius_norm = 0;                       // ‖M‖_F
  std::optional<double> identity_cosine;           // tr M / (sqrt(D) ‖M‖_F)
  std::optional<double> identity_cosine_bound;     // sqrt(k / D)
  std::optional<double> identity_distance;         // min over α of ‖M − α I‖_F / ‖M‖_F
  std::optional<double> identity_scale;            // tr M / D, the minimizing α
  std::optional<double> identity_residual;         // ‖M − I‖_F / sqrt(D)
  std::optional<double> symmetry;           // tr(M M) / ‖M‖_F²        Saponati et al. 2025
  std::optional<double> positive_fraction;  // Σ_{λ>0} λ / Σ |λ| over the eigenvalues λ of S
  std::optional<double>
      copying_score;  // Σ Re μ / Σ |μ| over the eigenvalues μ of M, Elhage et al. 2021
};

/// Both factors must be (r, …) and finite. `with_eigenvalues`: whether to compute `copying_score`,
/// which costs about 10 r³. Throws Error(numerical) if a solver fails or a norm overflows.
CircuitMeasures measure_circuit(const ProductFactor& left, const ProductFactor& right,
                                bool with_eigenvalues, const Compute& compute = {});

/// Names of the two factors in rows: "q" and "k", or "o" and "v".
struct FactorNames {
  const char* left;
  const char* right;
};

/// The fields of a circuits row after its location.
Record circuit_fields(const CircuitMeasures& measures, const FactorNames& names,
                      std::span<const double> thresholds);

}  // namespace attnscope
