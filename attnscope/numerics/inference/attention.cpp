#include "attnscope/numerics/inference/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/numerics/inference/kernels/kernels.h"

namespace attnscope {
namespace {

/// Queries per block: their scores are in memory together.
constexpr std::int64_t kQueries = 96;

float* reserve(AlignedBuffer<float>& buffer, std::int64_t rows, std::int64_t columns) {
  return buffer.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

/// Separate sums, which a compiler can vectorize.
float dot(const float* a, const float* b, std::int64_t count) {
  constexpr std::int64_t kSums = 8;
  std::array<float, kSums> sums = {};
  std::int64_t at = 0;
  for (; at + kSums <= count; at += kSums) {
    for (std::int64_t lane = 0; lane < kSums; ++lane) {
      sums[static_cast<std::size_t>(lane)] += a[at + lane] * b[at + lane];
    }
  }
  float sum = 0;
  for (; at < count; ++at) sum += a[at] * b[at];
  for (const float part : sums) sum += part;
  return sum;
}

float score_of(MatrixView<const float> q, MatrixView<const float> k, const AttentionRule& rule,
               std::int64_t row, std::int64_t key) {
  float score = rule.scale * dot(&q(row, 0), &k(key, 0), q.cols);
  if (rule.soft_cap > 0) score = rule.soft_cap * std::tanh(score / rule.soft_cap);
  if (rule.bias.data != nullptr) score += rule.bias(row, key);
  return score;
}

/// Turns scores[0 … count) into weights. They sum to 1, including the weight of the sink if there
/// is one.
void softmax(float* scores, std::int64_t count, std::optional<float> sink) {
  float largest = *std::max_element(scores, scores + count);
  double sum = 0;
  if (sink) {
    largest = std::max(largest, *sink);
    sum = static_cast<double>(std::exp(*sink - largest));
  }
  for (float* score = scores; score < scores + count; ++score) {
    *score = std::exp(*score - largest);
    sum += static_cast<double>(*score);
  }
  const auto factor = static_cast<float>(1 / sum);
  for (float* score = scores; score < scores + count; ++score) *score *= factor;
}

/// Fallback for CPUs without kernels.
void attend_plainly(MatrixView<const float> q, std::int64_t first_query, MatrixView<const float> k,
                    MatrixView<const float> v, const AttentionRule& rule, MatrixView<float> maps,
                    MatrixView<float> out, AlignedBuffer<float>& scores, const Compute& compute) {
  const std::int64_t tokens = k.rows;
  float* weights = reserve(scores, 1, tokens);
  for (std::int64_t row = 0; row < q.rows; ++row) {
    if (row % kQueries == 0) compute.check_stop();
    const std::int64_t query = first_query + row;
    const std::int64_t first = rule.mask.first_key(query), end = rule.mask.end_key(query, tokens);
    for (std::int64_t key = first; key < end; ++key) {
      weights[key] = score_of(q, k, rule, row, key);
    }
    softmax(weights + first, end - first, rule.sink);
    if (maps.data != nullptr) {
      float* map = &maps(row, 0);
      std::fill(map, map + first, 0.0F);
      std::copy(weights + first, weights + end, map + first);
      std::fill(map + end, map + tokens, 0.0F);
    }
    float* sums = &out(row, 0);
    std::fill(sums, sums + out.cols, 0.0F);
    for (std::int64_t key = first; key < end; ++key) {
      const float* value = &v(key, 0);
      for (std::int64_t column = 0; column < out.cols; ++column) {
        sums[column] += weights[key] * value[column];
      }
    }
  }
}

/// Computes attention of consecutive queries. Their positions determine the mask.
void attend_from(MatrixView<const float> q, std::int64_t first_query,
                 const KeysAndValues& keys_and_values, std::int64_t tokens,
                 const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
                 AlignedBuffer<float>& scores, const Compute& compute) {
  if (!compute.kernels.available()) {
    return attend_plainly(q, first_query, {keys_and_values.keys(), tokens, q.cols, q.cols},
                          {keys_and_values.values(), tokens, out.cols, out.cols}, rule, maps, out,
                          scores, compute);
  }
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < q.rows; row += count) {
    compute.check_stop();
    // Blocks start at the same queries as in a run of all tokens, so that sums have the same order.
    const std::int64_t first = first_query + row, block = first / kQueries * kQueries;
    count = std::min(block + kQueries - first, q.rows - row);
    const kernels::AttentionColumns columns =
        kernels::attention_columns(rule.mask, block, first + count - block, tokens);
    // A stride that is a power of two would cause cache conflicts.
    const std::int64_t stride = columns.count + 16;
    AttentionRule own = rule;
    if (rule.bias.data != nullptr) own.bias = rule.bias.row_block(row, count);
    kernels::attend_block(compute.kernels, {.q = q.row_block(row, count),
                                            .first = first,
                                            .tokens = tokens,
                                            .keys = keys_and_values.keys(),
                                            .values = keys_and_values.values(),
                                            .value_room = keys_and_values.room(),
                                            .rule = own,
                                            .columns = columns,
                                            .scores = reserve(scores, count, stride),
                                            .score_stride = stride,
                                            .maps = maps.data ? maps.row_block(row, count) : maps,
                                            .out = out.row_block(row, count)});
  }
}

}  // namespace

void attend(MatrixView<const float> q, const KeysAndValues& keys_and_values, std::int64_t tokens,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AlignedBuffer<float>& scores, const Compute& compute) {
  attend_from(q, tokens - q.rows, keys_and_values, tokens, rule, maps, out, scores, compute);
}

void attend_across(MatrixView<const float> q, std::int64_t first_query,
                   const KeysAndValues& keys_and_values, std::int64_t tokens,
                   const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
                   AlignedBuffer<float>& scores, const Compute& compute) {
  AttentionRule own = rule;
  own.mask = AttentionMask::bidirectional();
  attend_from(q, first_query, keys_and_values, tokens, own, maps, out, scores, compute);
}

void attend(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AttentionScratch& scratch, const Compute& compute) {
  KeysAndValues& keys_and_values = scratch.keys_and_values;
  keys_and_values.reserve(k.rows, k.cols, v.cols);
  keys_and_values.put(0, k, v, compute.kernels);
  attend(q, keys_and_values, k.rows, rule, maps, out, scratch.scores, compute);
}

void attention_scores(MatrixView<const float> q, std::int64_t first_query,
                      MatrixView<const float> k, const AttentionRule& rule,
                      MatrixView<float> scores, const Compute& compute) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  for (std::int64_t row = 0; row < q.rows; ++row) {
    if (row % kQueries == 0) compute.check_stop();
    const std::int64_t query = first_query + row;
    const bool bidirectional = rule.mask.keys_before == AttentionMask::kAll &&
                               rule.mask.keys_after == AttentionMask::kAll &&
                               rule.mask.chunk == AttentionMask::kAll;
    const std::int64_t first = bidirectional ? 0 : rule.mask.first_key(query);
    const std::int64_t end = bidirectional ? k.rows : rule.mask.end_key(query, k.rows);
    std::fill_n(&scores(row, 0), first, kMasked);
    for (std::int64_t key = first; key < end; ++key) {
      scores(row, key) = score_of(q, k, rule, row, key);
    }
    std::fill_n(&scores(row, 0) + end, k.rows - end, kMasked);
  }
}

void attention_weights(MatrixView<float> scores, std::optional<float> sink) {
  for (std::int64_t row = 0; row < scores.rows; ++row) softmax(&scores(row, 0), scores.cols, sink);
}

void weighted_values(MatrixView<const float> weights, MatrixView<const float> v,
                     MatrixView<float> out) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    float* sums = &out(row, 0);
    std::fill_n(sums, out.cols, 0.0F);
    for (std::int64_t key = 0; key < v.rows; ++key) {
      const float weight = weights(row, key);
      if (weight == 0) continue;
      const float* value = &v(key, 0);
      for (std::int64_t column = 0; column < out.cols; ++column)
        sums[column] += weight * value[column];
    }
  }
}

namespace {

constexpr auto kKeyPanel = static_cast<std::int64_t>(kernels::kKeyPanel);
constexpr auto kValueColumns = static_cast<std::int64_t>(kernels::kValueColumns);

constexpr std::int64_t round_up(std::int64_t count, std::int64_t step) {
  return (count + step - 1) / step * step;
}

float* reserve_rows(AlignedBuffer<float>& memory, std::int64_t rows, std::int64_t columns) {
  return memory.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

void copy_rows(MatrixView<const float> from, float* to) {
  for (std::int64_t row = 0; row < from.rows; ++row, to += from.cols) {
    std::copy_n(&from(row, 0), from.cols, to);
  }
}

}  // namespace

void KeysAndValues::reserve(std::int64_t tokens, std::int64_t depth, std::int64_t value_columns) {
  const std::int64_t panels = round_up(tokens, kKeyPanel);
  const std::int64_t columns = round_up(value_columns, kValueColumns);
  keys_ = reserve_rows(key_memory_, panels, depth);
  values_ = reserve_rows(value_memory_, tokens, columns);
  room_ = tokens;
  key_numbers_ = panels * depth;
  value_numbers_ = tokens * columns;
}

void KeysAndValues::copy_from(const KeysAndValues& other) {
  std::copy_n(other.keys_, key_numbers_, keys_);
  std::copy_n(other.values_, value_numbers_, values_);
}

std::optional<std::uint64_t> KeysAndValues::bytes(std::int64_t tokens, std::int64_t depth,
                                                  std::int64_t value_columns) {
  // Counts whole panels, because rounding up the largest sizes would overflow.
  const auto product = [](std::int64_t count, std::int64_t step, std::int64_t times) {
    const auto panels = static_cast<std::uint64_t>(count / step + (count % step != 0));
    const auto each = checked_mul(static_cast<std::uint64_t>(step) * sizeof(float),
                                  static_cast<std::uint64_t>(times));
    return each ? checked_mul(panels, *each) : std::nullopt;
  };
  const auto keys = product(tokens, kKeyPanel, depth);
  const auto values = product(value_columns, kValueColumns, tokens);
  return keys && values ? checked_add(*keys, *values) : std::nullopt;
}

void KeysAndValues::put(std::int64_t first, MatrixView<const float> k, MatrixView<const float> v,
                        Kernels kernels) {
  if (kernels.available()) {
    kernels::pack_attention_keys(kernels, k, first, keys_);
    kernels::pack_attention_values(kernels, v, first, room_, values_);
  } else {
    copy_rows(k, keys_ + first * k.cols);
    copy_rows(v, values_ + first * v.cols);
  }
}

Matrix<float> KeysAndValues::unpacked_keys(std::int64_t tokens, std::int64_t depth,
                                           Kernels kernels) const {
  Matrix<float> out(tokens, depth);
  if (kernels.available()) {
    kernels::unpack_attention_keys(kernels, keys_, out.view());
  } else {
    std::copy_n(keys_, tokens * depth, out.data());
  }
  return out;
}

Matrix<float> KeysAndValues::unpacked_values(std::int64_t tokens, std::int64_t columns,
                                             Kernels kernels) const {
  Matrix<float> out(tokens, columns);
  if (kernels.available()) {
    kernels::unpack_attention_values(kernels, values_, room_, out.view());
  } else {
    std::copy_n(values_, tokens * columns, out.data());
  }
  return out;
}

}  // namespace attnscope
