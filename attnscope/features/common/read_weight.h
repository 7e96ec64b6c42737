// Weights from the file into memory, or the reason why they cannot be analysed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {

/// What is read or made of a weight (a decoded matrix, gains, singular values), or why it is
/// skipped.
template <class T>
struct Read {
  T values;
  std::string skipped;  // empty: the values are there
};

/// In canonical orientation, every value exact. Throws Error(io) where the file was cut,
/// Error(unsupported) for a dtype that is known but not decoded.
Read<WeightMatrix> read_weight(const Model& model, const Weight& weight);
Read<Matrix<double>> read_weight_float64(const Model& model, const Weight& weight);

/// The matrix of any role that is no product: a projection, or W_K stacked on W_V, which is float64
/// where either of them is; what latents make is float64, too. Rows of keys that all heads share
/// stand once.
Read<WeightMatrix> read_matrix(const Model& model, std::int64_t layer, Role role);

/// The same, with all rows of each head together.
Read<WeightMatrix> read_heads(const Model& model, std::int64_t layer, Role role);

/// The same in float64, of a projection: a factor of a circuit.
Read<Matrix<double>> read_factor(const Model& model, std::int64_t layer, Role role);

/// float64 if any stored matrix that the role is made of is float64: then small singular values are
/// numbers of the model, not rounding.
Resolution resolution_of(const Model& model, std::int64_t layer, Role role);

/// "holds NaN or Inf (first at row 3, column 5)".
std::string not_finite_text(std::int64_t row, std::int64_t col);

/// That text for the first element that is not finite; nothing where all are.
template <class T>
std::optional<std::string> find_not_finite(MatrixView<const T> matrix);

// Gains of norms.

using Gain = std::vector<double>;  // (n,), one factor for each number that a norm gives

/// Of one of a layer's norms over `size` numbers, with what the norm adds to the stored values;
/// empty where it has none.
Read<Gain> read_gain(const Model& model, const NormSpec& norm, std::int64_t layer,
                     std::int64_t size);

/// Of the norm that the layer's projections read; nothing where they read none with a gain.
Read<std::optional<Gain>> read_input_gain(const Model& model, std::int64_t layer);

}  // namespace attnscope
