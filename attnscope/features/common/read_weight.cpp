#include "attnscope/features/common/read_weight.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnscope/engine/item_inputs.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

template <class M, class Decode>
Read<M> read(const Model& model, const Weight& weight, Decode decode_matrix) {
  if (weight.tensor == nullptr) return {{}, weight.missing};
  const Checkpoint& checkpoint = model.checkpoint();
  if (const auto reason = why_not_analyzed(checkpoint, *weight.tensor)) return {{}, *reason};
  checkpoint.need(byte_ranges(weight.matrix));
  Read<M> out{decode_matrix(weight.matrix), ""};
  checkpoint.check_intact(*weight.tensor);
  return out;
}

Read<Matrix<double>> read_product(const Model& model, std::int64_t layer, Role role,
                                  SharedRows shared) {
  const auto read = read_mla(model, layer, role, shared);
  if (!read.skipped.empty()) return {{}, read.skipped};
  return {product_of(read.values), ""};
}

/// Whether the role is a matrix that is a product of MLA factors.
bool is_of_latents(const Model& model, Role role) {
  return !is_product(role) && model.is_of_latents(role);
}

Read<WeightMatrix> as_any(Read<Matrix<double>> read) {
  return {std::move(read.values), std::move(read.skipped)};
}

bool is_float64(const Weight& weight) { return weight.matrix.tensor.dtype == DType::f64; }

}  // namespace

Read<WeightMatrix> read_heads(const Model& model, std::int64_t layer, Role role) {
  if (!is_of_latents(model, role)) return read_matrix(model, layer, role);
  return as_any(read_product(model, layer, role, SharedRows::in_every_head));
}

Read<Matrix<double>> read_factor(const Model& model, std::int64_t layer, Role role) {
  if (!is_of_latents(model, role)) return read_weight_float64(model, model.weight(layer, role));
  return read_product(model, layer, role, SharedRows::in_every_head);
}

Read<WeightMatrix> read_weight(const Model& model, const Weight& weight) {
  return read<WeightMatrix>(model, weight, decode_exact);
}

Read<Matrix<double>> read_weight_float64(const Model& model, const Weight& weight) {
  return read<Matrix<double>>(model, weight, decode<double>);
}

Read<WeightMatrix> read_matrix(const Model& model, std::int64_t layer, Role role) {
  if (is_of_latents(model, role)) {
    return as_any(read_product(model, layer, role, SharedRows::once));
  }
  if (role != Role::kv) return read_weight(model, model.weight(layer, role));
  const Weight& key = model.weight(layer, Role::key);
  const Weight& value = model.weight(layer, Role::value);
  const auto stack = [](const auto& keys, const auto& values) -> Read<WeightMatrix> {
    for (const auto* read : {&keys, &values}) {
      if (!read->skipped.empty()) return {{}, "W_K or W_V: " + read->skipped};
    }
    return {stacked_rows(std::as_const(keys.values).view(), std::as_const(values.values).view()),
            ""};
  };
  if (is_float64(key) || is_float64(value)) {
    return stack(read_weight_float64(model, key), read_weight_float64(model, value));
  }
  return stack(read<Matrix<float>>(model, key, decode<float>),
               read<Matrix<float>>(model, value, decode<float>));
}

Resolution resolution_of(const Model& model, std::int64_t layer, Role role) {
  const std::vector<Role> parts = model.parts_of(role);
  const bool any_float64 = std::any_of(parts.begin(), parts.end(), [&](Role part) {
    const Weight& weight = model.weight(layer, part);
    return weight.tensor != nullptr && is_float64(weight);
  });
  return any_float64 ? Resolution::float64 : Resolution::float32;
}

std::string not_finite_text(std::int64_t row, std::int64_t col) {
  return "holds NaN or Inf (first at row " + std::to_string(row) + ", column " +
         std::to_string(col) + ")";
}

template <class T>
std::optional<std::string> find_not_finite(MatrixView<const T> matrix) {
  if (all_finite(matrix)) return std::nullopt;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t col = 0; col < matrix.cols; ++col) {
      if (std::isfinite(matrix(row, col))) continue;
      return not_finite_text(row, col);
    }
  }
  return std::nullopt;
}

template std::optional<std::string> find_not_finite(MatrixView<const float>);
template std::optional<std::string> find_not_finite(MatrixView<const double>);

namespace {

Read<Gain> gain_of(const Model& model, const NormSpec& norm, const Site& site, std::int64_t size) {
  if (!site.missing.empty()) return {{}, site.missing};
  if (site.tensor == nullptr) return {};
  const auto read =
      read_weight_float64(model, {.tensor = site.tensor, .matrix = as_row(*site.tensor, size)});
  if (!read.skipped.empty()) return {{}, read.skipped};
  Gain gain;
  for (std::int64_t col = 0; col < size; ++col) {
    gain.push_back(norm.gain_offset + read.values(0, col));
  }
  return {std::move(gain), ""};
}

}  // namespace

Read<Gain> read_gain(const Model& model, const NormSpec& norm, std::int64_t layer,
                     std::int64_t size) {
  return gain_of(model, norm, model.norm_gain(norm, layer, {size}), size);
}

Read<std::optional<Gain>> read_input_gain(const Model& model, std::int64_t layer) {
  const auto [norm, site] = model.input_norm(layer);
  if (!norm) return {};
  auto read = gain_of(model, *norm, site, model.spec().dimensions_of(layer).width);
  if (!read.skipped.empty()) return {{}, "the norm before it: " + read.skipped};
  if (read.values.empty()) return {};
  return {std::move(read.values), ""};
}

}  // namespace attnscope
