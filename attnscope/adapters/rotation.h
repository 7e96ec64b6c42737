// OFT and BOFT: the inputs of a weight are rotated by products of block-diagonal matrices. Source:
// huggingface/peft, tuners/{oft,boft}/layer.py.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/adapters/merged_matrix.h"

namespace attnscope {

/// `upper`: for each block, the elements of a skew-symmetric matrix above its diagonal, row by row.
/// A single block serves all blocks of the weight. block_size divides base->cols(). `transposes`:
/// rotates in the other direction, as for embeddings.
MergedMatrixPtr with_oft(MergedMatrixPtr base, TensorMatrix upper, std::int64_t block_size,
                         const OftRotation& options, bool transposes);

/// `blocks`, (factors, blocks, size, size), with blocks · size == base->cols().
MergedMatrixPtr with_boft(MergedMatrixPtr base, TensorView blocks);

}  // namespace attnscope
