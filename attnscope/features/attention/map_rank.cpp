#include "attnscope/features/attention/map_rank.h"

#include <cstddef>
#include <utility>

#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/attention_maps/certified_rank.h"
#include "attnscope/numerics/svd/batched_singular_values.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

Matrix<double> as_float64(MatrixView<const float> map) {
  Matrix<double> out(map.rows, map.cols);
  for (std::int64_t row = 0; row < map.rows; ++row) {
    for (std::int64_t col = 0; col < map.cols; ++col) out(row, col) = map(row, col);
  }
  return out;
}

std::int64_t rank_from(std::span<const double> values, MatrixView<const float> map,
                       double threshold, const Compute& compute) {
  if (!energy_rank_in_doubt(values, threshold, error_of_energies(values.size()))) {
    return energy_rank(values, threshold);
  }
  const Matrix<double> exact = as_float64(map);
  return energy_rank(solve_one_by_one(fallback_solvers(), exact.view(), compute).values, threshold);
}

/// Ranks of cross-attention maps, which are not square.
std::vector<std::int64_t> rectangular_ranks(std::span<const MatrixView<const float>> maps,
                                            double threshold, const Compute& compute) {
  std::vector<Matrix<double>> exact;
  std::vector<MatrixView<const double>> views;
  for (const MatrixView<const float>& map : maps) {
    views.push_back(std::as_const(exact.emplace_back(as_float64(map))).view());
  }
  std::vector<std::int64_t> ranks;
  const std::vector<SingularResult> found = singular_values_of_each(views, compute);
  for (std::size_t index = 0; index < maps.size(); ++index) {
    if (const auto* failure = std::get_if<Error>(&found[index])) throw *failure;
    const auto& values = std::get<SingularValues>(found[index]).values;
    ranks.push_back(rank_from(values, maps[index], threshold, compute));
  }
  return ranks;
}

}  // namespace

std::vector<std::int64_t> map_energy_ranks(std::span<const MatrixView<const float>> maps,
                                           double threshold, const Compute& compute) {
  std::vector<std::int64_t> ranks;
  if (maps.empty()) return ranks;
  const auto order = static_cast<std::size_t>(maps.front().rows);
  if (order == 0) return std::vector<std::int64_t>(maps.size(), 0);
  if (maps.front().rows != maps.front().cols) return rectangular_ranks(maps, threshold, compute);
  if (maps.front().rows <= kLargestSmallOrder) {
    std::vector<double> values(maps.size() * order);
    small_singular_values(maps, values.data(), compute);
    for (std::size_t index = 0; index < maps.size(); ++index) {
      const auto own = std::span(values).subspan(index * order, order);
      ranks.push_back(rank_from(own, maps[index], threshold, compute));
    }
    return ranks;
  }
  for (const MatrixView<const float>& map : maps) {
    const RankOrValues found = energy_rank_or_values(map, threshold, compute);
    ranks.push_back(found.rank ? *found.rank : rank_from(found.values, map, threshold, compute));
  }
  return ranks;
}

}  // namespace attnscope
