#include "attnscope/numerics/attention.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "attnscope/numerics/kernels/attention.h"

namespace attnscope {
namespace {

/// Queries whose scores are held at once.
constexpr std::int64_t kBlock = 96;

constexpr std::int64_t round_up(std::int64_t count, std::size_t step) {
  const auto unit = static_cast<std::int64_t>(step);
  return (count + unit - 1) / unit * unit;
}

float* reserve(AlignedBuffer<float>& buffer, std::int64_t rows, std::int64_t columns) {
  return buffer.reserve(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
}

/// Lanes of their own sums: what a compiler makes registers of.
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

/// scores[0 … count) become weights that sum to 1.
void softmax(float* scores, std::int64_t count) {
  const float largest = *std::max_element(scores, scores + count);
  double sum = 0;
  for (float* score = scores; score < scores + count; ++score) {
    *score = std::exp(*score - largest);
    sum += static_cast<double>(*score);
  }
  const auto factor = static_cast<float>(1 / sum);
  for (float* score = scores; score < scores + count; ++score) *score *= factor;
}

/// For CPUs without kernels.
void attend_plainly(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
                    AttentionScratch& scratch, const Compute& compute) {
  const std::int64_t tokens = q.rows;
  float* weights = reserve(scratch.scores, 1, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    if (query % kBlock == 0) compute.check_stop();
    const std::int64_t first = rule.mask.first_key(query), end = rule.mask.end_key(query, tokens);
    for (std::int64_t key = first; key < end; ++key) {
      float score = rule.scale * dot(&q(query, 0), &k(key, 0), q.cols);
      if (rule.soft_cap > 0) score = rule.soft_cap * std::tanh(score / rule.soft_cap);
      weights[key] = score;
    }
    softmax(weights + first, end - first);
    if (maps.data != nullptr) {
      float* map = &maps(query, 0);
      std::fill(map, map + first, 0.0F);
      std::copy(weights + first, weights + end, map + first);
      std::fill(map + end, map + tokens, 0.0F);
    }
    float* row = &out(query, 0);
    std::fill(row, row + out.cols, 0.0F);
    for (std::int64_t key = first; key < end; ++key) {
      const float* value = &v(key, 0);
      for (std::int64_t column = 0; column < out.cols; ++column) {
        row[column] += weights[key] * value[column];
      }
    }
  }
}

}  // namespace

void attend(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
            const AttentionRule& rule, MatrixView<float> maps, MatrixView<float> out,
            AttentionScratch& scratch, const Compute& compute) {
  if (!compute.kernels.available()) {
    return attend_plainly(q, k, v, rule, maps, out, scratch, compute);
  }
  const std::int64_t tokens = q.rows;
  if (tokens == 0) return;
  float* keys = reserve(scratch.keys, round_up(tokens, kernels::kKeyPanel), q.cols);
  float* values = reserve(scratch.values, tokens, round_up(v.cols, kernels::kValueColumns));
  kernels::pack_attention_keys(compute.kernels, k, keys);
  kernels::pack_attention_values(compute.kernels, v, values);
  for (std::int64_t first = 0; first < tokens; first += kBlock) {
    compute.check_stop();
    const std::int64_t count = std::min(kBlock, tokens - first);
    // Rows a power of two apart would meet in few lines of the caches.
    const std::int64_t stride =
        kernels::attention_columns(rule.mask, first, count, tokens).count + 16;
    kernels::attend_block(compute.kernels, {.q = q.row_block(first, count),
                                            .first = first,
                                            .tokens = tokens,
                                            .keys = keys,
                                            .values = values,
                                            .rule = rule,
                                            .scores = reserve(scratch.scores, count, stride),
                                            .score_stride = stride,
                                            .maps = maps.data ? maps.row_block(first, count) : maps,
                                            .out = out.row_block(first, count)});
  }
}

}  // namespace attnscope
