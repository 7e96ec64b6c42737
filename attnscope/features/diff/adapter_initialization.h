// What PEFT takes off a base's weight when it loads an adapter of some initializations.
#pragma once

#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// PiSSA (Meng et al. 2024): takes the largest `rank` singular values off `weight`.
void take_principal_part(Matrix<double>& weight, std::int64_t rank, const Compute& compute);

/// OLoRA (Büyükakyüz 2024): takes scale · Q R off `weight`, with the first `rank` columns of Q and
/// rows of R of its QR decomposition. False, without a change, if these columns are linearly
/// dependent, so that Q is not determined.
bool take_orthonormal_part(Matrix<double>& weight, std::int64_t rank, double scale);

}  // namespace attnscope
