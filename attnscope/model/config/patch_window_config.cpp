#include "attnscope/model/config/patch_window_config.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/base/text.h"
#include "attnscope/model/config/embedding_and_norm_config.h"

namespace attnscope {
namespace {

/// The table of all biases in a window is computed when the weights are read.
constexpr std::int64_t kLargestWindow = 256;

std::string size_text(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " × " + std::to_string(cols);
}

std::vector<std::int64_t> listed(const ConfigReader& config, const std::string& key,
                                 const std::vector<std::int64_t>& fallback) {
  return key.empty() || !config.has(key) ? fallback : config.numbers(key, /*least=*/0);
}

/// Returns the grid of a stage. Source: SwinStage and Swinv2Encoder of transformers.
PatchGrid grid_of_stage(const PatchGrid& whole, std::int64_t stage, bool rounds_up) {
  const std::int64_t more = rounds_up ? (std::int64_t{1} << stage) - 1 : 0;
  return {.rows = (whole.rows + more) >> stage, .cols = (whole.cols + more) >> stage};
}

/// Returns the window of a layer in a stage with this grid. Source: transformers,
/// set_shift_and_window_size() of modeling_swin.py, _compute_window_shift() of modeling_swinv2.py.
PatchWindowSpec window_of(const PatchWindowRule& rule, std::int64_t size, const PatchGrid& grid,
                          std::int64_t inner) {
  const std::int64_t side = rule.shrinks ? grid.rows : std::min(grid.rows, grid.cols);
  PatchWindowSpec out{.size = rule.shrinks ? std::min(size, side) : size};
  const bool later = rule.wrapped && inner % 2 == 1 && side > size;
  out.shift = later ? size / 2 : 0;
  out.wrapped = later ? *rule.wrapped : 0;
  return out;
}

}  // namespace

std::string set_patch_windows(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  const StageRule* stages = architecture.stages ? &*architecture.stages : nullptr;
  const PatchMergingRule* merging = stages && stages->merging ? &*stages->merging : nullptr;
  if (merging != nullptr) {
    for (std::int64_t layer = 0; layer + 1 < spec.dimensions.layers; ++layer) {
      const auto group = [&](std::int64_t at) { return layer_numbers(spec.dimensions, at).group; };
      if (group(layer) == group(layer + 1)) continue;
      PatchMergingSpec own{.projection = merging->projection,
                           .norm = norm_named(*architecture.norm, config, merging->norm),
                           .norm_last = merging->norm_last};
      own.norm.epsilon = merging->epsilon;
      spec.layers[static_cast<std::size_t>(layer)].merging = std::move(own);
    }
  }
  if (!architecture.patch_windows) return "";
  const PatchWindowRule& rule = *architecture.patch_windows;
  const PatchSpec& patches = *spec.stream.patches;
  const bool may_be_full = !rule.full_layers.empty();
  const std::int64_t size =
      may_be_full ? config.number(rule.size, /*least=*/0).value_or(0) : config.required(rule.size);
  if (size == 0) return "";
  if (patches.image_rows % patches.size != 0 || patches.image_cols % patches.size != 0) {
    return "images of " + size_text(patches.image_rows, patches.image_cols) +
           " pixels, whose sides are not multiples of a patch of " + std::to_string(patches.size) +
           " pixels, are not supported";
  }
  const std::vector<std::int64_t> full = listed(config, rule.full_layers, rule.full_by_default);
  const GridMlpRule* mlp = architecture.scores.grid_mlp ? &*architecture.scores.grid_mlp : nullptr;
  const std::vector<std::int64_t> pretrained =
      mlp == nullptr ? std::vector<std::int64_t>() : listed(config, mlp->pretrained_windows, {});
  const PatchGrid whole{.rows = patches.image_rows / patches.size,
                        .cols = patches.image_cols / patches.size};
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    if (std::find(full.begin(), full.end(), layer) != full.end()) continue;
    const LayerNumbers numbers = layer_numbers(spec.dimensions, layer);
    const std::int64_t stage = stages == nullptr ? 0 : numbers.group;
    const PatchGrid grid = grid_of_stage(whole, stage, /*rounds_up=*/!rule.shrinks);
    const PatchWindowSpec own = window_of(rule, size, grid, numbers.inner);
    const std::int64_t largest =
        rule.wrapped ? std::min(grid.rows, grid.cols) : std::max(grid.rows, grid.cols);
    if (own.size < 1 || (!rule.shrinks && size > largest)) {
      return "windows of " + size_text(size, size) + " patches are larger than the " +
             size_text(grid.rows, grid.cols) + " patches of stage " + std::to_string(stage);
    }
    if (own.size > kLargestWindow) {
      return "windows of " + size_text(own.size, own.size) + " patches are above the limit of " +
             size_text(kLargestWindow, kLargestWindow);
    }
    AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    attention.windows = own;
    if (mlp == nullptr) continue;
    const std::int64_t before =
        stage < std::ssize(pretrained) ? pretrained[static_cast<std::size_t>(stage)] : 0;
    if (before == 1) {
      return "'" + mlp->pretrained_windows + "' contains 1, which leaves no offset between patches";
    }
    attention.grid_mlp =
        GridMlp{.mlp = mlp->mlp,
                .farthest = std::max<std::int64_t>(1, (before > 0 ? before : own.size) - 1)};
  }
  return "";
}

}  // namespace attnscope
