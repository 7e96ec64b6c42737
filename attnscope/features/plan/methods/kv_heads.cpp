// Key/value heads merged, and values narrowed, by principal components across heads.
#include <algorithm>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/narrow_values.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"
#include "attnscope/numerics/products/dense_products.h"
#include "attnscope/numerics/svd/eigenvectors.h"

namespace attnscope {
namespace {

/// The last column taken off: a weight and its bias, where there is one.
void set_with_bias(LayerMatrices& out, Role role, const Matrix<double>& joined, bool biased) {
  const auto weight = joined.view().col_block(0, joined.cols() - 1);
  Matrix<double> own(weight.rows, weight.cols);
  std::vector<double> bias;
  for (std::int64_t row = 0; row < own.rows(); ++row) {
    std::copy_n(&weight(row, 0), own.cols(), &own(row, 0));
    bias.push_back(joined(row, weight.cols));
  }
  out.weights.insert_or_assign(role, std::move(own));
  if (biased) out.biases.insert_or_assign(role, std::move(bias));
}

bool is_biased(const Model& model, std::int64_t layer, Role role) {
  return model.weight(layer, role).bias != nullptr;
}

Matrix<double> zeros(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

}  // namespace

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

SymmetricRoot value_weight(MatrixView<const double> output, std::int64_t group,
                           const HeadShape& heads, const Compute& compute) {
  const std::int64_t size = heads.value_dim, first = group * heads.group_size() * size;
  Matrix<double> sum = zeros(size, size);
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
  set_with_bias(out, Role::value, narrow, is_biased(model, layer, Role::value));
  out.weights.insert_or_assign(Role::output, std::move(reader));
}

ChangedModel with_kv_heads(const Model& model, std::int64_t kv_heads, const TextStatistics& text,
                           const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  if (kv_heads < 1 || heads.kv_heads % kv_heads != 0) {
    throw Error(ErrorKind::format, "size", "not a divisor of " + std::to_string(heads.kv_heads));
  }
  const std::int64_t merged = heads.kv_heads / kv_heads, size = heads.head_dim;
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  changed.set_config(changed.key_of(keys.kv_heads), kv_heads);
  changed.set_config(changed.key_of(keys.head_dim), size);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    const Matrix<double> query = with_bias_column(model, layer, Role::query);
    const Matrix<double> key = with_bias_column(model, layer, Role::key);
    const Matrix<double> moments = text.moments(layer, Role::key).mean_second_with_one();
    Matrix<double> new_query = zeros(query.rows(), query.cols());
    Matrix<double> new_key = zeros(kv_heads * size, key.cols());
    for (std::int64_t group = 0; group < kv_heads; ++group) {
      const RotaryKeys own = rotary_keys(query.view(), key.view(), moments.view(), heads,
                                         group * merged, merged, compute);
      for (std::int64_t pair = 0; pair < own.pairs; ++pair) {
        const RotarySlot slot{pair, 0};
        add_slot_keys(own, key.view(), heads, slot, &new_key(group * size + pair, 0),
                      &new_key(group * size + pair + own.pairs, 0));
        for (std::int64_t head = 0; head < heads.heads; ++head) {
          if (heads.kv_head(head) / merged != group) continue;
          add_slot_queries(own, query.view(), heads, head, slot, &new_query(head * size + pair, 0),
                           &new_query(head * size + pair + own.pairs, 0));
        }
      }
    }
    LayerMatrices matrices;
    set_with_bias(matrices, Role::query, new_query, is_biased(model, layer, Role::query));
    set_with_bias(matrices, Role::key, new_key, is_biased(model, layer, Role::key));
    narrow_values(matrices, model, layer, merged, heads.value_dim, text, compute);
    changed.set_layer(layer, matrices);
  });
  return changed;
}

}  // namespace attnscope
