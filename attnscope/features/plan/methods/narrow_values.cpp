#include "attnscope/features/plan/methods/narrow_values.h"

#include <algorithm>
#include <vector>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {

Matrix<double> with_bias_column(const Model& model, std::int64_t layer, Role role) {
  const Matrix<double> weight = canonical_matrix(model, layer, role);
  const std::vector<double> bias = canonical_bias(model, layer, role);
  Matrix<double> out(weight.rows(), weight.cols() + 1);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    std::copy_n(&weight(row, 0), weight.cols(), &out(row, 0));
    out(row, weight.cols()) = bias.empty() ? 0 : bias[static_cast<std::size_t>(row)];
  }
  return out;
}

void set_with_bias(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                   const Matrix<double>& joined) {
  const auto weight = joined.view().col_block(0, joined.cols() - 1);
  Matrix<double> own(weight.rows, weight.cols);
  std::vector<double> bias;
  for (std::int64_t row = 0; row < own.rows(); ++row) {
    std::copy_n(&weight(row, 0), own.cols(), &own(row, 0));
    bias.push_back(joined(row, weight.cols));
  }
  out.weights.insert_or_assign(role, std::move(own));
  if (model.weight(layer, role).bias != nullptr) out.biases.insert_or_assign(role, std::move(bias));
}

SymmetricRoot value_weight(MatrixView<const double> output, std::int64_t group,
                           const HeadShape& heads, const Compute& compute) {
  const std::int64_t size = heads.value_dim, first = group * heads.group_size() * size;
  Matrix<double> sum = zero_matrix(size, size);
  for (std::int64_t at = 0; at < heads.group_size(); ++at) {
    const auto own = output.col_block(first + at * size, size).transposed();
    const Matrix<double> squares = multiply_transposed(own, own, compute);
    for (std::int64_t element = 0; element < size * size; ++element) {
      sum.data()[element] += squares.data()[element];
    }
  }
  constexpr double kLeast = 1e-10;
  return symmetric_root(sum.view(), kLeast, compute);
}

void narrow_values(LayerMatrices& out, const Model& model, std::int64_t layer, std::int64_t merged,
                   std::int64_t size, const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t own_size = heads.value_dim, groups = heads.kv_heads / merged;
  const Matrix<double> value = with_bias_column(model, layer, Role::value);
  const Matrix<double> output = canonical_matrix(model, layer, Role::output);
  const Matrix<double> moments = text.moments(layer, Role::value).mean_second_with_one();
  Matrix<double> narrow(groups * size, value.cols());
  Matrix<double> reader(output.rows(), heads.heads * size);
  for (std::int64_t group = 0; group < groups; ++group) {
    std::vector<SymmetricRoot> roots;
    Matrix<double> weighted(merged * own_size, value.cols());
    for (std::int64_t at = 0; at < merged; ++at) {
      const std::int64_t old = group * merged + at;
      roots.push_back(value_weight(output.view(), old, heads, compute));
      const Matrix<double> own = product(roots.back().root.view(),
                                         value.view().row_block(old * own_size, own_size), compute);
      std::copy_n(own.data(), own_size * value.cols(), &weighted(at * own_size, 0));
    }
    const OutputDirections directions =
        output_directions(weighted.view(), {.sums = moments.view()}, compute);
    const auto basis = directions.basis.view().row_block(0, size);
    const Matrix<double> kept = product(basis, weighted.view(), compute);
    std::copy_n(kept.data(), size * value.cols(), &narrow(group * size, 0));
    for (std::int64_t at = 0; at < merged; ++at) {
      const Matrix<double> undone =
          product(roots[static_cast<std::size_t>(at)].inverse.view(),
                  basis.col_block(at * own_size, own_size).transposed(), compute);
      for (std::int64_t head = 0; head < heads.heads; ++head) {
        if (heads.kv_head(head) != group * merged + at) continue;
        const Matrix<double> own =
            product(output.view().col_block(head * own_size, own_size), undone.view(), compute);
        for (std::int64_t row = 0; row < own.rows(); ++row) {
          std::copy_n(&own(row, 0), size, &reader(row, head * size));
        }
      }
    }
  }
  set_with_bias(out, model, layer, Role::value, narrow);
  out.weights.insert_or_assign(Role::output, std::move(reader));
}

}  // namespace attnscope
