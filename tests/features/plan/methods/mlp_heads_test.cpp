// Pruned neurons and heads, and the refit of the following projection, compared with a direct
// solution of the definition (same_shape_model.h).
#include "tests/features/plan/methods/same_shape_model.h"

namespace attnscope::test {
namespace {

/// Copies the columns of `narrow` to these column indices. The others are zero.
Matrix<double> spread_columns(const Matrix<double>& narrow, const Numbers& kept,
                              std::int64_t columns) {
  Matrix<double> out = zero_matrix(narrow.rows(), columns);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    for (std::int64_t at = 0; at < narrow.cols(); ++at) {
      out(row, kept[static_cast<std::size_t>(at)]) = narrow(row, at);
    }
  }
  return out;
}

/// The refit is compared with a solution without second moments. Their outputs on the text may
/// differ by 3e-5 of the full output. Moments are sums of float32 products with a relative error of
/// 1e-6, and the energies of directions differ by a factor of a thousand.
void expect_same_fit(const Matrix<double>& rows, const Matrix<double>& whole, const Numbers& kept,
                     const Matrix<double>& own, const Matrix<double>& plain) {
  ASSERT_EQ(own.rows(), plain.rows());
  ASSERT_EQ(own.cols(), plain.cols());
  Matrix<double> apart(own.rows(), own.cols());
  for (std::int64_t at = 0; at < own.rows() * own.cols(); ++at) {
    apart.data()[at] = own.data()[at] - plain.data()[at];
  }
  const Matrix<double> spread = spread_columns(apart, kept, rows.cols());
  const double most = frobenius_norm(naive_product(rows.view(), spread.view().transposed()).view());
  const double all = frobenius_norm(naive_product(rows.view(), whole.view().transposed()).view());
  EXPECT_LE(most, 3e-5 * all);
}

class MlpInPlace : public InPlace {};

TEST_P(MlpInPlace, EqualsTheModelWithFewerNeuronsAndARefit) {
  const std::int64_t width = model_.dimensions().mlp_width;
  const Choice choice = chosen(find_method("mlp"), width * 3 / 4);
  const Model made = smaller(choice);
  EXPECT_EQ(made.dimensions().mlp_width, choice.size);
  const Model in_place = truncated_in_place([&](std::int64_t layer) {
    const Numbers& kept = choice.kept[static_cast<std::size_t>(layer)];
    const Matrix<double>& read = plain_.rows(layer, Role::down);
    const Matrix<double> whole = canonical_matrix(model_, layer, Role::down);
    const Matrix<double> fitted = plainly_refitted(read, whole, kept);
    expect_same_fit(read, whole, kept, canonical_matrix(made, layer, Role::down), fitted);
    LayerMatrices own;
    own.weights.emplace(Role::down, spread_columns(fitted, kept, width));
    return own;
  });
  expect_same_logits(made, in_place);
}

INSTANTIATE_TEST_SUITE_P(Models, MlpInPlace,
                         ::testing::Values("gpt2", "llama", "gemma", "phi", "phi3"));

class HeadsInPlace : public InPlace {
 protected:
  /// The head with the largest E‖W_O,h z_h‖² of each group.
  Numbers strongest(std::int64_t layer) const {
    const HeadShape& heads = model_.dimensions().heads;
    const Matrix<double> output = canonical_matrix(model_, layer, Role::output);
    const Matrix<double>& read = plain_.rows(layer, Role::output);
    Numbers out;
    for (std::int64_t group = 0; group < heads.kv_heads; ++group) {
      double best = -1;
      out.push_back(-1);
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        if (heads.kv_head(head) != group) continue;
        const std::int64_t first = head * heads.value_dim;
        const Matrix<double> adds =
            naive_product(read.view().col_block(first, heads.value_dim),
                          output.view().col_block(first, heads.value_dim).transposed());
        const double energy = frobenius_norm(adds.view());
        if (energy <= best) continue;
        best = energy;
        out.back() = head;
      }
    }
    return out;
  }
};

TEST_P(HeadsInPlace, EqualsTheModelWithZeroedHeadsAndARefit) {
  const HeadShape& heads = model_.dimensions().heads;
  ASSERT_EQ(heads.group_size(), 2);
  const Choice choice = chosen(find_method("heads"), heads.kv_heads);
  const Model made = smaller(choice);
  EXPECT_EQ(made.dimensions().heads.heads, heads.kv_heads);
  EXPECT_EQ(made.dimensions().heads.head_dim, heads.head_dim);
  const Model in_place = truncated_in_place([&](std::int64_t layer) {
    EXPECT_EQ(choice.kept[static_cast<std::size_t>(layer)], strongest(layer));
    Numbers elements;
    for (const std::int64_t head : strongest(layer)) {
      for (std::int64_t at = 0; at < heads.value_dim; ++at) {
        elements.push_back(head * heads.value_dim + at);
      }
    }
    const Matrix<double>& read = plain_.rows(layer, Role::output);
    const Matrix<double> whole = canonical_matrix(model_, layer, Role::output);
    const Matrix<double> fitted = plainly_refitted(read, whole, elements);
    expect_same_fit(read, whole, elements, canonical_matrix(made, layer, Role::output), fitted);
    LayerMatrices own;
    own.weights.emplace(Role::output,
                        spread_columns(fitted, elements, heads.heads * heads.value_dim));
    return own;
  });
  expect_same_logits(made, in_place);
}

INSTANTIATE_TEST_SUITE_P(Models, HeadsInPlace,
                         ::testing::Values("llama", "qwen2", "qwen3", "gemma2", "phi", "phi3"));

}  // namespace
}  // namespace attnscope::test
