// Attention in windows of an image, and patch merging after a stage.
#include <algorithm>
#include <utility>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/patch_windows.h"

namespace attnscope {

/// Returns the windows of each image in this layer.
const std::vector<PatchWindow>& LayerRun::windows_of(const PatchWindowSpec& spec) {
  const PatchGrid& grid = *rows_.grid;
  const auto known = std::find_if(windows_.begin(), windows_.end(), [&](const KnownWindows& each) {
    return each.grid == grid && each.spec == spec;
  });
  if (known != windows_.end()) return known->windows;
  return windows_.emplace_back(KnownWindows{grid, spec, patch_windows(grid, spec)}).windows;
}

/// Computes context_ from qkv_ like attend_all(). Meanwhile, each window is a sequence.
void LayerRun::attend_windows(std::int64_t layer, MatrixView<const float> input) {
  const PatchWindowSpec& spec = *spec_.layers[static_cast<std::size_t>(layer)].attention.windows;
  const std::vector<PatchWindow>& windows = windows_of(spec);
  const std::int64_t tokens = spec.size * spec.size, width = qkv_.cols();
  SequenceRows of_windows{.windows = &windows};
  for (std::size_t at = 0; at < rows_.first.size() * windows.size(); ++at) {
    of_windows.first.push_back(of_windows.total);
    of_windows.length.push_back(tokens);
    of_windows.past.emplace_back();
    of_windows.total += tokens;
  }
  // The projections of padding, which is 0, are their biases.
  std::vector<float> padding = weights_.layers[static_cast<std::size_t>(layer)].qkv->bias;
  padding.resize(static_cast<std::size_t>(width), 0.0F);
  const MatrixView<float> gathered = sized(window_qkv_, of_windows.total, width);
  const auto for_tokens = [&](const auto& visit) {  // row of a window, and of its image
    for (std::size_t at = 0; at < of_windows.first.size(); ++at) {
      const PatchWindow& window = windows[at % windows.size()];
      const std::int64_t image = rows_.first[at / windows.size()];
      for (std::int64_t token = 0; token < window.count(); ++token) {
        visit(of_windows.first[at] + token,
              image + window.patches[static_cast<std::size_t>(token)]);
      }
      for (std::int64_t token = window.count(); token < tokens; ++token) {
        visit(of_windows.first[at] + token, -1);
      }
    }
  };
  for_tokens([&](std::int64_t row, std::int64_t from) {
    std::copy_n(from < 0 ? padding.data() : &qkv_(from, 0), width, &gathered(row, 0));
  });
  const auto exchange = [&] {
    std::swap(rows_, of_windows);
    std::swap(qkv_, window_qkv_);
    std::swap(context_, window_context_);
  };
  exchange();
  attend_all(layer, input);
  exchange();
  const MatrixView<float> context = sized(context_, rows_.total, window_context_.cols());
  for_tokens([&](std::int64_t row, std::int64_t to) {
    if (to >= 0) std::copy_n(&window_context_(row, 0), context.cols, &context(to, 0));
  });
}

void LayerRun::merge_patches(const PatchMergingWeights& merging) {
  const PatchGrid grid = *rows_.grid, merged = merged_grid(grid);
  const std::int64_t images = std::ssize(rows_.first), patches = merged.patches();
  Matrix<float> wide(images * patches, 4 * states_.cols());
  for (std::int64_t image = 0; image < images; ++image) {
    concatenate_neighbors(grid, rows_of(static_cast<std::size_t>(image), states_.view()),
                          wide.view().row_block(image * patches, patches));
  }
  if (!merging.norm_last) apply_norm(merging.norm, wide.view(), wide.view(), compute_);
  Matrix<float> out(wide.rows(), merging.projection->weights.outputs());
  apply(*merging.projection, wide.view(), {}, out.view(), compute_);
  if (merging.norm_last) apply_norm(merging.norm, out.view(), out.view(), compute_);
  states_ = std::move(out);
  rows_.grid = merged;
  rows_.total = 0;
  for (std::size_t image = 0; image < rows_.first.size(); ++image) {
    rows_.first[image] = rows_.total;
    rows_.length[image] = patches;
    rows_.total += patches;
  }
}

}  // namespace attnscope
