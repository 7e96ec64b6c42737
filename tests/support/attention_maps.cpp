#include "tests/support/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "tests/support/matrices.h"

namespace attnscope::test {
namespace {

/// The weights with each row divided by its sum.
Matrix<float> normalized(const Matrix<double>& weights) {
  Matrix<float> map(weights.rows(), weights.cols());
  for (std::int64_t query = 0; query < map.rows(); ++query) {
    double sum = 0;
    for (std::int64_t key = 0; key < map.cols(); ++key) sum += weights(query, key);
    for (std::int64_t key = 0; key < map.cols(); ++key) {
      map(query, key) = static_cast<float>(weights(query, key) / sum);
    }
  }
  return map;
}

}  // namespace

Matrix<float> softmax_map(std::int64_t tokens, std::int64_t width, double sharpness, bool causal,
                          std::uint64_t seed) {
  const Matrix<double> queries = gaussian_matrix(tokens, width, seed);
  const Matrix<double> keys = gaussian_matrix(tokens, width, seed + 1);
  Matrix<double> weights = zero_matrix(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key < (causal ? query + 1 : tokens); ++key) {
      double score = 0;
      for (std::int64_t at = 0; at < width; ++at) score += queries(query, at) * keys(key, at);
      weights(query, key) = std::exp(sharpness * score / std::sqrt(static_cast<double>(width)));
    }
  }
  return normalized(weights);
}

Matrix<float> banded_map(std::int64_t tokens, std::int64_t band) {
  Matrix<double> weights = zero_matrix(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t back = 0; back < std::min(band, query + 1); ++back) {
      weights(query, query - back) = 1.0 / static_cast<double>(1 + back);
    }
  }
  return normalized(weights);
}

Matrix<float> one_column_map(std::int64_t tokens, std::int64_t column) {
  Matrix<double> weights = zero_matrix(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    weights(query, std::min(query, column)) = 1;
  }
  return normalized(weights);
}

Matrix<float> uniform_causal_map(std::int64_t tokens) {
  Matrix<double> weights = zero_matrix(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key <= query; ++key) weights(query, key) = 1;
  }
  return normalized(weights);
}

Matrix<float> mixed_map(std::int64_t tokens, double sink, double local, double sharpness,
                        std::uint64_t seed) {
  const Matrix<float> band = banded_map(tokens, 4);
  const Matrix<float> content = softmax_map(tokens, 16, sharpness, /*causal=*/true, seed);
  Matrix<double> weights = zero_matrix(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    for (std::int64_t key = 0; key <= query; ++key) {
      weights(query, key) = local * band(query, key) + (1 - sink - local) * content(query, key);
    }
    weights(query, 0) += sink;
  }
  return normalized(weights);
}

std::vector<NamedMap> maps_of_every_kind(std::int64_t tokens) {
  std::vector<NamedMap> maps;
  const auto add = [&](std::string name, Matrix<float> map) {
    maps.push_back({std::move(name), std::move(map)});
  };
  for (const double sharpness : {0.1, 1.0, 2.0, 4.0}) {
    add("causal softmax, sharpness " + std::to_string(sharpness),
        softmax_map(tokens, 16, sharpness, true, 1));
  }
  add("softmax", softmax_map(tokens, 16, 2.0, false, 3));
  add("nearly one-hot softmax", softmax_map(tokens, 64, 30.0, false, 5));
  add("previous token", banded_map(tokens, 2));
  add("banded", banded_map(tokens, 20));
  add("one column", one_column_map(tokens, 0));
  add("one column amid", one_column_map(tokens, tokens / 3));
  add("uniform", uniform_causal_map(tokens));
  add("identity", converted<float>(identity_matrix(tokens, tokens)));
  add("sink and content", mixed_map(tokens, 0.5, 0.0, 3.0, 7));
  add("sink and band", mixed_map(tokens, 0.3, 0.5, 1.0, 9));
  add("band and content", mixed_map(tokens, 0.05, 0.35, 4.0, 11));
  // Rank 5 with noise of 1e-3. The rows are not a softmax.
  std::vector<double> planted(static_cast<std::size_t>(tokens), 1e-3);
  for (std::size_t at = 0; at < std::min<std::size_t>(5, planted.size()); ++at)
    planted[at] = 5.0 - static_cast<double>(at);
  add("low rank and noise",
      converted<float>(matrix_with_singular_values(tokens, tokens, planted, 13)));
  return maps;
}

}  // namespace attnscope::test
