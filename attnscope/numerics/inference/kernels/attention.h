// One head of attention, a block of queries at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnscope/core/matrix_view.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/instruction_set.h"

namespace attnscope::kernels {

/// Keys are packed so many together at most: what is made of T keys has room for T rounded up to a
/// multiple.
inline constexpr std::size_t kKeyPanel = 48;
/// And the columns of values are filled up to a multiple of this.
inline constexpr std::size_t kValueColumns = 16;

/// kᵀ in panels of keys, [panel][d][key]: those of tokens first … first + k.rows − 1, beside those
/// before them, which have been packed. T keys take T, rounded up to kKeyPanel, times d elements.
void pack_attention_keys(Kernels kernels, MatrixView<const float> k, std::int64_t first,
                         float* packed);

/// v in panels of columns, [panel][room][column], in the same way. Takes `room`, the most tokens
/// that there will be, times d_v, rounded up to kValueColumns.
void pack_attention_values(Kernels kernels, MatrixView<const float> v, std::int64_t first,
                           std::int64_t room, float* packed);

/// Where a block's scores start and how many columns they have, both multiples of kKeyPanel: its
/// queries see keys first … first + count − 1 at most.
struct AttentionColumns {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
AttentionColumns attention_columns(const AttentionMask& mask, std::int64_t first_query,
                                   std::int64_t queries, std::int64_t tokens);

/// Consecutive queries of a head, and all of its keys.
struct AttentionBlock {
  MatrixView<const float> q;  // (queries, d)
  std::int64_t first = 0;     // the first query's position
  std::int64_t tokens = 0;    // T
  const float* keys;          // both packed
  const float* values;
  std::int64_t value_room;  // tokens that the values have room for
  AttentionRule rule = {};
  AttentionColumns columns;     // at least those of its queries
  float* scores = nullptr;      // memory for (queries, score_stride); 64-byte aligned
  std::int64_t score_stride;    // at least columns.count; a multiple of 16
  MatrixView<float> maps = {};  // (queries, T), or no data
  MatrixView<float> out = {};   // (queries, d_v)
};

/// The block's rows of maps and out.
void attend_block(Kernels kernels, const AttentionBlock& block);

}  // namespace attnscope::kernels
