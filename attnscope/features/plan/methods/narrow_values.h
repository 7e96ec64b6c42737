// Reduces values to their principal directions. Joins matrices with their biases.
#pragma once

#include <cstdint>

#include "attnscope/base/role.h"
#include "attnscope/features/common/calibration/text_statistics.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {

/// The matrix with its bias as an additional column, or zeros without a bias.
Matrix<double> with_bias_column(const Model& model, std::int64_t layer, Role role);

/// Splits a joined matrix and puts it into `out`, with the bias if the matrix of the model has one.
void set_with_bias(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                   const Matrix<double>& joined);

/// The weighting of a value head by W_O: R with RᵀR = Σ W_O,hᵀ W_O,h over the query heads of value
/// head `group`, and its inverse. `output` is W_O.
SymmetricRoot value_weight(MatrixView<const double> output, std::int64_t group,
                           const HeadShape& heads, const Compute& compute);

/// Merges every `merged` adjacent key/value heads into one with `size` value dimensions: the
/// principal directions of R V x. Sets W_V with its bias, and the matching W_O.
void narrow_values(LayerMatrices& out, const Model& model, std::int64_t layer, std::int64_t merged,
                   std::int64_t size, const TextStatistics& text, const Compute& compute);

}  // namespace attnscope
