// Circuit factors, compared with sums over the indices of the definition. All sums are exact
// because the elements are small integers.
#include "attnscope/features/common/circuit_factors.h"

#include <gtest/gtest.h>

#include <string>

#include "attnscope/base/heads.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "tests/support/matrices.h"

namespace attnscope {
namespace {

using namespace test;

constexpr std::int64_t kWidth = 7;

struct Attention {
  HeadShape heads;
  Matrix<double> query, key, value, output;
};

Attention random_attention(const HeadShape& heads) {
  return {
      .heads = heads,
      .query = integer_matrix(heads.heads * heads.head_dim, kWidth, /*limit=*/9, /*seed=*/1),
      .key = integer_matrix(heads.kv_heads * heads.head_dim, kWidth, /*limit=*/9, /*seed=*/2),
      .value = integer_matrix(heads.kv_heads * heads.value_dim, kWidth, /*limit=*/9, /*seed=*/3),
      .output = integer_matrix(kWidth, heads.heads * heads.value_dim, /*limit=*/9, /*seed=*/4)};
}

CircuitWeights qk_of(const Attention& attention) {
  return {Role::qk, attention.query.view(), attention.key.view(), attention.heads};
}

CircuitWeights ov_of(const Attention& attention) {
  return {Role::ov, attention.output.view(), attention.value.view(), attention.heads};
}

/// The key/value head of query head h: floor(h G / H).
std::int64_t read_by(std::int64_t head, const HeadShape& heads) {
  return head * heads.kv_heads / heads.heads;
}

/// QK_h[a, b] = Σ_i W_Q[h d + i, a] W_K[g d + i, b].
Matrix<double> naive_qk(const Attention& attention, std::int64_t head) {
  const std::int64_t dim = attention.heads.head_dim;
  const std::int64_t kv_head = read_by(head, attention.heads);
  Matrix<double> out = zero_matrix(kWidth, kWidth);
  for (std::int64_t row = 0; row < kWidth; ++row) {
    for (std::int64_t col = 0; col < kWidth; ++col) {
      for (std::int64_t inner = 0; inner < dim; ++inner) {
        out(row, col) +=
            attention.query(head * dim + inner, row) * attention.key(kv_head * dim + inner, col);
      }
    }
  }
  return out;
}

/// OV_h[a, b] = Σ_i W_O[a, h d_v + i] W_V[g d_v + i, b].
Matrix<double> naive_ov(const Attention& attention, std::int64_t head) {
  const std::int64_t dim = attention.heads.value_dim;
  const std::int64_t kv_head = read_by(head, attention.heads);
  Matrix<double> out = zero_matrix(kWidth, kWidth);
  for (std::int64_t row = 0; row < kWidth; ++row) {
    for (std::int64_t col = 0; col < kWidth; ++col) {
      for (std::int64_t inner = 0; inner < dim; ++inner) {
        out(row, col) +=
            attention.output(row, head * dim + inner) * attention.value(kv_head * dim + inner, col);
      }
    }
  }
  return out;
}

void expect_equal(const Matrix<double>& got, const Matrix<double>& expected) {
  ASSERT_EQ(got.rows(), expected.rows());
  ASSERT_EQ(got.cols(), expected.cols());
  for (std::int64_t row = 0; row < got.rows(); ++row) {
    for (std::int64_t col = 0; col < got.cols(); ++col) {
      ASSERT_EQ(got(row, col), expected(row, col)) << "at " << row << ", " << col;
    }
  }
}

class Circuit : public testing::TestWithParam<HeadShape> {
 protected:
  const Attention attention_ = random_attention(GetParam());
};

TEST_P(Circuit, OneHeadIsTheProductOfItsFactors) {
  for (std::int64_t head = 0; head < attention_.heads.heads; ++head) {
    SCOPED_TRACE("head " + std::to_string(head));
    const CircuitFactors qk = head_factors(qk_of(attention_), head);
    EXPECT_EQ(qk.left.rows, attention_.heads.head_dim);
    EXPECT_EQ(qk.right.rows, attention_.heads.head_dim);
    expect_equal(naive_product(qk.left.transposed(), qk.right), naive_qk(attention_, head));

    const CircuitFactors ov = head_factors(ov_of(attention_), head);
    EXPECT_EQ(ov.left.rows, attention_.heads.value_dim);
    EXPECT_EQ(ov.right.rows, attention_.heads.value_dim);
    expect_equal(naive_product(ov.left.transposed(), ov.right), naive_ov(attention_, head));
  }
}

TEST_P(Circuit, SumOverHeadsIsTheProductWithTheSummedFactor) {
  Matrix<double> qk = zero_matrix(kWidth, kWidth);
  Matrix<double> ov = zero_matrix(kWidth, kWidth);
  for (std::int64_t head = 0; head < attention_.heads.heads; ++head) {
    const Matrix<double> qk_head = naive_qk(attention_, head);
    const Matrix<double> ov_head = naive_ov(attention_, head);
    for (std::int64_t index = 0; index < kWidth * kWidth; ++index) {
      qk.data()[index] += qk_head.data()[index];
      ov.data()[index] += ov_head.data()[index];
    }
  }
  const Matrix<double> left_qk = summed_left_factor(qk_of(attention_));
  EXPECT_EQ(left_qk.rows(), attention_.key.rows());
  expect_equal(naive_product(left_qk.view().transposed(), attention_.key.view()), qk);

  const Matrix<double> left_ov = summed_left_factor(ov_of(attention_));
  EXPECT_EQ(left_ov.rows(), attention_.value.rows());
  expect_equal(naive_product(left_ov.view().transposed(), attention_.value.view()), ov);
}

TEST_P(Circuit, HeadSlicesTileTheMatrix) {
  const HeadShape& heads = attention_.heads;
  const std::pair<Role, const Matrix<double>&> projections[] = {{Role::query, attention_.query},
                                                                {Role::key, attention_.key},
                                                                {Role::value, attention_.value},
                                                                {Role::output, attention_.output}};
  for (const auto& [role, matrix] : projections) {
    SCOPED_TRACE(std::string(role_name(role)));
    std::int64_t next = 0;
    for (std::int64_t head = 0; head < heads.count(role); ++head) {
      const MatrixView<const double> slice = head_slice(matrix.view(), role, head, heads);
      if (role == Role::output) {
        EXPECT_EQ(slice.data, matrix.data() + next);
        EXPECT_EQ(slice.rows, matrix.rows());
        next += slice.cols;
      } else {
        EXPECT_EQ(slice.data, matrix.data() + next * matrix.cols());
        EXPECT_EQ(slice.cols, matrix.cols());
        next += slice.rows;
      }
    }
    EXPECT_EQ(next, role == Role::output ? matrix.cols() : matrix.rows());
  }
}

TEST_P(Circuit, QueryHeadsUseTheKeyValueHeadOfTheirGroup) {
  const HeadShape& heads = attention_.heads;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    EXPECT_EQ(heads.kv_head(head), read_by(head, heads));
  }
}

INSTANTIATE_TEST_SUITE_P(
    HeadShapes, Circuit,
    testing::Values(HeadShape{.heads = 1, .kv_heads = 1, .head_dim = 7, .value_dim = 7},
                    HeadShape{.heads = 4, .kv_heads = 4, .head_dim = 2, .value_dim = 2},
                    HeadShape{.heads = 6, .kv_heads = 2, .head_dim = 3, .value_dim = 5},
                    HeadShape{.heads = 6, .kv_heads = 3, .head_dim = 5, .value_dim = 1},
                    HeadShape{.heads = 5, .kv_heads = 1, .head_dim = 2, .value_dim = 3},
                    HeadShape{.heads = 3, .kv_heads = 3, .head_dim = 9, .value_dim = 4}),
    [](const testing::TestParamInfo<HeadShape>& shape) {
      return "H" + std::to_string(shape.param.heads) + "_G" + std::to_string(shape.param.kv_heads) +
             "_d" + std::to_string(shape.param.head_dim) + "_dv" +
             std::to_string(shape.param.value_dim);
    });

// Without grouped heads, the summed factor equals the projection.
TEST(SummedLeftFactor, EqualsTheProjectionWithoutGroupedHeads) {
  const Attention attention =
      random_attention({.heads = 4, .kv_heads = 4, .head_dim = 2, .value_dim = 3});
  expect_equal(summed_left_factor(qk_of(attention)), attention.query);
  const Matrix<double> output = summed_left_factor(ov_of(attention));
  for (std::int64_t row = 0; row < output.rows(); ++row) {
    for (std::int64_t col = 0; col < output.cols(); ++col) {
      EXPECT_EQ(output(row, col), attention.output(col, row));
    }
  }
}

// Two query heads that cancel in the sum: QK and OV are zero, although neither head's circuit is.
TEST(SummedLeftFactor, IsZeroForHeadsThatCancel) {
  Attention attention =
      random_attention({.heads = 2, .kv_heads = 1, .head_dim = 3, .value_dim = 3});
  for (std::int64_t inner = 0; inner < 3; ++inner) {
    for (std::int64_t at = 0; at < kWidth; ++at) {
      attention.query(3 + inner, at) = -attention.query(inner, at);
      attention.output(at, 3 + inner) = -attention.output(at, inner);
    }
  }
  for (const CircuitWeights& weights : {qk_of(attention), ov_of(attention)}) {
    const Matrix<double> left = summed_left_factor(weights);
    EXPECT_EQ(frobenius_norm(left.view()), 0);
    EXPECT_EQ(product_singular_values(left.view(), weights.right).values,
              std::vector<double>(3, 0.0));
    const CircuitFactors head = head_factors(weights, 1);
    EXPECT_GT(product_singular_values(head.left, head.right).values.front(), 0);
  }
}

}  // namespace
}  // namespace attnscope
