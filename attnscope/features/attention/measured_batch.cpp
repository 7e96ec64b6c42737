#include "attnscope/features/attention/measured_batch.h"

#include <algorithm>
#include <utility>

#include "attnscope/features/common/message_roles.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

bool predicts_next(const Model& model) { return model.spec().causal || model.stack() == "cross"; }

/// The numbers of windows that have the same patches and regions, and so the same values under
/// uniform attention.
std::vector<std::vector<std::size_t>> alike_windows(std::span<const PatchWindow> windows) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t at = 0; at < windows.size(); ++at) {
    const auto known = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      const PatchWindow& other = windows[group.front()];
      return other.grid == windows[at].grid && other.regions == windows[at].regions;
    });
    if (known == groups.end()) {
      groups.push_back({at});
    } else {
      known->push_back(at);
    }
  }
  return groups;
}

/// Without padding, the mask of a window with a single region shows all keys.
std::vector<std::int64_t> uniform_regions(const PatchWindow& window) {
  if (!window.regions.empty()) return window.regions;
  if (window.count() == std::ssize(window.places)) return {};
  return std::vector<std::int64_t>(window.places.size(), 0);
}

AttentionMapOptions options_of(const WorkItem& item, const Model& model) {
  AttentionMapOptions options{
      .energy = expect<double>(item.parameters, "energy"),
      .exclude_first_token = expect<bool>(item.parameters, "exclude_first_token"),
      .across = model.stack() == "cross"};
  if (!item.batch->scored.empty()) {
    // A batch contains sequences with the same scored positions.
    options.queries = scored_rows(item.batch->scored.front(), predicts_next(model));
  }
  // The sequences of a batch have the same texts and roles.
  if (!options.across && !item.batch->tokens.empty()) {
    options.texts = item.batch->tokens.front().texts;
    options.roles = role_indices(item.batch->tokens.front().roles);
  }
  return options;
}

}  // namespace

MeasuredBatch::MeasuredBatch(const WorkItem& item, const Model& model, const Compute& compute)
    : model_(model),
      compute_(compute),
      options_(options_of(item, model)),
      effects_(item, compute),
      activations_(item, options_, compute) {}

void MeasuredBatch::watch(const ForwardPass& pass, ForwardObserver& observer) {
  effects_.watch(pass, observer);
  activations_.watch(pass, observer);
}

void MeasuredBatch::add_maps(const LayerMaps& layer) {
  const MaskSpec& mask = model_.spec().layers[static_cast<std::size_t>(layer.layer)].attention.mask;
  options_.causal = mask.causal;
  if (layer.windows.empty()) return measure(layer, mask, layer.maps, layer.grid, {});
  add_windows(layer, mask);
}

void MeasuredBatch::add_windows(const LayerMaps& layer, const MaskSpec& mask) {
  const auto heads = static_cast<std::size_t>(layer.heads);
  for (const std::vector<std::size_t>& group : alike_windows(layer.windows)) {
    std::vector<MatrixView<const float>> maps;
    for (std::size_t first = 0; first < layer.maps.size(); first += layer.windows.size() * heads) {
      for (const std::size_t window : group) {
        const auto own = std::span(layer.maps).subspan(first + window * heads, heads);
        maps.insert(maps.end(), own.begin(), own.end());
      }
    }
    const PatchWindow& window = layer.windows[group.front()];
    measure(layer, mask, maps, window.grid, uniform_regions(window));
  }
}

void MeasuredBatch::measure(const LayerMaps& layer, const MaskSpec& mask,
                            std::span<const MatrixView<const float>> maps,
                            const std::optional<PatchGrid>& grid,
                            std::vector<std::int64_t> regions) {
  options_.grid = grid;
  const MatrixView<const float>& map = maps.front();
  outcomes_.push_back(
      attention_outcome(layer.layer, layer.heads, measure_attention_maps(maps, options_, compute_),
                        {.tokens = map.cols,
                         .mask = mask_of(mask),
                         .queries = options_.across ? std::optional(map.rows) : std::nullopt,
                         .grid = grid,
                         .chosen = options_.queries,
                         .texts = options_.texts,
                         .roles = options_.roles,
                         .regions = std::move(regions)},
                        options_));
}

std::vector<Outcome> MeasuredBatch::take() {
  effects_.add_to(outcomes_);
  activations_.add_to(outcomes_);
  return std::move(outcomes_);
}

}  // namespace attnscope
