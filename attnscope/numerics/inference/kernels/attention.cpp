// Attention of one head: scores, weights and outputs, for a block of queries whose scores stay in
// the caches. Keys that no query of a strip attends to are skipped.
#include "attnscope/numerics/kernels/targets.h"
//
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnscope/numerics/inference/kernels/attention.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "attnscope/numerics/inference/kernels/attention_packing-inl.h"
#include "attnscope/numerics/inference/kernels/attention_softmax-inl.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---- scores

/// Computes out (kQueries, kVectors registers; rows `stride` apart) = scale · q · a panel of keys.
template <std::size_t kVectors>
HWY_INLINE void multiply_keys(const float* const* q, const float* keys, std::size_t depth,
                              float scale, std::size_t rows, float* HWY_RESTRICT out,
                              std::size_t stride) {
  const Floats d;
  FloatVector sums[kQueries][kVectors];
#pragma GCC unroll 8
  for (auto& row : sums) {
#pragma GCC unroll 4
    for (FloatVector& sum : row) sum = hn::Zero(d);
  }
#pragma GCC unroll 2
  for (std::size_t k = 0; k < depth; ++k) {
    FloatVector right[kVectors];
#pragma GCC unroll 4
    for (std::size_t part = 0; part < kVectors; ++part) {
      right[part] = hn::LoadU(d, keys + k * kKeys + part * kFloatLanes);
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kQueries; ++row) {
      const FloatVector left = hn::Set(d, q[row][k]);
#pragma GCC unroll 4
      for (std::size_t part = 0; part < kVectors; ++part) {
        sums[row][part] = hn::MulAdd(left, right[part], sums[row][part]);
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kQueries; ++row) {
    if (row >= rows) break;
#pragma GCC unroll 4
    for (std::size_t part = 0; part < kVectors; ++part) {
      hn::Store(hn::Mul(sums[row][part], hn::Set(d, scale)), d,
                out + row * stride + part * kFloatLanes);
    }
  }
}

/// Sets pointers to kCount rows from `first` on. Past the end, the last row is repeated.
template <std::size_t kCount, class T>
HWY_INLINE void rows_at(MatrixView<T> matrix, std::int64_t first, T* (&rows)[kCount]) {
  for (std::size_t row = 0; row < kCount; ++row) {
    const std::int64_t at = std::min(first + static_cast<std::int64_t>(row), matrix.rows - 1);
    rows[row] = matrix.data + at * matrix.row_stride;
  }
}

void score_block(const AttentionBlock& block) {
  const AttentionColumns& columns = block.columns;
  const AttentionMask& mask = block.rule.mask;
  const auto depth = static_cast<std::size_t>(block.q.cols);
  const auto stride = static_cast<std::size_t>(block.score_stride);
  const std::int64_t end = columns.first + columns.count, panel_keys = kKeys;
  for (std::int64_t panel = columns.first; panel < end; panel += panel_keys) {
    const float* keys = block.keys + static_cast<std::size_t>(panel) * depth;
    for (std::int64_t row = 0; row < block.q.rows; row += kQueries) {
      const std::int64_t rows = std::min<std::int64_t>(kQueries, block.q.rows - row);
      const std::int64_t query = block.first + row;
      if (mask.first_key(query) >= panel + panel_keys) continue;
      const std::int64_t seen = mask.end_key(query + rows - 1, block.tokens) - panel;
      if (seen <= 0) continue;
      const float* q[kQueries];
      rows_at(block.q, row, q);
      const auto multiply = [&](auto vectors) HWY_ATTR {
        multiply_keys<decltype(vectors)::value>(
            q, keys, depth, block.rule.scale, static_cast<std::size_t>(rows),
            block.scores + static_cast<std::size_t>(row) * stride + (panel - columns.first),
            stride);
      };
      const std::size_t vectors = (static_cast<std::size_t>(seen) + kFloatLanes - 1) / kFloatLanes;
      if constexpr (kKeyVectors >= 3) {
        if (vectors == 2) {
          multiply(std::integral_constant<std::size_t, 2>());
          continue;
        }
      }
      if (vectors == 1) {
        multiply(std::integral_constant<std::size_t, 1>());
      } else {
        multiply(std::integral_constant<std::size_t, kKeyVectors>());
      }
    }
  }
}

// ---- weights

/// Returns whether the map is so large that its rows should bypass the caches, and is aligned for
/// such writes.
bool goes_past_caches(MatrixView<const float> map, std::int64_t tokens) {
  constexpr std::int64_t kFromTokens = 1024, kLine = 64;
  return map.data != nullptr && tokens >= kFromTokens &&
         reinterpret_cast<std::uintptr_t>(map.data) % kLine == 0 &&
         map.row_stride % (kLine / static_cast<std::int64_t>(sizeof(float))) == 0;
}

/// Turns scores into weights. Several rows are processed together, because the steps for one row
/// depend on each other.
void weigh_block(const AttentionBlock& block) {
  const AttentionColumns& columns = block.columns;
  constexpr std::int64_t kTogether = 8;
  const AttentionMask& mask = block.rule.mask;
  const auto tokens = static_cast<std::size_t>(block.tokens);
  const bool past_caches = goes_past_caches(block.maps, block.tokens);
  const MatrixView<const float> bias = block.rule.bias;
  const std::optional<float> sink = block.rule.sink;
  for (std::int64_t first = 0; first < block.q.rows; first += kTogether) {
    ScoreRow rows[kTogether];
    float largest[kTogether];
    double sums[kTogether];
    const std::int64_t count = std::min(kTogether, block.q.rows - first);
    for (std::int64_t at = 0; at < count; ++at) {
      const std::int64_t query = block.first + first + at;
      const auto start = static_cast<std::size_t>(mask.first_key(query) - columns.first);
      const auto end = static_cast<std::size_t>(mask.end_key(query, block.tokens) - columns.first);
      rows[at] = {.scores = block.scores + (first + at) * block.score_stride,
                  .first = start,
                  .end = end,
                  .start = start / kFloatLanes * kFloatLanes,
                  .stop = (end + kFloatLanes - 1) / kFloatLanes * kFloatLanes};
      const float* row_bias = bias.data == nullptr ? nullptr : &bias(first + at, columns.first);
      largest[at] = prepare_scores(rows[at], block.rule.soft_cap, row_bias);
      if (sink) largest[at] = std::max(largest[at], *sink);
    }
    for (std::int64_t at = 0; at < count; ++at) {
      sums[at] = exponentiate_scores(rows[at], largest[at]);
      if (sink) sums[at] += static_cast<double>(std::exp(*sink - largest[at]));
    }
    for (std::int64_t at = 0; at < count; ++at) {
      const ScoreRow& row = rows[at];
      scale_row(row, static_cast<float>(1 / sums[at]));
      clear(row.scores, 0, row.start);
      clear(row.scores, row.stop, static_cast<std::size_t>(columns.count));
      if (block.maps.data == nullptr) continue;
      float* map = block.maps.data + (first + at) * block.maps.row_stride;
      if (past_caches) {
        write_map_row<true>(row.scores, columns, tokens, map);
      } else {
        write_map_row<false>(row.scores, columns, tokens, map);
      }
    }
  }
  if (past_caches) hwy::FlushStream();
}

// ---- weights times values

/// Computes out (rows, kVectors registers) = or += weights · a panel of values.
template <std::size_t kVectors>
HWY_INLINE void multiply_values(const float* const* weights, const float* values, std::size_t keys,
                                bool add, float* const* out, std::size_t filled) {
  constexpr std::size_t kRows = kRowsBeside<kVectors>;
  const Floats d;
  FloatVector sums[kRows][kVectors];
#pragma GCC unroll 8
  for (auto& row : sums) {
#pragma GCC unroll 4
    for (FloatVector& sum : row) sum = hn::Zero(d);
  }
#pragma GCC unroll 2
  for (std::size_t key = 0; key < keys; ++key) {
    FloatVector right[kVectors];
#pragma GCC unroll 4
    for (std::size_t part = 0; part < kVectors; ++part) {
      right[part] = hn::LoadU(d, values + (key * kVectors + part) * kFloatLanes);
    }
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
      const FloatVector left = hn::Set(d, weights[row][key]);
#pragma GCC unroll 4
      for (std::size_t part = 0; part < kVectors; ++part) {
        sums[row][part] = hn::MulAdd(left, right[part], sums[row][part]);
      }
    }
  }
  if (filled == kVectors * kFloatLanes) {
#pragma GCC unroll 8
    for (std::size_t row = 0; row < kRows; ++row) {
      if (out[row] == nullptr) break;
#pragma GCC unroll 4
      for (std::size_t part = 0; part < kVectors; ++part) {
        float* at = out[row] + part * kFloatLanes;
        const FloatVector sum = sums[row][part];
        hn::StoreU(add ? hn::Add(hn::LoadU(d, at), sum) : sum, d, at);
      }
    }
    return;
  }
  HWY_ALIGN float line[kVectors * kFloatLanes];
#pragma GCC unroll 8
  for (std::size_t row = 0; row < kRows; ++row) {
    if (out[row] == nullptr) break;
#pragma GCC unroll 4
    for (std::size_t part = 0; part < kVectors; ++part) {
      hn::Store(sums[row][part], d, line + part * kFloatLanes);
    }
    for (std::size_t column = 0; column < filled; ++column) {
      out[row][column] = add ? out[row][column] + line[column] : line[column];
    }
  }
}

template <std::size_t kVectors>
void multiply_panel(const AttentionBlock& block, std::size_t first_vector) {
  const AttentionColumns& columns = block.columns;
  constexpr std::int64_t kRows = kRowsBeside<kVectors>;
  constexpr auto kStep = static_cast<std::int64_t>(kKeysInCache);
  const AttentionMask& mask = block.rule.mask;
  const std::size_t column = first_vector * kFloatLanes, width = kVectors * kFloatLanes;
  const std::size_t filled = std::min(width, static_cast<std::size_t>(block.out.cols) - column);
  const float* values = block.values + column * static_cast<std::size_t>(block.value_room);
  const MatrixView<const float> weights{block.scores, block.q.rows, columns.count,
                                        block.score_stride};
  const std::int64_t end = std::min(columns.first + columns.count, block.tokens);
  for (std::int64_t chunk = columns.first; chunk < end; chunk += kStep) {
    for (std::int64_t row = 0; row < block.q.rows; row += kRows) {
      const std::int64_t query = block.first + row;
      const std::int64_t last = block.first + std::min(row + kRows, block.q.rows) - 1;
      const std::int64_t first_key = mask.first_key(query);
      const std::int64_t from = std::max(chunk, first_key);
      const std::int64_t to = std::min(chunk + kStep, mask.end_key(last, block.tokens));
      if (from >= to) continue;
      const float* left[kRows];
      rows_at(weights, row, left);
      float* out[kRows];
      for (std::int64_t at = 0; at < kRows; ++at) {
        left[at] += from - columns.first;
        out[at] = row + at < block.q.rows
                      ? block.out.data + (row + at) * block.out.row_stride + column
                      : nullptr;
      }
      multiply_values<kVectors>(left, values + static_cast<std::size_t>(from) * width,
                                static_cast<std::size_t>(to - from), from > first_key, out, filled);
    }
  }
}

void attend_rows(const AttentionBlock& block) {
  score_block(block);
  weigh_block(block);
  for_value_panels(block.out.cols, [&](std::size_t first, std::size_t vectors) HWY_ATTR {
    if constexpr (kMaxValueVectors == 4) {
      if (vectors == 4) return multiply_panel<4>(block, first);
      if (vectors == 3) return multiply_panel<3>(block, first);
    }
    if (vectors == 2) return multiply_panel<2>(block, first);
    multiply_panel<1>(block, first);
  });
}

}  // namespace attnscope::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnscope::kernels {

HWY_EXPORT(pack_head_keys);
HWY_EXPORT(pack_head_values);
HWY_EXPORT(unpack_head_keys);
HWY_EXPORT(unpack_head_values);
HWY_EXPORT(attend_rows);

void pack_attention_keys(Kernels kernels, MatrixView<const float> k, std::int64_t first,
                         float* packed) {
  ATTNSCOPE_KERNEL(kernels, pack_head_keys)(k, static_cast<std::size_t>(first), packed);
}

void pack_attention_values(Kernels kernels, MatrixView<const float> v, std::int64_t first,
                           std::int64_t room, float* packed) {
  ATTNSCOPE_KERNEL(kernels, pack_head_values)
  (v, static_cast<std::size_t>(first), static_cast<std::size_t>(room), packed);
}

void unpack_attention_keys(Kernels kernels, const float* packed, MatrixView<float> k) {
  ATTNSCOPE_KERNEL(kernels, unpack_head_keys)(packed, k);
}

void unpack_attention_values(Kernels kernels, const float* packed, std::int64_t room,
                             MatrixView<float> v) {
  ATTNSCOPE_KERNEL(kernels, unpack_head_values)(packed, static_cast<std::size_t>(room), v);
}

AttentionColumns attention_columns(const AttentionMask& mask, std::int64_t first_query,
                                   std::int64_t queries, std::int64_t tokens) {
  constexpr auto kStep = static_cast<std::int64_t>(kKeyPanel);
  const std::int64_t first = mask.first_key(first_query) / kStep * kStep;
  const std::int64_t end = mask.end_key(first_query + queries - 1, tokens);
  return {.first = first, .count = (end - first + kStep - 1) / kStep * kStep};
}

void attend_block(Kernels kernels, const AttentionBlock& block) {
  ATTNSCOPE_KERNEL(kernels, attend_rows)(block);
}

}  // namespace attnscope::kernels
#endif
