#include "attnscope/forward/patch_windows.h"

#include <algorithm>
#include <functional>

namespace attnscope {
namespace {

/// One axis of the padded image, after it is shifted.
struct ShiftedAxis {
  std::int64_t size = 0, padded = 0, window = 1, shift = 0;

  std::int64_t windows() const { return padded / window; }
  /// Returns the row or column of the image at a place. Not below `size`: padding.
  std::int64_t origin(std::int64_t place) const { return (place + shift) % padded; }
  std::int64_t region(std::int64_t place) const {
    return (place >= padded - window ? 1 : 0) + (place >= padded - shift ? 1 : 0);
  }
  /// Returns the number of places of a window that are not padding.
  std::int64_t count(std::int64_t of_window) const {
    std::int64_t count = 0;
    for (std::int64_t at = 0; at < window; ++at) {
      if (origin(of_window * window + at) < size) ++count;
    }
    return count;
  }
};

ShiftedAxis axis_of(std::int64_t size, const PatchWindowSpec& spec) {
  return {.size = size,
          .padded = (size + spec.size - 1) / spec.size * spec.size,
          .window = spec.size,
          .shift = spec.shift};
}

}  // namespace

std::vector<PatchWindow> patch_windows(const PatchGrid& grid, const PatchWindowSpec& spec) {
  constexpr std::int64_t kRegions = 3;  // of an axis
  const ShiftedAxis down = axis_of(grid.rows, spec), right = axis_of(grid.cols, spec);
  std::vector<PatchWindow> out;
  for (std::int64_t number = 0; number < down.windows() * right.windows(); ++number) {
    const std::int64_t first_row = number / right.windows() * spec.size;
    const std::int64_t first_col = number % right.windows() * spec.size;
    PatchWindow& window = out.emplace_back();
    window.grid = {.rows = down.count(first_row / spec.size),
                   .cols = right.count(first_col / spec.size)};
    const auto add = [&](bool padding) {
      for (std::int64_t place = 0; place < spec.size * spec.size; ++place) {
        const std::int64_t row = first_row + place / spec.size;
        const std::int64_t col = first_col + place % spec.size;
        const std::int64_t from_row = down.origin(row), from_col = right.origin(col);
        if ((from_row >= grid.rows || from_col >= grid.cols) != padding) continue;
        if (!padding) window.patches.push_back(from_row * grid.cols + from_col);
        window.places.push_back(place);
        if (spec.shift == 0) continue;
        window.regions.push_back(kRegions * down.region(row) + right.region(col));
      }
    };
    add(/*padding=*/false);
    add(/*padding=*/true);
    std::vector<std::int64_t>& regions = window.regions;
    if (std::adjacent_find(regions.begin(), regions.end(), std::not_equal_to<>()) ==
        regions.end()) {
      regions.clear();
    }
  }
  return out;
}

Matrix<float> map_of_image(std::span<const PatchWindow> windows,
                           std::span<const MatrixView<const float>> maps) {
  std::int64_t tokens = 0;
  for (const PatchWindow& window : windows) tokens += window.count();
  Matrix<float> out(tokens, tokens);
  std::fill_n(out.data(), tokens * tokens, 0.0F);
  for (std::size_t at = 0; at < windows.size(); ++at) {
    const std::vector<std::int64_t>& patches = windows[at].patches;
    for (std::size_t query = 0; query < patches.size(); ++query) {
      for (std::size_t key = 0; key < patches.size(); ++key) {
        out(patches[query], patches[key]) =
            maps[at](static_cast<std::int64_t>(query), static_cast<std::int64_t>(key));
      }
    }
  }
  return out;
}

std::int64_t merges_before(const ModelSpec& spec, std::int64_t layer) {
  const auto end = spec.layers.begin() + std::min(layer, std::ssize(spec.layers));
  return std::count_if(spec.layers.begin(), end,
                       [](const LayerSpec& each) { return each.merging.has_value(); });
}

PatchGrid merged_grid(const PatchGrid& grid) {
  return {.rows = (grid.rows + 1) / 2, .cols = (grid.cols + 1) / 2};
}

void concatenate_neighbors(const PatchGrid& grid, MatrixView<const float> states,
                           MatrixView<float> out) {
  const PatchGrid merged = merged_grid(grid);
  for (std::int64_t patch = 0; patch < merged.patches(); ++patch) {
    for (std::int64_t part = 0; part < 4; ++part) {
      const std::int64_t row = 2 * (patch / merged.cols) + part % 2;
      const std::int64_t col = 2 * (patch % merged.cols) + part / 2;
      float* to = &out(patch, part * states.cols);
      if (row < grid.rows && col < grid.cols) {
        std::copy_n(&states(row * grid.cols + col, 0), states.cols, to);
      } else {
        std::fill_n(to, states.cols, 0.0F);
      }
    }
  }
}

}  // namespace attnscope
