#include "attnscope/features/plan/methods/rotary_dimensions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

using Complex = std::complex<double>;

/// real + i imaginary += factor · (a + i b), of rows of n elements.
void add_rotated(Complex factor, const double* a, const double* b, std::int64_t n, double* real,
                 double* imaginary) {
  for (std::int64_t at = 0; at < n; ++at) {
    real[at] += factor.real() * a[at] - factor.imag() * b[at];
    imaginary[at] += factor.real() * b[at] + factor.imag() * a[at];
  }
}

struct PairRows {
  std::int64_t real = 0, imaginary = 0;
};

PairRows rows_of_pair(const HeadShape& heads, std::int64_t head, std::int64_t pair) {
  const std::int64_t first = head * heads.head_dim + pair;
  return {first, first + heads.head_dim / 2};
}

/// Expected products between rows of a matrix.
Matrix<double> products_of_rows(MatrixView<const double> matrix, MatrixView<const double> moments,
                                const Compute& compute) {
  const Matrix<double> read = product(matrix, moments, compute);
  return multiply_transposed(read.view(), matrix, compute);
}

}  // namespace

RotaryKeys rotary_keys(MatrixView<const double> query, MatrixView<const double> key,
                       MatrixView<const double> moments, const HeadShape& heads, std::int64_t first,
                       std::int64_t count, const Compute& compute) {
  RotaryKeys out{.first = first,
                 .count = count,
                 .pairs = heads.head_dim / 2,
                 .weights = Matrix<double>(count, heads.head_dim / 2),
                 .components = {}};
  std::fill_n(out.weights.data(), count * out.pairs, 0.0);
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const std::int64_t group = heads.kv_head(head) - first;
    if (group < 0 || group >= count) continue;
    const auto own = query.row_block(head * heads.head_dim, heads.head_dim);
    const Matrix<double> energies = products_of_rows(own, moments, compute);
    for (std::int64_t pair = 0; pair < out.pairs; ++pair) {
      const std::int64_t other = pair + out.pairs;
      out.weights(group, pair) += energies(pair, pair) + energies(other, other);
    }
  }
  double* const weights = out.weights.data();
  std::transform(weights, weights + count * out.pairs, weights,
                 [](double square) { return std::sqrt(std::max(square, 0.0)); });
  const double largest = *std::max_element(weights, weights + count * out.pairs);
  const double least = largest > 0 ? 1e-9 * largest : 1;
  std::transform(weights, weights + count * out.pairs, weights,
                 [&](double weight) { return std::max(weight, least); });
  const auto own = key.row_block(first * heads.head_dim, count * heads.head_dim);
  const Matrix<double> products = products_of_rows(own, moments, compute);
  for (std::int64_t pair = 0; pair < out.pairs; ++pair) {
    Matrix<Complex> covariance(count, count);
    for (std::int64_t a = 0; a < count; ++a) {
      for (std::int64_t b = 0; b < count; ++b) {
        const PairRows left = rows_of_pair(heads, a, pair), right = rows_of_pair(heads, b, pair);
        const double weight = out.weights(a, pair) * out.weights(b, pair);
        covariance(a, b) =
            weight *
            Complex(products(left.real, right.real) + products(left.imaginary, right.imaginary),
                    products(left.imaginary, right.real) - products(left.real, right.imaginary));
      }
    }
    out.components.push_back(eigenvectors(covariance.view()));
  }
  return out;
}

void add_slot_keys(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                   const RotarySlot& slot, double* real, double* imaginary) {
  const auto& own = keys.components[static_cast<std::size_t>(slot.pair)];
  for (std::int64_t group = 0; group < keys.count; ++group) {
    const PairRows rows = rows_of_pair(heads, keys.first + group, slot.pair);
    const Complex factor =
        std::conj(own.vectors(slot.component, group)) * keys.weights(group, slot.pair);
    add_rotated(factor, &key(rows.real, 0), &key(rows.imaginary, 0), key.cols, real, imaginary);
  }
}

void add_slot_queries(const RotaryKeys& keys, MatrixView<const double> query,
                      const HeadShape& heads, std::int64_t head, const RotarySlot& slot,
                      double* real, double* imaginary) {
  const auto& own = keys.components[static_cast<std::size_t>(slot.pair)];
  const std::int64_t group = heads.kv_head(head) - keys.first;
  const PairRows rows = rows_of_pair(heads, head, slot.pair);
  const Complex factor =
      std::conj(own.vectors(slot.component, group)) / keys.weights(group, slot.pair);
  add_rotated(factor, &query(rows.real, 0), &query(rows.imaginary, 0), query.cols, real, imaginary);
}

void keep_components(const RotaryKeys& keys, MatrixView<const double> key, const HeadShape& heads,
                     std::int64_t pair, std::int64_t first, Matrix<double>& out) {
  const auto& own = keys.components[static_cast<std::size_t>(pair)];
  for (std::int64_t group = 0; group < keys.count; ++group) {
    const PairRows rows = rows_of_pair(heads, keys.first + group, pair);
    std::fill_n(&out(rows.real, 0), out.cols(), 0.0);
    std::fill_n(&out(rows.imaginary, 0), out.cols(), 0.0);
  }
  std::vector<double> real(static_cast<std::size_t>(key.cols)), imaginary(real.size());
  for (std::int64_t component = first; component < keys.count; ++component) {
    std::fill(real.begin(), real.end(), 0.0);
    std::fill(imaginary.begin(), imaginary.end(), 0.0);
    add_slot_keys(keys, key, heads, {pair, component}, real.data(), imaginary.data());
    for (std::int64_t group = 0; group < keys.count; ++group) {
      const PairRows rows = rows_of_pair(heads, keys.first + group, pair);
      const Complex factor = own.vectors(component, group) / keys.weights(group, pair);
      add_rotated(factor, real.data(), imaginary.data(), key.cols, &out(rows.real, 0),
                  &out(rows.imaginary, 0));
    }
  }
}

RopeFrequencies frequencies_of(const Model& model) {
  const ModelSpec& spec = model.spec();
  return rope_frequencies(*spec.layers.front().attention.rope, spec.dimensions.heads.head_dim,
                          spec.dimensions.context.value_or(1), spec.source);
}

void set_frequencies(ChangedModel& model, const std::vector<double>& radians, double gain,
                     std::int64_t head_dim) {
  const ModelSpec& spec = model.source().spec();
  const double base = spec.layers.front().attention.rope->theta;
  std::string factors;
  for (std::size_t pair = 0; pair < radians.size(); ++pair) {
    const double rotated =
        std::pow(base, -2 * static_cast<double>(pair) / static_cast<double>(head_dim));
    factors += (pair == 0 ? "" : ", ") + shortest_decimal(rotated / radians[pair]);
  }
  const std::string context = std::to_string(spec.dimensions.context.value_or(1));
  const std::string rest = "\"rope_type\": \"longrope\", \"factor\": 1.0, \"attention_factor\": " +
                           shortest_decimal(gain) + ", \"short_factor\": [" + factors +
                           "], \"long_factor\": [" + factors +
                           "], \"original_max_position_embeddings\": " + context + "}";
  const std::string theta = shortest_decimal(base);
  model.set_config("rope_parameters", "{\"rope_theta\": " + theta + ", " + rest);
  // Transformers before version 5 reads these two keys and ignores the other.
  model.set_config("rope_scaling", "{" + rest);
  model.set_config("rope_theta", theta);
}

}  // namespace attnscope
