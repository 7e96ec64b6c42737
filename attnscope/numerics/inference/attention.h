// The attention of one head over one sequence, in float32: which keys a query sees, weights from
// scores, and outputs from weights and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

// Keys and values of one head. Those of later tokens can be added.

/// Laid out for attend(): packed if the CPU has kernels, else in rows.
class KeysAndValues {
 public:
  /// Makes room for `tokens` tokens with d = `depth` and d_v = `value_columns` elements each.
  /// Discards the contents; reuses the memory if it is large enough. Throws std::bad_alloc.
  void reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns);

  /// Bytes that reserve() takes; nothing if the number overflows.
  static std::optional<std::uint64_t> bytes(std::int64_t tokens, std::int64_t depth,
                                            std::int64_t value_columns);

  /// Stores k (count, d) and v (count, d_v) as those of tokens first … first + count − 1. There
  /// must be room, and all earlier tokens must have been put with the same kernels.
  void put(std::int64_t first, MatrixView<const float> k, MatrixView<const float> v,
           Kernels kernels);

  std::int64_t room() const { return room_; }  // tokens
  const float* keys() const { return keys_; }
  const float* values() const { return values_; }

 private:
  std::int64_t room_ = 0;
  AlignedBuffer<float> key_memory_, value_memory_;
  float* keys_ = nullptr;  // in these
  float* values_ = nullptr;
};

/// Which keys a query sees: its own position, `keys_before` before it and `keys_after` after it, of
/// these those of its own chunk.
struct AttentionMask {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  std::int64_t keys_before = kAll;
  std::int64_t keys_after = 0;
  std::int64_t chunk = kAll;  // runs of so many tokens, from the first on, see only each other

  /// Decoders: the query's own key and those before it; with a window (> 0) `window` keys in all.
  static AttentionMask causal(std::int64_t window = 0) {
    return {.keys_before = window > 0 ? window - 1 : kAll};
  }
  /// Encoders: every key, or those with |query − key| ≤ reach.
  static AttentionMask bidirectional(std::int64_t reach = kAll) {
    return {.keys_before = reach, .keys_after = reach};
  }

  /// The query's keys among `tokens` are first_key … end_key − 1.
  std::int64_t first_key(std::int64_t query) const {
    return query - std::min(query % chunk, keys_before);
  }
  std::int64_t end_key(std::int64_t query, std::int64_t tokens) const {
    return query + 1 + std::min({tokens - 1 - query, keys_after, chunk - 1 - query % chunk});
  }
};

struct AttentionRule {
  float scale = 1;     // scores are scale · q kᵀ
  float soft_cap = 0;  // c > 0: scores s become c · tanh(s / c), before the mask
  AttentionMask mask = {};
  /// Added to the capped scores: of each query, in the order of q's rows, what each key gets; no
  /// data: nothing. Read from key 0 to the last that a query sees. Rows may overlap: with
  /// bias_by_distance() they lie one element apart, and with a stride of 0 all are one row.
  MatrixView<const float> bias = {};
  /// The score of a column that has no key and no value: it takes its part of each query's weights,
  /// which then sum to less than 1.
  std::optional<float> sink = {};
};

/// The bias of queries first_query … first_query + queries − 1, where at_zero[key − query] is what
/// a key gets that is so many tokens after the query.
inline MatrixView<const float> bias_by_distance(const float* at_zero, std::int64_t first_query,
                                                std::int64_t queries, std::int64_t tokens) {
  return {at_zero - first_query, queries, tokens, /*row_stride=*/-1};
}

/// A thread's memory, reused from one head to the next. Does not affect results.
struct AttentionScratch {
  KeysAndValues keys_and_values;
  AlignedBuffer<float> scores;
};

/// maps = softmax(rule(q kᵀ)) (T, T), exactly 0 where a key is masked, and out = maps · v (T, d_v),
/// for q and k (T, d) and v (T, d_v) of one head over one sequence. All have contiguous rows. If
/// `maps` has no data, nothing of size T × T is allocated, and `out` has the same bytes. A weight
/// below 1e-38 of its row's largest is 0; a row with a score of NaN or +Inf is NaN.
/// Single-threaded. Throws Stopped between blocks of rows.
void attend(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AttentionScratch& scratch, const Compute& compute);

/// The same for the last n queries of a sequence of `tokens` tokens, whose keys and values are
/// already in `keys_and_values`: q (n, d), maps (n, T), out (n, d_v). Each row has the same bytes
/// as in a run of all queries.
void attend(MatrixView<const float> q, const KeysAndValues& keys_and_values, std::int64_t tokens,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AlignedBuffer<float>& scores, const Compute& compute);

/// The same for queries of another text, each of which sees all `tokens` keys: q (n, d), of which
/// the first has position `first_query` in its text, maps (n, tokens), out (n, d_v). The rule's
/// mask does not count.
void attend_across(MatrixView<const float> q, std::int64_t first_query,
                   const KeysAndValues& keys_and_values, std::int64_t tokens,
                   const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
                   AlignedBuffer<float>& scores, const Compute& compute);

}  // namespace attnscope
