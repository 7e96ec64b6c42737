// Components that PEFT subtracts from a base's weight when it loads an adapter with certain
// initializations. They are decomposed when the weight is first read.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/adapters/merged_matrix.h"
#include "attnscope/base/error.h"

namespace attnscope {

/// PiSSA (Meng et al. 2024): subtracts the top `rank` singular components.
MergedMatrixPtr without_principal_part(MergedMatrixPtr base, std::int64_t rank);

/// OLoRA (Büyükakyüz 2024): subtracts scale · Q R, with the first `rank` columns of Q and rows of R
/// of the QR decomposition. `base` is the weight as PEFT stores it. Reading throws Error(format)
/// with `dependent` if these columns are linearly dependent, because Q is then not unique.
MergedMatrixPtr without_orthonormal_part(MergedMatrixPtr base, std::int64_t rank, double scale,
                                         ErrorParts dependent);

}  // namespace attnscope
