// Attention of one head: scores, weights and what they make of the values, for a block of queries
// whose scores stay in the caches. Work on keys that no query of a strip sees is left out.
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
#include <limits>
#include <optional>
#include <type_traits>

#include "attnscope/numerics/inference/kernels/activations-inl.h"
#include "attnscope/numerics/inference/kernels/attention.h"
#include "attnscope/numerics/inference/kernels/exponential-inl.h"
#include "attnscope/numerics/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace attnscope::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kFloatLanes = hn::MaxLanes(Floats());
/// Queries below each other and registers of keys beside each other: as many sums as the registers
/// hold.
constexpr std::size_t kQueries = kFloatLanes == 8 ? 6 : 8;
constexpr std::size_t kKeyVectors = kFloatLanes == 8 ? 2 : 3;
constexpr std::size_t kKeys = kKeyVectors * kFloatLanes;
static_assert(kKeyPanel % kKeys == 0 && kValueColumns % kFloatLanes == 0);
/// The same for weights times values, where the registers of a panel follow from d_v.
constexpr std::size_t kMaxValueVectors = kFloatLanes == 8 ? 2 : 4;
template <std::size_t kVectors>
constexpr std::size_t kRowsBeside = kFloatLanes == 8 || kVectors == 4 ? 6 : 8;
/// Values of so many keys stay in the first-level cache while the rows of a block pass.
constexpr std::size_t kKeysInCache = 128;

// ---- packing

#if HWY_TARGET != HWY_SCALAR
/// Four elements of each of kLanes rows: `row(r)` is where those of row r lie, and block b of the
/// result holds those of row first + 4 b.
template <class D, class RowAt>
HWY_INLINE hn::Vec<D> load_quads(D d, std::size_t first, const RowAt& row) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, row(first));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_quads(half, first + hn::MaxLanes(D()) / 2, row),
                       load_quads(half, first, row));
  }
}
#endif

/// Columns [0, depth) of kFloatLanes rows become rows of `packed`, kKeys apart.
template <class RowAt>
HWY_INLINE void pack_transposed(const RowAt& row_at, std::size_t depth,
                                float* HWY_RESTRICT packed) {
  std::size_t column = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  const hn::Repartition<double, Floats> pairs;
  for (; column + 4 <= depth; column += 4) {
    const auto row = [&](std::size_t at) HWY_ATTR { return row_at(at) + column; };
    const FloatVector a = load_quads(d, 0, row), b = load_quads(d, 1, row),
                      c = load_quads(d, 2, row), e = load_quads(d, 3, row);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    float* to = packed + column * kKeys;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + kKeys);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * kKeys);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * kKeys);
  }
#endif
  for (; column < depth; ++column) {
    for (std::size_t row = 0; row < kFloatLanes; ++row) {
      packed[column * kKeys + row] = row_at(row)[column];
    }
  }
}

void pack_head_keys(MatrixView<const float> k, std::size_t first, float* HWY_RESTRICT packed) {
  const auto depth = static_cast<std::size_t>(k.cols);
  const std::size_t end = first + static_cast<std::size_t>(k.rows);
  const auto key_at = [&](std::size_t key) HWY_ATTR {
    return k.data + static_cast<std::int64_t>(key - first) * k.row_stride;
  };
  const auto place_of = [&](std::size_t key)
                            HWY_ATTR { return packed + key / kKeys * kKeys * depth + key % kKeys; };
  // Those that share registers with earlier keys.
  std::size_t key = first;
  for (; key < end && key % kFloatLanes != 0; ++key) {
    const float* from = key_at(key);
    float* to = place_of(key);
    for (std::size_t column = 0; column < depth; ++column) to[column * kKeys] = from[column];
  }
  if (key == end) return;
  const std::size_t filled = (end + kKeys - 1) / kKeys * kKeys;
  for (; key < filled; key += kFloatLanes) {
    // Past the end the last key is repeated: its scores are masked.
    const auto row_at = [&](std::size_t row)
                            HWY_ATTR { return key_at(std::min(key + row, end - 1)); };
    pack_transposed(row_at, depth, place_of(key));
  }
}

/// Calls visit(first register, registers) for each panel of values, as equal as they can be.
template <class Visit>
HWY_INLINE void for_value_panels(std::int64_t columns, const Visit& visit) {
  const std::size_t vectors = (static_cast<std::size_t>(columns) + kFloatLanes - 1) / kFloatLanes;
  const std::size_t panels = (vectors + kMaxValueVectors - 1) / kMaxValueVectors;
  for (std::size_t panel = 0, first = 0; panel < panels; ++panel) {
    const std::size_t count = (vectors - first) / (panels - panel);
    visit(first, count);
    first += count;
  }
}

void pack_head_values(MatrixView<const float> v, std::size_t first_token, std::size_t room,
                      float* HWY_RESTRICT packed) {
  const auto columns = static_cast<std::size_t>(v.cols);
  for_value_panels(v.cols, [&](std::size_t first, std::size_t vectors) HWY_ATTR {
    const std::size_t width = vectors * kFloatLanes, start = first * kFloatLanes;
    const std::size_t filled = std::min(width, columns - start);
    float* to = packed + start * room + first_token * width;
    for (std::int64_t token = 0; token < v.rows; ++token, to += width) {
      const float* from = v.data + token * v.row_stride + start;
      if (filled == width) {
        for (std::size_t column = 0; column < width; column += kFloatLanes) {
          hn::StoreU(hn::LoadU(Floats(), from + column), Floats(), to + column);
        }
      } else {
        std::fill(std::copy(from, from + filled, to), to + width, 0.0F);
      }
    }
  });
}

// ---- scores

/// out (kQueries, kVectors registers; rows `stride` apart) = scale · q · a panel of keys.
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

/// Where each of kCount rows from `first` on starts; past the end the last row, again.
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

HWY_INLINE void cap_scores(float cap, float* scores, std::size_t count) {
  const Floats d;
  const FloatVector limit = hn::Set(d, cap);
  for (std::size_t at = 0; at < count; at += kFloatLanes) {
    hn::Store(hn::Mul(limit, hyperbolic_tangent(d, hn::Div(hn::Load(d, scores + at), limit))), d,
              scores + at);
  }
}

/// scores[0 … count) += bias[0 … count).
HWY_INLINE void add_bias(const float* HWY_RESTRICT bias, float* HWY_RESTRICT scores,
                         std::size_t count) {
  const Floats d;
  std::size_t at = 0;
  for (; at + kFloatLanes <= count; at += kFloatLanes) {
    hn::Store(hn::Add(hn::Load(d, scores + at), hn::LoadU(d, bias + at)), d, scores + at);
  }
  for (; at < count; ++at) scores[at] += bias[at];
}

/// The sum of all lanes, in float64.
HWY_INLINE double sum_of_lanes(FloatVector x) {
#if HWY_TARGET == HWY_SCALAR
  return static_cast<double>(hn::GetLane(x));
#else
  const hn::Half<Floats> half;
  const hn::Repartition<double, Floats> doubles;
  const auto low = hn::PromoteTo(doubles, hn::LowerHalf(half, x));
  const auto high = hn::PromoteTo(doubles, hn::UpperHalf(half, x));
  return hn::GetLane(hn::SumOfLanes(doubles, hn::Add(low, high)));
#endif
}

/// The scores of a query that are not masked, [first, end), and the registers that they lie in,
/// [start, stop).
struct ScoreRow {
  float* scores;
  std::size_t first, end, start, stop;
};

/// Caps the scores, adds the bias of their keys (`bias` is that of the row's first column, or
/// null), masks what else is in their registers, and finds the largest.
HWY_INLINE float prepare_scores(const ScoreRow& row, float soft_cap, const float* bias) {
  const Floats d;
  if (soft_cap > 0) cap_scores(soft_cap, row.scores + row.start, row.stop - row.start);
  if (bias != nullptr) add_bias(bias + row.start, row.scores + row.start, row.end - row.start);
  const FloatVector masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  const auto mask_lanes = [&](hn::Mask<Floats> mask, float* at) HWY_ATTR {
    hn::Store(hn::IfThenElse(mask, masked, hn::Load(d, at)), d, at);
  };
  mask_lanes(hn::FirstN(d, row.first - row.start), row.scores + row.start);
  mask_lanes(hn::Not(hn::FirstN(d, kFloatLanes - (row.stop - row.end))),
             row.scores + row.stop - kFloatLanes);
  FloatVector largest = masked;
  for (std::size_t at = row.start; at < row.stop; at += kFloatLanes) {
    largest = hn::Max(largest, hn::Load(d, row.scores + at));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

/// Scores become exp(score − largest), whose sum is returned.
HWY_INLINE double exponentiate_scores(const ScoreRow& row, float largest) {
  constexpr std::size_t kAddedInFloat32 = 8 * kFloatLanes;  // longer sums are float64's
  const Floats d;
  const FloatVector offset = hn::Set(d, largest);
  double sum = 0;
  for (std::size_t chunk = row.start; chunk < row.stop; chunk += kAddedInFloat32) {
    const std::size_t chunk_end = std::min(chunk + kAddedInFloat32, row.stop);
    FloatVector sums = hn::Zero(d);
    for (std::size_t at = chunk; at < chunk_end; at += kFloatLanes) {
      const FloatVector weight = exponential(d, hn::Sub(hn::Load(d, row.scores + at), offset));
      hn::Store(weight, d, row.scores + at);
      sums = hn::Add(sums, weight);
    }
    sum += sum_of_lanes(sums);
  }
  return sum;
}

HWY_INLINE void scale_row(const ScoreRow& row, float factor) {
  const Floats d;
  for (std::size_t at = row.start; at < row.stop; at += kFloatLanes) {
    hn::Store(hn::Mul(hn::Load(d, row.scores + at), hn::Set(d, factor)), d, row.scores + at);
  }
}

/// Columns [first, end) become 0; both are multiples of kFloatLanes.
HWY_INLINE void clear(float* row, std::size_t first, std::size_t end) {
  for (; first < end; first += kFloatLanes) hn::StoreU(hn::Zero(Floats()), Floats(), row + first);
}

/// A row of a map: `weights` at their columns, 0 elsewhere. With kPastCaches the row lies at a
/// boundary of 64 bytes.
template <bool kPastCaches>
HWY_INLINE void write_map_row(const float* weights, const AttentionColumns& columns,
                              std::size_t tokens, float* HWY_RESTRICT map) {
  const Floats d;
  const auto first = static_cast<std::size_t>(columns.first);
  const std::size_t end = first + static_cast<std::size_t>(columns.count);
  const std::size_t whole = tokens / kFloatLanes * kFloatLanes;
  const auto write = [&](FloatVector value, std::size_t at) HWY_ATTR {
    if constexpr (kPastCaches) {
      hn::Stream(value, d, map + at);
    } else {
      hn::StoreU(value, d, map + at);
    }
  };
  std::size_t at = 0;
  for (; at < std::min(first, whole); at += kFloatLanes) write(hn::Zero(d), at);
  for (; at < std::min(end, whole); at += kFloatLanes) {
    write(hn::Load(d, weights + at - first), at);
  }
  for (; at < whole; at += kFloatLanes) write(hn::Zero(d), at);
  for (; at < tokens; ++at) map[at] = at >= first && at < end ? weights[at - first] : 0.0F;
}

/// Whether the map is so large that its rows would only push other things out of the caches, and
/// lies where it can be written past them.
bool goes_past_caches(MatrixView<const float> map, std::int64_t tokens) {
  constexpr std::int64_t kFromTokens = 1024, kLine = 64;
  return map.data != nullptr && tokens >= kFromTokens &&
         reinterpret_cast<std::uintptr_t>(map.data) % kLine == 0 &&
         map.row_stride % (kLine / static_cast<std::int64_t>(sizeof(float))) == 0;
}

/// Scores become weights. Several rows pass each step together, as one row's steps wait for each
/// other.
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

/// out (rows, kVectors registers) = or += weights · a panel of values.
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
