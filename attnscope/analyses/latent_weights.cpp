#include "attnscope/analyses/latent_weights.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/analyses/estimates.h"
#include "attnscope/analyses/norm_gain.h"
#include "attnscope/analysis/fold.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Of the rows of a latent (rank, D), before its norm.
double rms_of(MatrixView<const double> rows, const Gain& input_gain) {
  double squares = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      const double gain = input_gain.empty() ? 1 : input_gain[static_cast<std::size_t>(col)];
      squares += rows(row, col) * gain * rows(row, col) * gain;
    }
  }
  return std::sqrt(squares / static_cast<double>(rows.rows));
}

/// Rows of the latent times gain / rms; others stay. A latent of zeros stays zero.
void scale_rows(MatrixView<double> rows, const Gain& gain, double rms) {
  for (std::size_t row = 0; row < gain.size(); ++row) {
    const double factor = rms > 0 ? gain[row] / rms : 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      rows(static_cast<std::int64_t>(row), col) *= factor;
    }
  }
}

void set(MatrixView<double> to, MatrixView<const double> from) {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t col = 0; col < to.cols; ++col) to(row, col) = from(row, col);
  }
}

Matrix<double> zeros_of(std::int64_t rows, std::int64_t cols) {
  Matrix<double> out(rows, cols);
  std::fill_n(out.data(), rows * cols, 0.0);
  return out;
}

/// From what is stored, (H (own + d_v), rank), to the rows of a role in coordinates of `down`.
Matrix<double> up_rows(const Matrix<double>& stored, Role role, const HeadShape& heads,
                       SharedRows shared) {
  const std::int64_t rank = stored.cols(), of_key = heads.shared_key_dim;
  const std::int64_t own = heads.head_dim - of_key, of_head = own + heads.value_dim;
  const bool keys = role != Role::value, values = role != Role::key;
  const bool in_heads = shared == SharedRows::in_every_head;
  std::int64_t rows = heads.heads * ((keys ? own : 0) + (values ? heads.value_dim : 0));
  if (keys) rows += in_heads ? heads.heads * of_key : of_key;
  Matrix<double> up = zeros_of(rows, keys ? rank + of_key : rank);
  std::int64_t next = 0;
  const auto take = [&](std::int64_t first, std::int64_t count) {
    set(up.view().block(next, count, 0, rank), stored.view().row_block(first, count));
    next += count;
  };
  const auto take_shared = [&] {
    for (std::int64_t row = 0; row < of_key; ++row) up(next++, rank + row) = 1;
  };
  for (std::int64_t head = 0; keys && head < heads.heads; ++head) {
    take(head * of_head, own);
    if (in_heads) take_shared();
  }
  if (keys && !in_heads) take_shared();
  for (std::int64_t head = 0; values && head < heads.heads; ++head) {
    take(head * of_head + own, heads.value_dim);
  }
  return up;
}

/// (m, 1), zeros where the matrix has no bias.
Read<Matrix<double>> read_bias_column(const Model& model, const Weight& weight) {
  if (weight.bias == nullptr) return {zeros_of(weight.matrix.rows, 1), ""};
  return read_weight_float64(model, {.tensor = weight.bias, .matrix = weight.bias_column});
}

}  // namespace

Read<LatentFactors> read_latent(const Model& model, std::int64_t layer, Role role,
                                SharedRows shared, const std::optional<LatentRms>& known) {
  const bool of_queries = role == Role::query;
  const Weight& up = model.weight(layer, of_queries ? Role::query_up : Role::kv_up);
  const Weight& down = model.weight(layer, of_queries ? Role::query_down : Role::kv_down);
  auto stored = read_weight_float64(model, up);
  auto rows = read_weight_float64(model, down);
  auto bias = read_bias_column(model, down);
  for (const auto* read : {&stored, &rows, &bias}) {
    if (!read->skipped.empty()) return {{}, read->skipped};
  }
  const std::int64_t rank = stored.values.cols();
  if (model.spec().layers.empty()) return {{}, "nothing says which norm its latent has"};
  const LatentSpec& spec = *model.spec().layers[static_cast<std::size_t>(layer)].attention.latent;
  const auto gain = read_gain(model, of_queries ? *spec.query_norm : spec.norm, layer, rank);
  const auto input_gain = read_input_gain(model, layer);
  if (!gain.skipped.empty()) return {{}, "the norm of its latent: " + gain.skipped};
  if (!input_gain.skipped.empty()) return {{}, input_gain.skipped};

  std::optional<double> on_text;
  if (known) on_text = of_queries ? known->queries : known->keys_and_values;
  const double rms =
      on_text ? *on_text
              : rms_of(rows.values.view().row_block(0, rank), input_gain.values.value_or(Gain{}));
  LatentFactors out{.up = of_queries
                              ? std::move(stored.values)
                              : up_rows(stored.values, role, model.dimensions().heads, shared),
                    .down = std::move(rows.values),
                    .bias_column = std::move(bias.values),
                    .rms = rms};
  const Gain own = gain.values.empty() ? Gain(static_cast<std::size_t>(rank), 1.0) : gain.values;
  scale_rows(out.down.view(), own, rms);
  scale_rows(out.bias_column.view(), own, rms);
  if (role == Role::value && out.down.rows() > rank) {  // values do not read the shared key
    for (Matrix<double>* whole : {&out.down, &out.bias_column}) {
      Matrix<double> latent(rank, whole->cols());
      set(latent.view(), whole->view().row_block(0, rank));
      *whole = std::move(latent);
    }
  }
  return {std::move(out), ""};
}

Matrix<double> product_of(const LatentFactors& factors, const Compute& compute) {
  return multiply_transposed(factors.up.view(), factors.down.view().transposed(), compute);
}

void narrow(LatentFactors& factors, const Compute& compute) {
  const Matrix<double> triangle = qr_r_factor(factors.down.view().transposed(), compute);
  Matrix<double> down(triangle.cols(), triangle.rows());
  set(down.view(), triangle.view().transposed());
  factors.down = std::move(down);
}

void add_latent_rms(std::vector<Outcome>& outcomes, const LatentRms& divided_by) {
  const Record rms = latent_rms_record(divided_by);
  if (rms.fields().empty()) return;
  for (Outcome& outcome : outcomes) {
    if (outcome.skipped.empty()) outcome.fields.add("latent_rms", rms);
  }
}

std::string latent_note(const Model& model, bool on_a_text) {
  return model.name() +
         ": q, k and v are made of latents, whose norms are taken to divide by one rms each, " +
         (on_a_text ? "the mean on the text" : "that of white input");
}

std::int64_t latent_inner(const Dimensions& dimensions, Role role) {
  if (role == Role::query) return dimensions.latent->query;
  return dimensions.latent->key_value + dimensions.heads.shared_key_dim;
}

std::uint64_t latent_bytes(const Dimensions& dimensions, Role role, std::int64_t cols) {
  const bool of_queries = role == Role::query;
  const std::int64_t rank = of_queries ? dimensions.latent->query : dimensions.latent->key_value;
  const std::int64_t inner = latent_inner(dimensions, role);
  const std::int64_t rows = dimensions.heads.total_dim(role);
  const std::int64_t stored = dimensions.heads.total_dim(of_queries ? Role::query_up : Role::kv_up);
  return float64_bytes(stored, rank) + float64_bytes(rows, inner) +
         2 * float64_bytes(inner, dimensions.width) + float64_bytes(rows, cols);
}

}  // namespace attnscope
