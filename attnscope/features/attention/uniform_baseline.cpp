#include "attnscope/features/attention/uniform_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace attnscope {
namespace {

/// Mean of of_query(query) over the scored queries, from `first` on.
template <class Of>
std::optional<double> uniform_mean(const UniformAttention& uniform, std::int64_t first,
                                   const Of& of_query) {
  double sum = 0, count = 0;
  const auto add = [&](std::int64_t query) {
    if (query < first) return;
    sum += of_query(query);
    ++count;
  };
  if (uniform.chosen) {
    for (const std::int64_t query : *uniform.chosen) add(query);
  } else {
    for (std::int64_t query = first; query < uniform.tokens; ++query) add(query);
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

/// Mean weight from query t to key t − back, over queries from `first` on.
std::optional<double> uniform_mean_distance(const UniformAttention& uniform, std::int64_t back,
                                            std::int64_t first) {
  if (first >= uniform.tokens || uniform.queries) return std::nullopt;
  return uniform_mean(uniform, first,
                      [&](std::int64_t query) { return uniform.weight(query, query - back); });
}

}  // namespace

double UniformAttention::weight(std::int64_t query, std::int64_t key) const {
  if (!regions.empty()) {
    const std::int64_t own = regions[static_cast<std::size_t>(query)];
    if (regions[static_cast<std::size_t>(key)] != own) return 0;
    return 1 / static_cast<double>(std::count(regions.begin(), regions.end(), own));
  }
  const std::int64_t first = mask.first_key(query), end = mask.end_key(query, tokens);
  return key < first || key >= end ? 0 : 1 / static_cast<double>(end - first);
}

std::optional<double> sink_mass(const UniformAttention& uniform) {
  return uniform_mean(uniform, 0, [&](std::int64_t query) { return uniform.weight(query, 0); });
}

std::optional<double> previous_token(const UniformAttention& uniform) {
  return uniform_mean_distance(uniform, 1, 1);
}

std::optional<double> across_texts(const UniformAttention& uniform, std::int64_t from,
                                   std::int64_t to) {
  if (uniform.texts.empty() || uniform.queries) return std::nullopt;
  std::vector<std::int64_t> queries;
  const auto add = [&](std::int64_t query) {
    if (uniform.texts[static_cast<std::size_t>(query)] == from) queries.push_back(query);
  };
  if (uniform.chosen) {
    for (const std::int64_t query : *uniform.chosen) add(query);
  } else {
    for (std::int64_t query = 0; query < uniform.tokens; ++query) add(query);
  }
  double sum = 0;
  for (const std::int64_t query : queries) {
    for (std::int64_t key = 0; key < uniform.tokens; ++key) {
      if (uniform.texts[static_cast<std::size_t>(key)] == to) sum += uniform.weight(query, key);
    }
  }
  return queries.empty() ? std::nullopt : std::optional(sum / static_cast<double>(queries.size()));
}

std::optional<double> mass_on_role(const UniformAttention& uniform, std::int64_t role) {
  if (std::find(uniform.roles.begin(), uniform.roles.end(), role) == uniform.roles.end()) {
    return std::nullopt;
  }
  return uniform_mean(uniform, 0, [&](std::int64_t query) {
    double sum = 0;
    for (std::int64_t key = 0; key < uniform.tokens; ++key) {
      if (uniform.roles[static_cast<std::size_t>(key)] == role) sum += uniform.weight(query, key);
    }
    return sum;
  });
}

Matrix<double> patch_distances(const PatchGrid& grid) {
  Matrix<double> out(grid.rows, grid.cols);
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t col = 0; col < grid.cols; ++col) {
      out(row, col) = std::hypot(static_cast<double>(row), static_cast<double>(col));
    }
  }
  return out;
}

namespace {

/// The mean over the patches of a window, each to the patches of its region.
double patch_distance_within_regions(const UniformAttention& uniform) {
  const PatchGrid& grid = *uniform.grid;
  const Matrix<double> distances = patch_distances(grid);
  double sum = 0;
  for (std::int64_t query = 0; query < grid.patches(); ++query) {
    double far = 0, all = 0;
    for (std::int64_t key = 0; key < grid.patches(); ++key) {
      const double weight = uniform.weight(query, key);
      all += weight;
      far += weight * distances(std::abs(query / grid.cols - key / grid.cols),
                                std::abs(query % grid.cols - key % grid.cols));
    }
    sum += far / all;
  }
  return sum / static_cast<double>(grid.patches());
}

std::int64_t columns_within_regions(const UniformAttention& uniform, double energy,
                                    bool exclude_first_token) {
  std::vector<double> squares(static_cast<std::size_t>(uniform.tokens));
  for (std::int64_t query = 0; query < uniform.tokens; ++query) {
    for (std::int64_t key = 0; key < uniform.tokens; ++key) {
      const double weight = uniform.weight(query, key);
      squares[static_cast<std::size_t>(key)] += weight * weight;
    }
  }
  return std::ssize(largest_columns(squares, exclude_first_token ? 1 : 0, energy));
}

}  // namespace

/// The mean over all pairs of patches. Of n rows, 2 (n - r) pairs are r > 0 rows apart.
std::optional<double> patch_distance(const UniformAttention& uniform) {
  if (!uniform.grid) return std::nullopt;
  if (!uniform.regions.empty()) return patch_distance_within_regions(uniform);
  const PatchGrid& grid = *uniform.grid;
  const Matrix<double> distances = patch_distances(grid);
  const auto pairs = [](std::int64_t size, std::int64_t apart) {
    return static_cast<double>((apart == 0 ? 1 : 2) * (size - apart));
  };
  double sum = 0;
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    for (std::int64_t col = 0; col < grid.cols; ++col) {
      sum += pairs(grid.rows, row) * pairs(grid.cols, col) * distances(row, col);
    }
  }
  const auto patches = static_cast<double>(grid.patches());
  return sum / (patches * patches);
}

std::int64_t columns(const UniformAttention& uniform, double energy, bool exclude_first_token) {
  if (!uniform.regions.empty()) return columns_within_regions(uniform, energy, exclude_first_token);
  // The keys of a query are contiguous, so its contribution to the columns' squares starts at its
  // first key and ends after its last.
  std::vector<double> begins(static_cast<std::size_t>(uniform.tokens) + 1), ends(begins);
  for (std::int64_t query = 0; query < uniform.tokens; ++query) {
    const double weight = uniform.weight(query, query);
    begins[static_cast<std::size_t>(uniform.mask.first_key(query))] += weight * weight;
    ends[static_cast<std::size_t>(uniform.mask.end_key(query, uniform.tokens))] += weight * weight;
  }
  std::vector<double> squares(static_cast<std::size_t>(uniform.tokens));
  double begun = 0, ended = 0;
  for (std::size_t key = 0; key < squares.size(); ++key) {
    begun += begins[key];
    ended += ends[key];
    squares[key] = begun - ended;
  }
  return std::ssize(largest_columns(squares, exclude_first_token ? 1 : 0, energy));
}

std::optional<double> repeated_token(const UniformAttention& uniform, std::int64_t block,
                                     std::int64_t back) {
  return block < 1 ? std::nullopt : uniform_mean_distance(uniform, back, block);
}

}  // namespace attnscope
