#include "attnscope/analyses/latent_circuit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/analyses/latent_weights.h"
#include "attnscope/analyses/norm_gain.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Both sides of a circuit while it is made. W_O, and W_Q of queries without a latent, are plain.
struct Sides {
  std::optional<LatentFactors> left;
  Matrix<double> plain_left;
  LatentFactors right;

  Matrix<double>& reading_left() { return left ? left->down : plain_left; }
};

Matrix<double> copied(MatrixView<const double> from) {
  Matrix<double> out(from.rows, from.cols);
  std::copy_n(from.data, from.rows * from.cols, out.data());
  return out;
}

std::string fold_gain(const Model& model, std::int64_t layer, bool qk, FoldNorm how, Sides& sides,
                      std::string& note) {
  const bool centred =
      how == FoldNorm::centred && model.spec().architecture.norm->kind == NormKind::layer;
  if (!qk && centred) centre_columns(sides.plain_left);
  const auto gain = read_input_gain(model, layer);
  if (!gain.skipped.empty()) return gain.skipped;
  if (!gain.values) {
    note = kNothingFolded;
    return "";
  }
  if (qk) multiply_columns(sides.reading_left(), *gain.values);
  multiply_columns(sides.right.down, *gain.values);
  if (qk && centred) centre_rows(sides.reading_left());
  if (centred) centre_rows(sides.right.down);
  return "";
}

/// Biases before the latents become a column; those after them have no place there.
std::string add_biases(const Model& model, std::int64_t layer, bool qk, Sides& sides) {
  const auto append = [](LatentFactors& factors) {
    const Matrix<double>& bias = factors.bias_column;
    factors.down = with_column(factors.down, {bias.data(), static_cast<std::size_t>(bias.rows())});
  };
  for (const Role role : {Role::query_up, Role::kv_up}) {
    if (model.weight(layer, role).bias != nullptr) return "a latent's heads have a bias";
  }
  append(sides.right);
  if (!qk) return "";
  if (!sides.left) return append_bias(model, model.weight(layer, Role::query), sides.plain_left);
  append(*sides.left);
  return "";
}

/// The factors of the sum over heads, of the narrower latent's dimension.
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

LoadedCircuit load_latent_circuit(const Model& model, std::int64_t layer, Role circuit,
                                  const CircuitVariant& variant, bool narrowed,
                                  const Compute& compute) {
  LoadedCircuit out{.circuit = circuit, .heads = model.dimensions().heads};
  const bool qk = circuit == Role::qk;
  if (model.dimensions().latent->key_value == 0) {
    out.skipped = "queries of a latent with keys that have none are not multiplied";
    return out;
  }
  auto right = read_latent(model, layer, qk ? Role::key : Role::value, SharedRows::in_every_head,
                           variant.latent_rms);
  if (!right.skipped.empty()) out.skipped = "a factor: " + right.skipped;
  Sides sides;
  if (qk && !model.is_stored(Role::query)) {
    auto left =
        read_latent(model, layer, Role::query, SharedRows::in_every_head, variant.latent_rms);
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
    const KeyTurn turn = key_turn(model, layer, variant.rope_offset);
    const std::int64_t shared = out.heads.shared_key_dim;
    const MatrixView<double> down = sides.right.down.view();
    turn_keys(down.row_block(down.rows - shared, shared), shared, turn.angles, turn.pairs,
              turn.factor);
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
