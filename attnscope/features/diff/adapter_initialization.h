// Components that PEFT subtracts from a base's weight when it loads an adapter with certain
// initializations.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// PiSSA (Meng et al. 2024): subtracts the top `rank` singular components from `weight`.
void take_principal_part(Matrix<double>& weight, std::int64_t rank, const Compute& compute);

/// OLoRA (Büyükakyüz 2024): subtracts scale · Q R from `weight`, with the first `rank` columns of Q
/// and rows of R of its QR decomposition. Returns false without a change if these columns are
/// linearly dependent, because Q is then not unique.
bool take_orthonormal_part(Matrix<double>& weight, std::int64_t rank, double scale);

}  // namespace attnscope
