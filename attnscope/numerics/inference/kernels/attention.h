// One head of attention, a block of queries at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/kernel_choice.h"

namespace attnscope::kernels {

/// Keys of a panel. Arrays over T keys have room for T rounded up to a multiple of this.
inline constexpr std::size_t kKeyPanel = 48;
/// Columns of values are padded to a multiple of this.
inline constexpr std::size_t kValueColumns = 16;

/// Packs kᵀ in panels of keys, [panel][d][key]: keys first … first + k.rows − 1, after earlier
/// keys, which must be packed already. T keys take d times T, rounded up to kKeyPanel, elements.
void pack_attention_keys(Kernels kernels, MatrixView<const float> k, std::int64_t first,
                         float* packed);

/// Packs v in panels of columns, [panel][room][column], in the same way. `room`: the largest number
/// of tokens. Takes room times d_v, rounded up to kValueColumns, elements.
void pack_attention_values(Kernels kernels, MatrixView<const float> v, std::int64_t first,
                           std::int64_t room, float* packed);

/// The columns of a block's scores, both multiples of kKeyPanel: its queries see at most keys first
/// … first + count − 1.
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
  std::int64_t value_room;      // `room` of the packed values
  AttentionRule rule = {};      // its bias is that of these queries
  AttentionColumns columns;     // at least the columns that its queries see
  float* scores = nullptr;      // memory for (queries, score_stride); 64-byte aligned
  std::int64_t score_stride;    // at least columns.count; a multiple of 16
  MatrixView<float> maps = {};  // (queries, T), or no data
  MatrixView<float> out = {};   // (queries, d_v)
};

/// Computes the block's rows of maps and out.
void attend_block(Kernels kernels, const AttentionBlock& block);

}  // namespace attnscope::kernels
