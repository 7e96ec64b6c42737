#include "attnscope/features/attention/measures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/features/attention/alignment.h"
#include "attnscope/features/attention/map_rank.h"
#include "attnscope/features/attention/uniform_baseline.h"
#include "attnscope/numerics/attention_maps/map_sums.h"
#include "attnscope/numerics/svd/batched_singular_values.h"

namespace attnscope {

struct MapFacts {
  MatrixView<const float> map;
  std::int64_t energy_rank;  // see features/spectrum/measures.h
  MapSums sums;
  std::vector<std::size_t>
      columns;  // smallest set with the requested energy: see largest_columns()
  std::span<const double> column_squares;  // of all included columns
  bool across;                             // see AttentionMapOptions
  std::optional<PatchGrid> grid;
  const std::vector<std::int64_t>* chosen;  // see AttentionMapOptions::queries; null: all
  std::span<const std::int64_t> texts;      // see AttentionMapOptions
  std::span<const std::int64_t> roles;      // see AttentionMapOptions

  double queries() const {
    return static_cast<double>(chosen == nullptr ? map.rows : std::ssize(*chosen));
  }
};

namespace {

/// A sum that reaches its threshold within rounding counts, as for energy_rank.
constexpr double kSumRounding = 1e-12;

/// Below this limit, a query's missing mass is zero: it is rounding of float32 weights, or a
/// learned sink without effect.
constexpr double kLeastLearnedSinkMass = 1e-6;

/// Number of maps to process together: as many as the widest registers hold in one call.
constexpr std::size_t kMapsPerPart = 32;

/// Mean weight from query t to key t − back, over queries from `first` to before `last`.
std::optional<double> mean_behind(MatrixView<const float> map, std::int64_t back,
                                  std::int64_t first, std::int64_t last) {
  if (first >= last) return std::nullopt;
  double sum = 0;
  for (std::int64_t query = first; query < last; ++query) {
    sum += static_cast<double>(map(query, query - back));
  }
  return sum / static_cast<double>(last - first);
}

/// The same over the scored queries.
std::optional<double> mean_behind(const MapFacts& facts, std::int64_t back) {
  if (facts.chosen == nullptr) return mean_behind(facts.map, back, back, facts.map.rows);
  double sum = 0, count = 0;
  for (const std::int64_t query : *facts.chosen) {
    if (query < back) continue;
    sum += static_cast<double>(facts.map(query, query - back));
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

/// Mean over the scored queries.
std::optional<double> mean_over_queries(const MapFacts& facts, double sum) {
  const double count = facts.queries();
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

/// Mean weight from a token of one text of a pair to all tokens of the other one.
std::optional<double> mean_across_texts(const MapFacts& facts, std::int64_t from, std::int64_t to) {
  if (facts.texts.empty() || facts.across) return std::nullopt;
  double sum = 0, queries = 0;
  const auto add = [&](std::int64_t query) {
    if (facts.texts[static_cast<std::size_t>(query)] != from) return;
    for (std::int64_t key = 0; key < facts.map.cols; ++key) {
      if (facts.texts[static_cast<std::size_t>(key)] != to) continue;
      sum += static_cast<double>(facts.map(query, key));
    }
    ++queries;
  };
  if (facts.chosen != nullptr) {
    for (const std::int64_t query : *facts.chosen) add(query);
  } else {
    for (std::int64_t query = 0; query < facts.map.rows; ++query) add(query);
  }
  return queries == 0 ? std::nullopt : std::optional(sum / queries);
}

std::optional<double> mean_a_to_b(const MapFacts& facts) { return mean_across_texts(facts, 0, 1); }
std::optional<double> mean_b_to_a(const MapFacts& facts) { return mean_across_texts(facts, 1, 0); }
std::optional<double> uniform_a_to_b(const UniformAttention& uniform) {
  return across_texts(uniform, 0, 1);
}
std::optional<double> uniform_b_to_a(const UniformAttention& uniform) {
  return across_texts(uniform, 1, 0);
}

/// Mean weight from a query to all tokens of a role.
template <std::int64_t role>
std::optional<double> mean_on_role(const MapFacts& facts) {
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < std::ssize(facts.roles); ++key) {
    if (facts.roles[static_cast<std::size_t>(key)] == role) keys.push_back(key);
  }
  if (keys.empty()) return std::nullopt;
  double sum = 0;
  const auto add = [&](std::int64_t query) {
    for (const std::int64_t key : keys) sum += static_cast<double>(facts.map(query, key));
  };
  if (facts.chosen != nullptr) {
    for (const std::int64_t query : *facts.chosen) add(query);
  } else {
    for (std::int64_t query = 0; query < facts.map.rows; ++query) add(query);
  }
  return mean_over_queries(facts, sum);
}

template <std::int64_t role>
std::optional<double> uniform_on_role(const UniformAttention& uniform) {
  return mass_on_role(uniform, role);
}

/// The measure of a role, which only chats with this role have.
template <std::int64_t role>
constexpr MapMeasure measure_of_role(std::string_view name) {
  return {name,
          name,
          mean_on_role<role>,
          uniform_on_role<role>,
          /*whole=*/false,
          /*of_some=*/true};
}

/// Measures of only these rows of a map.
MapSums sums_over(MatrixView<const float> map, const std::vector<std::int64_t>& queries) {
  MapSums sums;
  for (const std::int64_t query : queries) {
    for (std::int64_t key = 0; key < map.cols; ++key) {
      const auto weight = static_cast<double>(map(query, key));
      if (weight == 0) continue;
      sums.weights += weight;
      sums.entropy -= weight * std::log(weight);
      sums.distance += weight * static_cast<double>(std::abs(query - key));
    }
  }
  return sums;
}

std::optional<double> energy_rank_of(const MapFacts& facts) {
  return static_cast<double>(facts.energy_rank);
}

std::optional<double> columns_of(const MapFacts& facts) {
  return static_cast<double>(facts.columns.size());
}

/// Share of the squared weights; empty for a zero map.
std::optional<double> first_column_share_of(const MapFacts& facts) {
  if (facts.columns.empty()) return std::nullopt;
  const auto& squares = facts.column_squares;
  return *std::max_element(squares.begin(), squares.end()) /
         std::accumulate(squares.begin(), squares.end(), 0.0);
}

std::optional<double> mean_on_first(const MapFacts& facts) {
  double sum = 0;
  if (facts.chosen != nullptr) {
    for (const std::int64_t query : *facts.chosen) sum += static_cast<double>(facts.map(query, 0));
  } else {
    for (std::int64_t query = 0; query < facts.map.rows; ++query) {
      sum += static_cast<double>(facts.map(query, 0));
    }
  }
  return mean_over_queries(facts, sum);
}

/// Over queries with a previous token; empty if T = 1.
std::optional<double> mean_on_previous(const MapFacts& facts) {
  if (facts.across) return std::nullopt;
  return mean_behind(facts, 1);
}

std::optional<double> mean_on_own(const MapFacts& facts) {
  if (facts.across) return std::nullopt;
  return mean_behind(facts, 0);
}

std::optional<double> mean_entropy(const MapFacts& facts) {
  return mean_over_queries(facts, facts.sums.entropy);
}

std::optional<double> mean_distance(const MapFacts& facts) {
  if (facts.across) return std::nullopt;
  return mean_over_queries(facts, facts.sums.distance);
}

std::optional<double> mean_learned_sink_mass(const MapFacts& facts) {
  const auto attended = mean_over_queries(facts, facts.sums.weights);
  if (!attended) return std::nullopt;
  const double left = 1 - *attended;
  return left < kLeastLearnedSinkMass ? 0 : left;
}

/// For maps of images: mean over queries that are patches. The weights on keys that are patches
/// count as if they summed to 1. Source: Dosovitskiy et al. 2021 (arXiv 2010.11929), figure 7.
std::optional<double> mean_patch_distance(const MapFacts& facts) {
  if (!facts.grid) return std::nullopt;
  const PatchGrid& grid = *facts.grid;
  const Matrix<double> distances = patch_distances(grid);
  double sum = 0, queries = 0;
  for (std::int64_t query = 0; query < grid.patches(); ++query) {
    const std::int64_t row = query / grid.cols, col = query % grid.cols;
    const float* weight = &facts.map(grid.before + query, grid.before);
    double far = 0, all = 0;
    for (std::int64_t other = 0; other < grid.rows; ++other) {
      const double* of_row = &distances(std::abs(row - other), 0);
      for (std::int64_t at = 0; at < grid.cols; ++at) {
        const auto own = static_cast<double>(*weight++);
        all += own;
        far += own * of_row[std::abs(col - at)];
      }
    }
    if (all == 0) continue;
    sum += far / all;
    ++queries;
  }
  return queries == 0 ? std::nullopt : std::optional(sum / queries);
}
std::optional<double> diagonality_of(const MapFacts& facts) {
  return facts.across ? diagonality(facts.map) : std::nullopt;
}

std::optional<double> monotonicity_of(const MapFacts& facts) {
  return facts.across ? monotonicity(facts.map) : std::nullopt;
}

std::optional<double> uniform_on_first(const UniformAttention& uniform) {
  return sink_mass(uniform);
}

std::optional<double> uniform_on_line(const UniformAttention& uniform) {
  return uniform.queries ? uniform_diagonality(*uniform.queries, uniform.tokens) : std::nullopt;
}

/// Under uniform attention, all centers are equal.
std::optional<double> even_in_order(const UniformAttention& uniform) {
  if (!uniform.queries || *uniform.queries < 2 || uniform.tokens < 2) return std::nullopt;
  return 0.5;
}

/// All measures of maps, in the order of rows.
constexpr std::array kMapMeasures = {
    MapMeasure{"energy_rank", "energy_rank", energy_rank_of, nullptr, /*whole=*/true},
    // Smallest number of columns with that share of all squared weights. arXiv 2404.08634
    MapMeasure{"energy_columns", "energy_columns", columns_of, nullptr, /*whole=*/true},
    MapMeasure{"first_column_share", "first_column_share", first_column_share_of},
    // Means over queries q: −Σ_k A_qk ln A_qk in nats, A_q0, A_q,q−1, A_qq, Σ_k A_qk |q − k|.
    MapMeasure{"entropy", "entropy", mean_entropy},
    MapMeasure{"sink_mass", "sink_mass", mean_on_first, uniform_on_first},
    MapMeasure{"previous_token", "previous_token", mean_on_previous, previous_token},
    MapMeasure{"current_token", "current_token", mean_on_own},
    MapMeasure{"distance", "mean_distance", mean_distance},
    // 1 − Σ_k A_qk: the mass on a learned sink.
    MapMeasure{"learned_sink_mass", "learned_sink_mass", mean_learned_sink_mass},
    MapMeasure{"patch_distance", "patch_distance", mean_patch_distance, patch_distance,
               /*whole=*/false, /*of_some=*/true},
    // Alignment of a cross-attention map: see measures.h.
    MapMeasure{"diagonality", "diagonality", diagonality_of, uniform_on_line,
               /*whole=*/false, /*of_some=*/true},
    MapMeasure{"monotonicity", "monotonicity", monotonicity_of, even_in_order,
               /*whole=*/false, /*of_some=*/true},
    // For pairs of texts: mean over queries q in A of Σ_k A_qk over keys k in B, and vice versa.
    MapMeasure{"a_to_b", "a_to_b", mean_a_to_b, uniform_a_to_b, /*whole=*/false,
               /*of_some=*/true},
    MapMeasure{"b_to_a", "b_to_a", mean_b_to_a, uniform_b_to_a, /*whole=*/false,
               /*of_some=*/true},
    // For chats: mean over queries of Σ_k A_qk over keys k of a role. In the order of
    // kMessageRoles.
    measure_of_role<0>("system_mass"),
    measure_of_role<1>("user_mass"),
    measure_of_role<2>("assistant_mass"),
    measure_of_role<3>("tool_mass"),
    measure_of_role<4>("template_mass"),
};

/// The map with zeros for key 0, so that its column adds one singular value of 0.
Matrix<float> exclude_first_token(MatrixView<const float> map) {
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
  if (!options.exclude_first_token) return map_energy_ranks(maps, options.energy, compute);
  std::vector<Matrix<float>> copies;
  std::vector<MatrixView<const float>> views;
  for (const MatrixView<const float>& map : maps) {
    const std::int64_t rest = map.rows - 1;
    if (options.causal) {
      views.push_back(map.block(1, rest, 1, rest));  // query 0 sees only key 0
    } else {
      views.push_back(std::as_const(copies.emplace_back(exclude_first_token(map))).view());
    }
  }
  return map_energy_ranks(views, options.energy, compute);
}

AttentionMapMeasures measures_of(const MapFacts& facts) {
  AttentionMapMeasures out;
  for (const MapMeasure& measure : kMapMeasures) out.values.push_back(measure.of_map(facts));
  const std::size_t top = std::min(facts.columns.size(), kTopColumns);
  out.top_columns.assign(facts.columns.begin(),
                         facts.columns.begin() + static_cast<std::ptrdiff_t>(top));
  return out;
}

}  // namespace

std::span<const MapMeasure> map_measures() { return kMapMeasures; }

std::size_t map_measure_index(std::string_view name) {
  const auto found = std::find_if(kMapMeasures.begin(), kMapMeasures.end(),
                                  [&](const MapMeasure& each) { return each.name == name; });
  if (found == kMapMeasures.end())
    throw std::out_of_range("unknown measure of maps: " + std::string(name));
  return static_cast<std::size_t>(found - kMapMeasures.begin());
}

std::optional<double> AttentionMapMeasures::value(std::string_view name) const {
  return values.at(map_measure_index(name));
}

std::vector<AttentionMapMeasures> measure_attention_maps(
    std::span<const MatrixView<const float>> maps, const AttentionMapOptions& options,
    const Compute& compute) {
  std::vector<AttentionMapMeasures> out(maps.size());
  if (maps.empty()) return out;
  const std::int64_t order = std::max(maps.front().rows, maps.front().cols);
  const std::size_t together = order <= kLargestSmallOrder ? kMapsPerPart : 1;
  run_parts(compute, (maps.size() + together - 1) / together, [&](std::size_t part) {
    const std::size_t first = part * together;
    const auto own = maps.subspan(first, std::min(together, maps.size() - first));
    const std::vector<std::int64_t> ranks = ranks_of(own, options, compute);
    std::vector<double> squares;
    for (std::size_t index = 0; index < own.size(); ++index) {
      MapSums sums = sum_map(own[index], options.causal, squares, compute);
      if (options.queries) sums = sums_over(own[index], *options.queries);
      const std::size_t first_column = options.exclude_first_token ? 1 : 0;
      out[first + index] =
          measures_of({.map = own[index],
                       .energy_rank = ranks[index],
                       .sums = sums,
                       .columns = largest_columns(squares, first_column, options.energy),
                       .column_squares = std::span(squares).subspan(first_column),
                       .across = options.across,
                       .grid = options.grid,
                       .chosen = options.queries ? &*options.queries : nullptr,
                       .texts = options.texts,
                       .roles = options.roles});
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
  // Ties are ordered by position, so that the result does not depend on the sorting algorithm.
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
