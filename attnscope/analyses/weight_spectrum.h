// Singular values of a matrix of a file. Where they come from a Gram matrix, it is read block by
// block and never whole in memory.
#pragma once

#include <cstdint>

#include "attnscope/analyses/read_weight.h"
#include "attnscope/numerics/singular_values/singular_values.h"

namespace attnscope {

/// Throws what read_weight() throws.
Read<SingularResult> read_singular_values(const Model& model, const Weight& weight,
                                          const Compute& compute);
/// Of a 2-D tensor as the file has it.
Read<SingularResult> read_singular_values(const Checkpoint& checkpoint,
                                          const CheckpointTensor& tensor, const Compute& compute);
/// Of a matrix in memory, whose dtype is of class `real`.
Read<SingularResult> read_singular_values(const TensorView& matrix, const Compute& compute);

/// The most memory that either of the above takes.
std::uint64_t weight_spectrum_bytes(const TensorMatrix& matrix);

}  // namespace attnscope
