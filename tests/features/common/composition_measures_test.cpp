// Composition scores, compared with the definition on full D × D circuits.
#include "attnscope/features/common/composition_measures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

/// The four projections of a layer.
struct LayerAttention {
  HeadShape heads;
  Matrix<double> query, key, value, output;

  CircuitWeights qk() const { return {Role::qk, query.view(), key.view(), heads}; }
  CircuitWeights ov() const { return {Role::ov, output.view(), value.view(), heads}; }
};

LayerAttention random_layer_attention(const HeadShape& heads, std::int64_t width,
                                      std::uint64_t seed) {
  return {.heads = heads,
          .query = gaussian_matrix(heads.heads * heads.head_dim, width, seed),
          .key = gaussian_matrix(heads.kv_heads * heads.head_dim, width, seed + 1),
          .value = gaussian_matrix(heads.kv_heads * heads.value_dim, width, seed + 2),
          .output = gaussian_matrix(width, heads.heads * heads.value_dim, seed + 3)};
}

ReadingHeads readers_of(const LayerAttention& later, ReadingKind kind, HeadRange heads) {
  const CircuitWeights weights = kind == ReadingKind::value ? later.ov() : later.qk();
  return prepare_readers(weights, kind, heads);
}

WritingHeads writers_of(const LayerAttention& earlier, HeadRange heads) {
  return prepare_writers(earlier.ov(), heads);
}

/// leftᵀ · right, of shape (D, D).
Matrix<double> whole_circuit(const CircuitWeights& weights, std::int64_t head) {
  const CircuitFactors factors = head_factors(weights, head);
  return naive_product(factors.left.transposed(), factors.right);
}

double score_by_definition(const LayerAttention& later, ReadingKind kind,
                           std::int64_t receiver_head, const LayerAttention& earlier,
                           std::int64_t head) {
  const Matrix<double> reading =
      whole_circuit(kind == ReadingKind::value ? later.ov() : later.qk(), receiver_head);
  const Matrix<double> writing = whole_circuit(earlier.ov(), head);
  const MatrixView<const double> read =
      kind == ReadingKind::query ? reading.view().transposed() : reading.view();
  return frobenius_norm(naive_product(read, writing.view()).view()) /
         (frobenius_norm(reading.view()) * frobenius_norm(writing.view()));
}

constexpr HeadShape kGrouped = {.heads = 4, .kv_heads = 2, .head_dim = 3, .value_dim = 2};

TEST(Composition, IsTheNormOfTheProductDividedByBothNorms) {
  const struct {
    HeadShape heads;
    std::int64_t width;
  } shapes[] = {{{.heads = 2, .kv_heads = 2, .head_dim = 2, .value_dim = 2}, 4},
                {kGrouped, 4},
                {{.heads = 4, .kv_heads = 1, .head_dim = 5, .value_dim = 7}, 4},  // d > D
                {{.heads = 6, .kv_heads = 2, .head_dim = 20, .value_dim = 13}, 50}};
  for (const auto& [heads, width] : shapes) {
    const LayerAttention earlier = random_layer_attention(heads, width, 1);
    const LayerAttention later = random_layer_attention(heads, width, 11);
    const HeadRange all = {0, heads.heads};
    const WritingHeads writers = writers_of(earlier, all);
    for (const ReadingKind kind : kReadingKinds) {
      const Matrix<double> scores = composition_scores(readers_of(later, kind, all), writers);
      ASSERT_EQ(scores.rows(), heads.heads);
      ASSERT_EQ(scores.cols(), heads.heads);
      for (std::int64_t receiver_head = 0; receiver_head < heads.heads; ++receiver_head) {
        for (std::int64_t head = 0; head < heads.heads; ++head) {
          // Rounding error of sums over at most 50 × 20 products.
          EXPECT_NEAR(scores(receiver_head, head),
                      score_by_definition(later, kind, receiver_head, earlier, head), 1e-13)
              << reading_kind_name(kind) << " " << receiver_head << " " << head;
        }
      }
    }
  }
}

TEST(Composition, IsOneForAHeadThatReadsTheOutputOfTheOther) {
  // The OV circuits of both heads copy the first coordinate and nothing else.
  const HeadShape one = {.heads = 1, .kv_heads = 1, .head_dim = 1, .value_dim = 1};
  LayerAttention copies = random_layer_attention(one, 4, 1);
  for (std::int64_t at = 0; at < 4; ++at) {
    copies.value(0, at) = copies.output(at, 0) = copies.query(0, at) = at == 0 ? 2 : 0;
    copies.key(0, at) = at == 1 ? 3 : 0;
  }
  const WritingHeads writers = writers_of(copies, {0, 1});
  const auto score = [&](ReadingKind kind) {
    return composition_scores(readers_of(copies, kind, {0, 1}), writers)(0, 0);
  };
  EXPECT_DOUBLE_EQ(score(ReadingKind::value), 1);
  EXPECT_DOUBLE_EQ(score(ReadingKind::query), 1);  // queries read the first coordinate
  EXPECT_DOUBLE_EQ(score(ReadingKind::key), 0);    // keys read the second, which nothing writes
}

TEST(Composition, HasTheSameDigitsForAnyRangesOfHeads) {
  const LayerAttention earlier = random_layer_attention(kGrouped, 30, 1);
  const LayerAttention later = random_layer_attention(kGrouped, 30, 11);
  for (const ReadingKind kind : kReadingKinds) {
    const Matrix<double> whole =
        composition_scores(readers_of(later, kind, {0, 4}), writers_of(earlier, {0, 4}));
    for (const std::int64_t group : {0, 1}) {
      for (const HeadRange writing : {HeadRange{0, 1}, HeadRange{1, 3}}) {
        const Matrix<double> part = composition_scores(readers_of(later, kind, {2 * group, 2}),
                                                       writers_of(earlier, writing));
        for (std::int64_t receiver_head = 0; receiver_head < 2; ++receiver_head) {
          for (std::int64_t head = 0; head < writing.count; ++head) {
            EXPECT_EQ(part(receiver_head, head),
                      whole(2 * group + receiver_head, writing.first + head));
          }
        }
      }
    }
  }
}

TEST(Composition, IsEmptyForZeroHeadsAndForNanOrInf) {
  LayerAttention earlier = random_layer_attention(kGrouped, 6, 1),
                 later = random_layer_attention(kGrouped, 6, 11);
  for (std::int64_t row = 0; row < 6; ++row) {
    for (std::int64_t col = 0; col < 2; ++col) earlier.output(row, col) = 0;  // head 0
  }
  later.key(4, 2) = std::numeric_limits<double>::quiet_NaN();       // key/value head 1
  later.query(1, 3) = std::numeric_limits<double>::infinity();      // head 0
  earlier.output(2, 7) = -std::numeric_limits<double>::infinity();  // head 3
  const WritingHeads writers = writers_of(earlier, {0, 4});
  EXPECT_EQ(writers.norms[0], 0);
  EXPECT_EQ(writers.norms[3], std::nullopt);
  for (const ReadingKind kind : {ReadingKind::query, ReadingKind::key}) {
    const ReadingHeads readers = readers_of(later, kind, {0, 4});
    const Matrix<double> scores = composition_scores(readers, writers);
    for (const std::int64_t receiver_head : {0, 1, 2, 3}) {
      EXPECT_EQ(readers.norms[static_cast<std::size_t>(receiver_head)].has_value(),
                receiver_head == 1);
      for (const std::int64_t head : {0, 1, 2, 3}) {
        const bool has_score = receiver_head == 1 && (head == 1 || head == 2);
        EXPECT_EQ(std::isnan(scores(receiver_head, head)), !has_score)
            << receiver_head << " " << head;
      }
    }
    EXPECT_NEAR(scores(1, 2), score_by_definition(later, kind, 1, earlier, 2), 1e-13);
  }
}

}  // namespace
}  // namespace attnscope
