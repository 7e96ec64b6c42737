#include "attnscope/analysis/attention_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attnscope/analysis/map_rank.h"
#include "attnscope/numerics/attention_maps/map_sums.h"
#include "attnscope/numerics/singular_values/batched_singular_values.h"

namespace attnscope {
namespace {

/// A sum that meets its threshold but for rounding counts as meeting it, as for energy_rank.
constexpr double kSumRounding = 1e-12;

/// Maps that are worked on together: as many as the widest registers hold in one call.
constexpr std::size_t kMapsPerPart = 32;

double weight_at(MatrixView<const float> map, std::int64_t query, std::int64_t key) {
  return map(query, key);
}

/// Mean weight from query t to key t − back, over queries from `first` to before `last`.
std::optional<double> mean_behind(MatrixView<const float> map, std::int64_t back,
                                  std::int64_t first, std::int64_t last) {
  if (first >= last) return std::nullopt;
  double sum = 0;
  for (std::int64_t query = first; query < last; ++query) {
    sum += weight_at(map, query, query - back);
  }
  return sum / static_cast<double>(last - first);
}

void add_columns(AttentionMapMeasures& out, const std::vector<double>& squares, std::size_t first,
                 double threshold) {
  const std::vector<std::size_t> columns = largest_columns(squares, first, threshold);
  if (columns.empty()) return;
  out.columns = std::ssize(columns);
  for (std::size_t at = 0; at < std::min(columns.size(), kTopColumns); ++at) {
    out.top_columns.push_back(static_cast<std::int64_t>(columns[at]));
  }
  const double total =
      std::accumulate(squares.begin() + static_cast<std::ptrdiff_t>(first), squares.end(), 0.0);
  out.first_column_share = squares[columns.front()] / total;
}

AttentionMapMeasures measures_but_rank(MatrixView<const float> map,
                                       const AttentionMapOptions& options, const Compute& compute) {
  thread_local std::vector<double> squares;  // scratch memory: it changes no result
  const MapSums sums = sum_map(map, options.causal, squares, compute);
  const auto queries = static_cast<double>(map.rows);
  AttentionMapMeasures out{.entropy = sums.entropy / queries, .distance = sums.distance / queries};
  for (std::int64_t query = 0; query < map.rows; ++query) {
    out.sink_mass += weight_at(map, query, 0);
    out.diagonal += weight_at(map, query, query);
  }
  out.sink_mass /= queries;
  out.diagonal /= queries;
  out.previous_token = mean_behind(map, 1, 1, map.rows);
  add_columns(out, squares, options.without_first ? 1 : 0, options.energy);
  return out;
}

/// The map with zeros for key 0: the singular values of what is left, and one that is 0.
Matrix<float> without_first_key(MatrixView<const float> map) {
  Matrix<float> out(map.rows, map.cols);
  for (std::int64_t query = 0; query < map.rows; ++query) {
    const float* line = map.data + query * map.row_stride;
    std::copy(line, line + map.cols, &out(query, 0));
    out(query, 0) = 0;
  }
  return out;
}

std::vector<std::int64_t> ranks_of(std::span<const MatrixView<const float>> maps,
                                   const AttentionMapOptions& options, const Compute& compute) {
  if (!options.without_first) return map_energy_ranks(maps, options.energy, compute);
  std::vector<Matrix<float>> copies;
  std::vector<MatrixView<const float>> views;
  for (const MatrixView<const float>& map : maps) {
    const std::int64_t rest = map.rows - 1;
    if (options.causal) {
      views.push_back(map.block(1, rest, 1, rest));  // query 0 sees key 0 alone
    } else {
      views.push_back(std::as_const(copies.emplace_back(without_first_key(map))).view());
    }
  }
  return map_energy_ranks(views, options.energy, compute);
}

}  // namespace

std::vector<AttentionMapMeasures> measure_attention_maps(
    std::span<const MatrixView<const float>> maps, const AttentionMapOptions& options,
    const Compute& compute) {
  std::vector<AttentionMapMeasures> out(maps.size());
  if (maps.empty()) return out;
  const std::size_t together = maps.front().rows <= kLargestSmallOrder ? kMapsPerPart : 1;
  run_parts(compute, (maps.size() + together - 1) / together, [&](std::size_t part) {
    const std::size_t first = part * together;
    const auto own = maps.subspan(first, std::min(together, maps.size() - first));
    const std::vector<std::int64_t> ranks = ranks_of(own, options, compute);
    for (std::size_t index = 0; index < own.size(); ++index) {
      out[first + index] = measures_but_rank(own[index], options, compute);
      out[first + index].energy_rank = ranks[index];
    }
  });
  return out;
}

std::vector<std::size_t> largest_columns(std::span<const double> squares, std::size_t first,
                                         double threshold) {
  const auto counted = squares.subspan(first);
  const double total = std::accumulate(counted.begin(), counted.end(), 0.0);
  if (total == 0) return {};
  std::vector<std::size_t> order(counted.size());
  std::iota(order.begin(), order.end(), first);
  // Equal columns by their place, so that no order of sorting shows.
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return squares[a] != squares[b] ? squares[a] > squares[b] : a < b;
  });
  const double wanted = threshold * total * (1 - kSumRounding);
  double sum = 0;
  std::size_t count = 0;
  while (count < order.size() && sum < wanted) sum += squares[order[count++]];
  order.resize(count);
  return order;
}

std::optional<double> induction_score(MatrixView<const float> map, std::int64_t block,
                                      std::int64_t start) {
  if (block < 1) return std::nullopt;
  return mean_behind(map, block - 1, start + block, std::min(start + 2 * block, map.rows));
}

std::optional<double> duplicate_token_score(MatrixView<const float> map, std::int64_t block,
                                            std::int64_t start) {
  if (block < 1) return std::nullopt;
  return mean_behind(map, block, start + block, std::min(start + 2 * block, map.rows));
}

}  // namespace attnscope
