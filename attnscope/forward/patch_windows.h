// Windows of an image's patches, and patch merging between stages.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// A window of W × W places, whose patches attend to each other. Its tokens are its patches, row by
/// row, then its padding.
struct PatchWindow {
  PatchGrid grid;                     // rows and columns of its patches, without padding
  std::vector<std::int64_t> patches;  // the patch of the image of each token without padding
  std::vector<std::int64_t> places;   // (W²,): W · row + column of each token in the window
  std::vector<std::int64_t> regions;  // (W²,): tokens are neighbors in the image only within a
                                      // region; empty: there is only one

  std::int64_t count() const { return static_cast<std::int64_t>(patches.size()); }
};

/// Returns the windows of an image, row by row. `grid`: of the image, without other tokens.
/// Reference: transformers, window_partition(), maybe_pad(), cyclic_shift() and get_attn_mask() of
/// modeling_swin.py.
std::vector<PatchWindow> patch_windows(const PatchGrid& grid, const PatchWindowSpec& spec);

/// Returns a map of the whole image (T, T) from the maps of its windows, and 0 between windows.
Matrix<float> map_of_image(std::span<const PatchWindow> windows,
                           std::span<const MatrixView<const float>> maps);

/// Returns how often patches are merged before a layer.
std::int64_t merges_before(const ModelSpec& spec, std::int64_t layer);

/// Returns the grid after patch merging.
PatchGrid merged_grid(const PatchGrid& grid);

/// Concatenates the states of 2 × 2 patches, column by column, with zeros beyond the image: from
/// (T, D) to (merged T, 4 D).
void concatenate_neighbors(const PatchGrid& grid, MatrixView<const float> states,
                           MatrixView<float> out);

}  // namespace attnscope
