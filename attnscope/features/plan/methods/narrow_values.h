// How much each element of a value head matters to what reads it.
#pragma once

#include "attnscope/base/role.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {

/// R with RᵀR = Σ W_O,hᵀ W_O,h over the query heads that read value head `group`, and its inverse;
/// `output` is W_O.
SymmetricRoot value_weight(MatrixView<const double> output, std::int64_t group,
                           const HeadShape& heads, const Compute& compute);

}  // namespace attnscope
