#include "attnscope/features/common/cost_estimates.h"

#include <algorithm>

#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/numerics/products/factored_product_batch.h"
#include "attnscope/numerics/svd/resolved_singular_values.h"

namespace attnscope {
namespace {

/// Number of columns of the long side that are converted to float64 at once.
constexpr std::int64_t kBlock = 1024;

std::uint64_t projection_bytes(const Model& model, std::int64_t layer, Role role,
                               std::uint64_t element_bytes) {
  const TensorMatrix& matrix = model.weight(layer, role).matrix;
  return static_cast<std::uint64_t>(matrix.rows) * static_cast<std::uint64_t>(matrix.cols) *
         element_bytes;
}

std::uint64_t element_bytes(const Model& model, std::int64_t layer, Role role) {
  return model.weight(layer, role).matrix.tensor.dtype == DType::f64 ? 8 : 4;
}

}  // namespace

double spectrum_flops(double rows, double cols) {
  const double n = std::min(rows, cols), m = std::max(rows, cols);
  return m * n * n + 4.0 / 3.0 * n * n * n;
}

std::uint64_t spectrum_bytes(std::int64_t rows, std::int64_t cols) {
  const std::int64_t n = std::min(rows, cols), m = std::max(rows, cols);
  // An upper bound for all solvers. The triangle of the Gram matrix takes half as much, and so does
  // the float32 copy of a nearly square matrix. LAPACK, used without kernels, takes all of it.
  return float64_bytes(n, n) + float64_bytes(n, std::min(kBlock, m)) + kPackedBytes;
}

std::uint64_t role_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                  std::int64_t rows, std::int64_t cols) {
  if (resolution_of(model, layer, role) == Resolution::float32) return spectrum_bytes(rows, cols);
  return resolved_singular_values_bytes(rows, cols) + kPackedBytes;
}

std::uint64_t product_spectrum_bytes(const Model& model, std::int64_t layer, Role role,
                                     std::int64_t inner) {
  const std::int64_t width = model.dimensions().width;
  if (resolution_of(model, layer, role) == Resolution::float64) {
    return resolved_product_singular_values_bytes(inner, width) + kPackedBytes;
  }
  if (worth_forming(inner, width))
    return float64_bytes(width, width) + spectrum_bytes(width, width);
  // The Gram matrices of both factors, a Cholesky factor, and the matrix that is decomposed.
  const std::int64_t k = std::min(inner, width);
  return 4 * float64_bytes(k, k) + spectrum_bytes(k, width);
}

std::uint64_t decoded_bytes(const Model& model, std::int64_t layer, Role role) {
  if (!is_product(role) && model.is_of_latents(role)) {
    return latent_bytes(model.dimensions(), role, model.dimensions().width);
  }
  if (role != Role::kv) {
    return projection_bytes(model, layer, role, element_bytes(model, layer, role));
  }
  const std::uint64_t wider =
      std::max(element_bytes(model, layer, Role::key), element_bytes(model, layer, Role::value));
  return projection_bytes(model, layer, Role::key, wider) +
         projection_bytes(model, layer, Role::value, wider);
}

std::uint64_t matrix_spectrum_bytes(const Model& model, std::int64_t layer, Role role) {
  const auto [rows, cols] = canonical_shape(model.dimensions(layer), role);
  const std::uint64_t decoded = decoded_bytes(model, layer, role);
  // W_K and W_V, which are stacked into kv, are both in memory.
  const std::uint64_t reading = role == Role::kv ? decoded : 0;
  return decoded + std::max(reading, role_spectrum_bytes(model, layer, role, rows, cols));
}

std::uint64_t copied_weights_bytes(const Model& model, std::uint64_t memory_bytes) {
  if (model.layer_runner() != nullptr) return 0;  // layers run outside of this library
  std::uint64_t copy = forward_weights_bytes(model);
  const bool decodes = model.stack() == "decoder" || model.stack() == "cross";
  for (const char* stack : {"encoder", "decoder", "cross"}) {
    const Model* other = decodes && model.stack() != stack ? model.sibling(stack) : nullptr;
    if (other != nullptr) copy += forward_weights_bytes(*other);
  }
  return copy <= memory_bytes / 2 ? copy : 0;
}

std::uint64_t circuit_factor_bytes(const Dimensions& dimensions, Role circuit) {
  const HeadShape& heads = dimensions.heads;
  const std::int64_t inner = is_of_queries(circuit) ? heads.head_dim : heads.value_dim;
  const std::uint64_t factors =
      float64_bytes((heads.heads + heads.kv_heads) * inner, dimensions.width);
  if (!dimensions.mla) return factors;
  // The original factors, and the factors of the sum.
  const std::uint64_t of_queries =
      is_of_queries(circuit) && dimensions.mla->query > 0
          ? float64_bytes(heads.heads * inner + dimensions.width, dimensions.mla->query)
          : 0;
  const std::int64_t rank = dimensions.mla->key_value + heads.shared_key_dim;
  return factors + of_queries + float64_bytes(heads.heads * inner + 4 * dimensions.width, rank);
}

std::int64_t summed_rank(const Dimensions& dimensions, Role circuit) {
  const HeadShape& heads = dimensions.heads;
  const bool qk = is_of_queries(circuit);
  if (dimensions.mla) {
    const std::int64_t rank = dimensions.mla->key_value + (qk ? heads.shared_key_dim : 0);
    const std::int64_t of_queries = dimensions.mla->query;
    return qk && of_queries > 0 ? std::min(of_queries, rank) : rank;
  }
  return heads.kv_heads * (qk ? heads.head_dim : heads.value_dim);
}

}  // namespace attnscope
