// Reads weights into memory, or returns the reason why they cannot be analyzed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

/// A value computed from weights (a decoded matrix, gains, singular values), or the reason for
/// skipping it.
template <class T>
struct Read {
  T values;
  std::string skipped;  // empty: the values are present
};

/// The matrix in canonical orientation, with exact values. Throws Error(io) if the file was
/// truncated, Error(unsupported) for a dtype that is known but cannot be decoded.
Read<WeightMatrix> read_weight(const Model& model, const Weight& weight);
Read<Matrix<double>> read_weight_float64(const Model& model, const Weight& weight);

/// The matrix of any role except circuits: a projection, or W_K stacked on W_V. MLA products are
/// float64, and so is the stack if one of its parts is. Key rows that all heads share occur once.
Read<WeightMatrix> read_matrix(const Model& model, std::int64_t layer, Role role);

/// The same, with all rows of each head together.
Read<WeightMatrix> read_heads(const Model& model, std::int64_t layer, Role role);

/// A projection in float64, as a factor of a circuit.
Read<Matrix<double>> read_factor(const Model& model, std::int64_t layer, Role role);

/// float64 if any stored matrix of the role is float64: then small singular values are properties
/// of the model, not rounding errors.
Resolution resolution_of(const Model& model, std::int64_t layer, Role role);

/// Returns "holds NaN or Inf (first at row 3, column 5)".
std::string not_finite_text(std::int64_t row, std::int64_t col);

/// Returns that text for the first element that is not finite; empty if all are finite.
template <class T>
std::optional<std::string> find_not_finite(MatrixView<const T> matrix);

// Gains of norms.

using Gain = std::vector<double>;  // (n,), one factor per element of the norm's output

/// The gain of a layer's norm over `size` elements, including the norm's offset; empty if it has no
/// gain.
Read<Gain> read_gain(const Model& model, const NormSpec& norm, std::int64_t layer,
                     std::int64_t size);

/// The gain of the norm before the layer's projections; empty if there is no norm with a gain.
Read<std::optional<Gain>> read_input_gain(const Model& model, std::int64_t layer);

}  // namespace attnscope
