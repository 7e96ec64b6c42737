#include "attnscope/features/attention/alignment.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace attnscope {
namespace {

/// `weight(query, key)`: sums to 1 over each row.
template <class Weight>
std::optional<double> nearness_to_line(std::int64_t queries, std::int64_t keys,
                                       const Weight& weight) {
  if (keys < 2 || queries < 1) return std::nullopt;
  const auto place = [](std::int64_t at, std::int64_t of) {
    return (static_cast<double>(at) + 0.5) / static_cast<double>(of);
  };
  double sum = 0;
  for (std::int64_t query = 0; query < queries; ++query) {
    const double own = place(query, queries);
    double distance = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      distance += weight(query, key) * std::abs(place(key, keys) - own);
    }
    const double furthest =
        std::max(std::abs(place(0, keys) - own), std::abs(place(keys - 1, keys) - own));
    sum += 1 - distance / furthest;
  }
  return std::max(sum / static_cast<double>(queries), 0.0);  // within rounding
}

}  // namespace

std::optional<double> diagonality(MatrixView<const float> map) {
  return nearness_to_line(map.rows, map.cols, [&](std::int64_t query, std::int64_t key) {
    return static_cast<double>(map(query, key));
  });
}

std::optional<double> uniform_diagonality(std::int64_t queries, std::int64_t keys) {
  return nearness_to_line(
      queries, keys, [&](std::int64_t, std::int64_t) { return 1 / static_cast<double>(keys); });
}

std::optional<double> monotonicity(MatrixView<const float> map) {
  if (map.rows < 2 || map.cols < 2) return std::nullopt;
  std::vector<double> centers;
  for (std::int64_t query = 0; query < map.rows; ++query) {
    double weights = 0, moment = 0;
    for (std::int64_t key = 0; key < map.cols; ++key) {
      weights += static_cast<double>(map(query, key));
      moment += static_cast<double>(map(query, key)) * static_cast<double>(key);
    }
    centers.push_back(weights > 0 ? moment / weights : 0);
  }
  const double same = 1e-6 * static_cast<double>(map.cols);
  double in_order = 0;
  for (std::size_t later = 1; later < centers.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const double step = centers[later] - centers[earlier];
      if (std::abs(step) <= same) {
        in_order += 0.5;
      } else if (step > 0) {
        in_order += 1;
      }
    }
  }
  const auto rows = static_cast<double>(map.rows);
  return in_order / (rows * (rows - 1) / 2);
}

}  // namespace attnscope
