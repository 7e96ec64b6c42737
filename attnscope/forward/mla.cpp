#include "attnscope/forward/mla.h"

#include <algorithm>

#include "attnscope/forward/layer_run.h"

namespace attnscope {
namespace {

/// Resizes the matrix. Matrices of one batch have the same shapes in every layer, so most calls do
/// not allocate.
MatrixView<float> shaped(Matrix<float>& matrix, std::int64_t rows, std::int64_t cols) {
  if (matrix.rows() != rows || matrix.cols() != cols) matrix = Matrix<float>(rows, cols);
  return matrix.view();
}

void copy_columns(MatrixView<const float> from, MatrixView<float> to) {
  for (std::int64_t row = 0; row < from.rows; ++row) {
    std::copy_n(&from(row, 0), from.cols, &to(row, 0));
  }
}

}  // namespace

void MlaAttention::run(const MlaWeights& weights, const Dimensions& dimensions,
                       MatrixView<const float> input, MatrixView<float> qkv,
                       const OnLatents& on_latents, const Compute& compute) {
  const HeadShape& heads = dimensions.heads;
  const std::int64_t rows = input.rows, queries = heads.total_dim(Role::query);
  const MatrixView<float> query = qkv.col_block(0, queries);
  const std::int64_t rank = dimensions.mla->key_value, shared = heads.shared_key_dim;
  const MatrixView<float> down = shaped(down_, rows, rank + shared);
  apply(*weights.kv_down, input, {}, down, compute);
  const MatrixView<float> latent = down.col_block(0, rank);
  MatrixView<float> of_query;
  if (weights.query == nullptr) {
    of_query = shaped(latent_, rows, dimensions.mla->query);
    apply(*weights.query_down, input, {}, of_query, compute);
  }
  if (on_latents) on_latents(of_query, latent);

  if (weights.query != nullptr) {
    apply(*weights.query, input, {}, query, compute);
  } else {
    apply_norm(*weights.query_norm, of_query, of_query, compute);
    apply(*weights.query_up, of_query, {}, query, compute);
  }
  apply_norm(weights.kv_norm, latent, latent, compute);
  const MatrixView<float> up = shaped(up_, rows, heads.total_dim(Role::kv_up));
  apply(*weights.kv_up, latent, {}, up, compute);

  const std::int64_t own = heads.head_dim - shared, of_head = heads.inner_dim(Role::kv_up);
  run_parts(compute, static_cast<std::size_t>(heads.heads), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part);
    const MatrixView<float> key = qkv.col_block(queries + head * heads.head_dim, heads.head_dim);
    copy_columns(up.col_block(head * of_head, own), key.col_block(0, own));
    copy_columns(down.col_block(rank, shared), key.col_block(own, shared));
    copy_columns(up.col_block(head * of_head + own, heads.value_dim),
                 qkv.col_block(queries + heads.total_dim(Role::key) + head * heads.value_dim,
                               heads.value_dim));
  });
}

std::int64_t mla_row_size(const Dimensions& dimensions) {
  if (!dimensions.mla) return 0;
  return dimensions.mla->query + dimensions.mla->key_value + dimensions.heads.shared_key_dim +
         dimensions.heads.total_dim(Role::kv_up);
}

}  // namespace attnscope
