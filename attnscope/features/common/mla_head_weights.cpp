#include "attnscope/features/common/mla_head_weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Selects rows of each head, head by head. `of_head`: number of rows per head.
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

/// The right factor: `up` (H k, p) times `down` (p, columns). Without `down`: the latent itself.
struct RightSide {
  Matrix<double> up;
  std::optional<Matrix<double>> down;
};

/// Returns the rows of all query dimensions, in the latent space or the residual stream space. Sets
/// `divided_by` to the RMS used for the query latent.
Read<Matrix<double>> read_queries(const Model& model, std::int64_t layer, bool in_latent,
                                  bool narrowed, LatentRms& divided_by,
                                  const std::optional<LatentRms>& rms, const Compute& compute) {
  if (model.is_stored(Role::query)) return read_factor(model, layer, Role::query);
  if (in_latent) return read_weight_float64(model, model.weight(layer, Role::query_up));
  auto read = read_mla(model, layer, Role::query, SharedRows::in_every_head, rms);
  if (!read.skipped.empty()) return {{}, read.skipped};
  divided_by.queries = read.values.rms;
  if (narrowed) narrow(read.values, compute);
  return {product_of(read.values, compute), ""};
}

}  // namespace

std::pair<std::int64_t, std::int64_t> mla_product_shape(const Dimensions& dimensions, Role role) {
  const MlaRanks& ranks = *dimensions.mla;
  if (role == Role::ov_latent) return {dimensions.width, ranks.key_value};
  if (role != Role::qk_latent) return {dimensions.width, dimensions.width};
  return {ranks.query > 0 ? ranks.query : dimensions.width, ranks.key_value};
}

LoadedCircuit load_mla_product(const Model& model, std::int64_t layer, Role role,
                               const std::optional<LatentRms>& rms, bool narrowed,
                               const Compute& compute) {
  const HeadShape& heads = model.dimensions(layer).heads;
  const std::int64_t turned = heads.shared_key_dim, own = heads.head_dim - turned;
  const std::int64_t rank = model.dimensions(layer).mla->key_value;
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
    auto keys = read_mla(model, layer, Role::key, SharedRows::in_every_head, rms);
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
  // (p, columns of the left factor). This product also sums over heads.
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

namespace {

/// Both factors of a circuit under construction. W_O, and W_Q without a query latent, are plain
/// matrices.
struct Sides {
  std::optional<MlaFactors> left;
  Matrix<double> plain_left;
  MlaFactors right;

  Matrix<double>& reading_left() { return left ? left->down : plain_left; }
};

Matrix<double> copied(MatrixView<const double> from) {
  Matrix<double> out(from.rows, from.cols);
  std::copy_n(from.data, from.rows * from.cols, out.data());
  return out;
}

std::string fold_gain(const Model& model, std::int64_t layer, bool qk, FoldNorm how, Sides& sides,
                      std::string& note) {
  const bool centered =
      how == FoldNorm::centered && model.spec().architecture.norm->kind == NormKind::layer;
  if (!qk && centered) center_columns(sides.plain_left);
  const auto gain = read_input_gain(model, layer);
  if (!gain.skipped.empty()) return gain.skipped;
  if (!gain.values) {
    note = kNothingFolded;
    return "";
  }
  if (qk) multiply_columns(sides.reading_left(), *gain.values);
  multiply_columns(sides.right.down, *gain.values);
  if (qk && centered) center_rows(sides.reading_left());
  if (centered) center_rows(sides.right.down);
  return "";
}

/// Biases before the latents become a column. Biases after the latents cannot be represented.
std::string add_biases(const Model& model, std::int64_t layer, bool qk, Sides& sides) {
  const auto append = [](MlaFactors& factors) {
    const Matrix<double>& bias = factors.bias_column;
    factors.down = with_column(factors.down, {bias.data(), static_cast<std::size_t>(bias.rows())});
  };
  for (const Role role : {Role::query_up, Role::kv_up}) {
    if (model.weight(layer, role).bias != nullptr)
      return "the up-projection of a latent has a bias";
  }
  append(sides.right);
  if (!qk) return "";
  if (!sides.left) return append_bias(model, model.weight(layer, Role::query), sides.plain_left);
  append(*sides.left);
  return "";
}

/// Computes the factors of the sum over heads, whose inner dimension is that of the smaller latent.
void add_up_heads(const Sides& sides, bool qk, const Compute& compute, LoadedCircuit& out) {
  const auto heads_of_right = sides.right.up.view().transposed();  // (m, H d)
  const auto right = sides.right.down.view();
  if (!sides.left) {
    const auto left = sides.plain_left.view();
    out.summed_left = multiply_transposed(heads_of_right, qk ? left.transposed() : left, compute);
    out.summed_right = copied(right);
    return;
  }
  const auto heads_of_left = sides.left->up.view().transposed();
  const auto left = sides.left->down.view();
  if (right.rows <= left.rows) {
    const Matrix<double> inner = multiply_transposed(heads_of_right, heads_of_left, compute);
    out.summed_left = multiply_transposed(inner.view(), left.transposed(), compute);
    out.summed_right = copied(right);
  } else {
    const Matrix<double> inner = multiply_transposed(heads_of_left, heads_of_right, compute);
    out.summed_left = copied(left);
    out.summed_right = multiply_transposed(inner.view(), right.transposed(), compute);
  }
}

}  // namespace

LoadedCircuit load_mla_circuit(const Model& model, std::int64_t layer, Role circuit,
                               const CircuitVariant& variant, bool narrowed,
                               const Compute& compute) {
  LoadedCircuit out{.circuit = circuit, .heads = model.dimensions().heads};
  const bool qk = circuit == Role::qk;
  if (model.dimensions().mla->key_value == 0) {
    out.skipped = "not supported: a query latent without a key/value latent";
    return out;
  }
  auto right = read_mla(model, layer, qk ? Role::key : Role::value, SharedRows::in_every_head,
                        variant.latent_rms);
  if (!right.skipped.empty()) out.skipped = "a factor: " + right.skipped;
  Sides sides;
  if (qk && !model.is_stored(Role::query)) {
    auto left = read_mla(model, layer, Role::query, SharedRows::in_every_head, variant.latent_rms);
    if (!left.skipped.empty()) out.skipped = "a factor: " + left.skipped;
    out.latent_rms.queries = left.values.rms;
    sides.left = std::move(left.values);
  } else {
    auto left = read_factor(model, layer, qk ? Role::query : Role::output);
    if (!left.skipped.empty()) out.skipped = "a factor: " + left.skipped;
    sides.plain_left = std::move(left.values);
  }
  if (!out.skipped.empty()) return out;
  out.latent_rms.keys_and_values = right.values.rms;
  sides.right = std::move(right.values);

  if (variant.fold_norm != FoldNorm::none) {
    out.skipped = fold_gain(model, layer, qk, variant.fold_norm, sides, out.note);
  }
  if (out.skipped.empty() && variant.with_bias) {
    out.skipped = add_biases(model, layer, qk, sides);
  }
  if (!out.skipped.empty()) return out;
  if (qk && variant.rope_offset != 0) {
    const KeyRotation rotation = key_rotation(model, layer, variant.rope_offset);
    const std::int64_t shared = out.heads.shared_key_dim;
    const MatrixView<double> down = sides.right.down.view();
    rotate_keys(down.row_block(down.rows - shared, shared), shared, rotation.angles, rotation.pairs,
                rotation.factor);
  }
  if (narrowed) {
    narrow(sides.right, compute);
    if (sides.left) narrow(*sides.left, compute);
  }
  add_up_heads(sides, qk, compute, out);
  out.right = product_of(sides.right, compute);
  out.left = sides.left ? product_of(*sides.left, compute) : std::move(sides.plain_left);
  return out;
}

}  // namespace attnscope
