// Attention of one head over one sequence, in float32: masks, weights from scores, and outputs from
// weights and values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

// Keys and values of one head, to which later tokens can be added.

/// Laid out for attend(): packed if the CPU has kernels, else row-major.
class KeysAndValues {
 public:
  /// Makes room for `tokens` tokens with d = `depth` and d_v = `value_columns` elements each.
  /// Discards the contents; reuses the memory if it is large enough. Throws std::bad_alloc.
  void reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns);

  /// Returns the bytes that reserve() allocates. Empty on overflow.
  static std::optional<std::uint64_t> bytes(std::int64_t tokens, std::int64_t depth,
                                            std::int64_t value_columns);

  /// Stores k (count, d) and v (count, d_v) for tokens first … first + count − 1. There must be
  /// room, and all earlier tokens must have been stored with the same kernels.
  void put(std::int64_t first, MatrixView<const float> k, MatrixView<const float> v,
           Kernels kernels);

  /// Returns copies of the keys (tokens, d) and values (tokens, d_v) of the first tokens.
  Matrix<float> unpacked_keys(std::int64_t tokens, std::int64_t depth, Kernels kernels) const;
  Matrix<float> unpacked_values(std::int64_t tokens, std::int64_t columns, Kernels kernels) const;

  /// Copies all tokens of `other`, for which the same reserve() was called.
  void copy_from(const KeysAndValues& other);

  std::int64_t room() const { return room_; }  // tokens
  const float* keys() const { return keys_; }
  const float* values() const { return values_; }

 private:
  std::int64_t room_ = 0, key_numbers_ = 0, value_numbers_ = 0;
  AlignedBuffer<float> key_memory_, value_memory_;
  float* keys_ = nullptr;  // in this memory
  float* values_ = nullptr;
};

/// Keys that a query attends to: its own position, `keys_before` keys before and `keys_after` keys
/// after it, within its own chunk.
struct AttentionMask {
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

  std::int64_t keys_before = kAll;
  std::int64_t keys_after = 0;
  std::int64_t chunk = kAll;  // attention stays within chunks of this many tokens

  /// Causal attention: the query's own key and earlier ones. With a sliding window (> 0), `window`
  /// keys in total.
  static AttentionMask causal(std::int64_t window = 0) {
    return {.keys_before = window > 0 ? window - 1 : kAll};
  }
  /// Bidirectional attention: all keys, or those with |query − key| ≤ reach.
  static AttentionMask bidirectional(std::int64_t reach = kAll) {
    return {.keys_before = reach, .keys_after = reach};
  }

  /// The query attends to keys first_key … end_key − 1 of `tokens` keys.
  std::int64_t first_key(std::int64_t query) const {
    return query - std::min(query % chunk, keys_before);
  }
  std::int64_t end_key(std::int64_t query, std::int64_t tokens) const {
    return query + 1 + std::min({tokens - 1 - query, keys_after, chunk - 1 - query % chunk});
  }
};

struct AttentionRule {
  float scale = 1;     // scores are scale · q kᵀ
  float soft_cap = 0;  // c > 0: scores s become c · tanh(s / c) before the mask
  AttentionMask mask = {};
  /// Added to the capped scores, one row per query in the order of q's rows, one column per key. No
  /// data: no bias. Read from key 0 to the last key a query attends to. Rows may overlap: with
  /// bias_by_distance() they are one element apart, and with a stride of 0 all rows are the same.
  MatrixView<const float> bias = {};
  /// Score of an attention sink without key and value. It takes a share of each query's weights,
  /// which then sum to less than 1.
  std::optional<float> sink = {};
};

/// Returns the bias of queries first_query … first_query + queries − 1. at_zero[key − query] is the
/// bias for this distance.
inline MatrixView<const float> bias_by_distance(const float* at_zero, std::int64_t first_query,
                                                std::int64_t queries, std::int64_t tokens) {
  return {at_zero - first_query, queries, tokens, /*row_stride=*/-1};
}

/// Buffers of a thread, reused between heads. They do not affect results.
struct AttentionScratch {
  KeysAndValues keys_and_values;
  AlignedBuffer<float> scores;
};

/// Computes maps = softmax(rule(q kᵀ)) (T, T), exactly 0 for masked keys, and out = maps · v (T,
/// d_v). Inputs are q and k (T, d) and v (T, d_v) of one head over one sequence. All have
/// contiguous rows. If `maps` has no data, nothing of size T × T is allocated, and `out` has the
/// same bytes. A weight below 1e-38 of its row's largest is 0; a row with a score of NaN or +Inf is
/// NaN. Single-threaded. Throws Stopped between blocks of rows.
void attend(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AttentionScratch& scratch, const Compute& compute);

/// Computes attention for the last n queries of a sequence of `tokens` tokens, whose keys and
/// values are already in `keys_and_values`: q (n, d), maps (n, T), out (n, d_v). Each row has the
/// same bytes as in a run of all queries.
void attend(MatrixView<const float> q, const KeysAndValues& keys_and_values, std::int64_t tokens,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AlignedBuffer<float>& scores, const Compute& compute);

/// Computes cross-attention: each query attends to all `tokens` keys of another text. q is (n, d),
/// and its first row has position `first_query` in its own text; maps (n, tokens), out (n, d_v).
/// The mask of the rule is ignored.
void attend_across(MatrixView<const float> q, std::int64_t first_query,
                   const KeysAndValues& keys_and_values, std::int64_t tokens,
                   const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
                   AlignedBuffer<float>& scores, const Compute& compute);

// The steps of attend(), for runs that change scores or weights in between.

/// Computes the scores (n, T) of n consecutive queries: scaled, capped, with the bias, and −inf for
/// masked keys. q is (n, d), its first row has position `first_query`; k is (T, d).
void attention_scores(MatrixView<const float> q, std::int64_t first_query,
                      MatrixView<const float> k, const AttentionRule& rule,
                      MatrixView<float> scores, const Compute& compute);

/// Turns each row of scores into weights, which sum to 1 with the weight of the sink.
void attention_weights(MatrixView<float> scores, std::optional<float> sink);

/// Computes out (n, d_v) = weights (n, T) · v (T, d_v).
void weighted_values(MatrixView<const float> weights, MatrixView<const float> v,
                     MatrixView<float> out);

}  // namespace attnscope
