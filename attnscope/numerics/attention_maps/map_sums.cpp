#include "attnscope/numerics/attention_maps/map_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attnscope/numerics/attention_maps/kernels/kernels.h"

namespace attnscope {
namespace {

MapSums plain_sums(MatrixView<const float> map, bool causal, double* column_squares) {
  MapSums sums;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const float* line = map.data + row * map.row_stride;
    for (std::int64_t col = 0; col < (causal ? row + 1 : map.cols); ++col) {
      const double weight = line[col];
      column_squares[col] += weight * weight;
      sums.weights += weight;
      sums.distance += weight * static_cast<double>(std::abs(row - col));
      if (weight > 0) sums.entropy -= weight * std::log(weight);
    }
  }
  return sums;
}

}  // namespace

MapSums sum_map(MatrixView<const float> map, bool causal, std::vector<double>& column_squares,
                const Compute& compute) {
  const auto columns = static_cast<std::size_t>(map.cols);
  constexpr std::size_t kStep = kernels::kMapColumnStep;
  column_squares.assign((columns + kStep - 1) / kStep * kStep, 0.0);
  const MapSums sums = compute.kernels.available()
                           ? kernels::map_sums(compute.kernels, map, causal, column_squares.data())
                           : plain_sums(map, causal, column_squares.data());
  column_squares.resize(columns);
  return sums;
}

}  // namespace attnscope
