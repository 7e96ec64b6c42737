// Values narrowed to their principal directions, and matrices joined with their biases.
#pragma once

#include <cstdint>

#include "attnscope/base/role.h"
#include "attnscope/features/common/calibration/text_statistics.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {

/// The matrix with its bias as one more column, zeros if it has none.
Matrix<double> with_bias_column(const Model& model, std::int64_t layer, Role role);

/// Splits such a matrix again, and puts it into `out`, with the bias if the model's matrix has one.
void set_with_bias(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                   const Matrix<double>& joined);

/// How much each element of a value head matters to what reads it: R with RᵀR = Σ W_O,hᵀ W_O,h over
/// the query heads that read value head `group`, and its inverse. `output` is W_O.
SymmetricRoot value_weight(MatrixView<const double> output, std::int64_t group,
                           const HeadShape& heads, const Compute& compute);

/// Sets W_V of `size` values per head in place of as many as `merged` neighboring key/value heads
/// have together, with its bias, and W_O that reads them: the principal directions of R V x.
void narrow_values(LayerMatrices& out, const Model& model, std::int64_t layer, std::int64_t merged,
                   std::int64_t size, const TextStatistics& text, const Compute& compute);

}  // namespace attnscope
