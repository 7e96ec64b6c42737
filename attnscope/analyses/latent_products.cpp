#include "attnscope/analyses/latent_products.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/analyses/latent_weights.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Some rows of each head, one head after the other. `of_head`: how many rows a head has.
Matrix<double> rows_of_heads(MatrixView<const double> matrix, std::int64_t heads,
                             std::int64_t of_head, std::int64_t first, std::int64_t count) {
  Matrix<double> out(heads * count, matrix.cols);
  for (std::int64_t row = 0; row < heads * count; ++row) {
    const std::int64_t from = row / count * of_head + first + row % count;
    for (std::int64_t col = 0; col < matrix.cols; ++col) out(row, col) = matrix(from, col);
  }
  return out;
}

Matrix<double> copied_block(MatrixView<const double> from) {
  Matrix<double> out(from.rows, from.cols);
  for (std::int64_t row = 0; row < from.rows; ++row) {
    for (std::int64_t col = 0; col < from.cols; ++col) out(row, col) = from(row, col);
  }
  return out;
}

/// The right side: `up` (H k, p) of `down` (p, columns). None of the latter: the latent itself.
struct RightSide {
  Matrix<double> up;
  std::optional<Matrix<double>> down;
};

/// The queries' rows, of all dimensions: in the latent, or in the stream. `divided_by` gets what
/// their latent was divided by.
Read<Matrix<double>> read_queries(const Model& model, std::int64_t layer, bool in_latent,
                                  bool narrowed, LatentRms& divided_by,
                                  const std::optional<LatentRms>& rms, const Compute& compute) {
  if (model.is_stored(Role::query)) return read_factor(model, layer, Role::query);
  if (in_latent) return read_weight_float64(model, model.weight(layer, Role::query_up));
  auto read = read_latent(model, layer, Role::query, SharedRows::in_every_head, rms);
  if (!read.skipped.empty()) return {{}, read.skipped};
  divided_by.queries = read.values.rms;
  if (narrowed) narrow(read.values, compute);
  return {product_of(read.values, compute), ""};
}

}  // namespace

std::pair<std::int64_t, std::int64_t> latent_product_shape(const Dimensions& dimensions,
                                                           Role role) {
  const LatentRanks& ranks = *dimensions.latent;
  if (role == Role::ov_latent) return {dimensions.width, ranks.key_value};
  if (role != Role::qk_latent) return {dimensions.width, dimensions.width};
  return {ranks.query > 0 ? ranks.query : dimensions.width, ranks.key_value};
}

LoadedCircuit load_latent_product(const Model& model, std::int64_t layer, Role role,
                                  const std::optional<LatentRms>& rms, bool narrowed,
                                  const Compute& compute) {
  const HeadShape& heads = model.dimensions(layer).heads;
  const std::int64_t turned = heads.shared_key_dim, own = heads.head_dim - turned;
  const std::int64_t rank = model.dimensions(layer).latent->key_value;
  const bool of_values = role == Role::ov_latent, rotary = role == Role::qk_rotary;
  const bool in_latent = of_values || role == Role::qk_latent;
  LoadedCircuit out{.circuit = of_values ? Role::ov : Role::qk, .heads = heads};
  out.heads.head_dim = rotary ? turned : own;

  RightSide right;
  if (in_latent) {
    auto stored = read_weight_float64(model, model.weight(layer, Role::kv_up));
    if (!stored.skipped.empty()) out.skipped = "a factor: " + stored.skipped;
    if (out.skipped.empty()) {
      right.up = rows_of_heads(stored.values.view(), heads.heads, own + heads.value_dim,
                               of_values ? own : 0, of_values ? heads.value_dim : own);
    }
  } else {
    auto keys = read_latent(model, layer, Role::key, SharedRows::in_every_head, rms);
    if (!keys.skipped.empty()) out.skipped = "a factor: " + keys.skipped;
    if (out.skipped.empty()) {
      if (!rotary) out.latent_rms.keys_and_values = keys.values.rms;
      if (narrowed) narrow(keys.values, compute);
      const std::int64_t first = rotary ? rank : 0, count = rotary ? turned : rank;
      const Matrix<double> rows = rows_of_heads(keys.values.up.view(), heads.heads, heads.head_dim,
                                                rotary ? own : 0, rotary ? turned : own);
      right.up = copied_block(rows.view().col_block(first, count));
      right.down = copied_block(std::as_const(keys.values.down).view().row_block(first, count));
    }
  }
  if (!out.skipped.empty()) return out;

  auto left = of_values
                  ? read_factor(model, layer, Role::output)
                  : read_queries(model, layer, in_latent, narrowed, out.latent_rms, rms, compute);
  if (!left.skipped.empty()) {
    out.skipped = "a factor: " + left.skipped;
    return out;
  }
  out.left = of_values ? std::move(left.values)
                       : rows_of_heads(left.values.view(), heads.heads, heads.head_dim,
                                       rotary ? own : 0, rotary ? turned : own);
  const auto heads_of_left =
      of_values ? out.left.view() : std::as_const(out.left).view().transposed();
  const auto up = std::as_const(right.up).view();
  // (p, columns of the left side): heads add up on the way.
  out.summed_left = multiply_transposed(up.transposed(), heads_of_left, compute);
  if (!right.down) {
    out.summed_right = Matrix<double>(rank, rank);
    std::fill_n(out.summed_right.data(), rank * rank, 0.0);
    for (std::int64_t at = 0; at < rank; ++at) out.summed_right(at, at) = 1;
    out.right = std::move(right.up);
    return out;
  }
  out.right = multiply_transposed(up, std::as_const(*right.down).view().transposed(), compute);
  out.summed_right = *std::move(right.down);
  return out;
}

}  // namespace attnscope
