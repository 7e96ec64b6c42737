// Everything that `attention` measures on a batch of sequences while it runs.
#pragma once

#include <vector>

#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/attention/activations_of_batch.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

class MeasuredBatch {
 public:
  /// The arguments must outlive this object.
  MeasuredBatch(const WorkItem& item, const Model& model, const Compute& compute);
  MeasuredBatch(const MeasuredBatch&) = delete;
  MeasuredBatch& operator=(const MeasuredBatch&) = delete;

  /// Adds observers for everything except the maps.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Measures the maps of one of the item's layers, in ascending order.
  void add_maps(const LayerMaps& layer);
  std::vector<Outcome> take();

 private:
  void add_windows(const LayerMaps& layer, const MaskSpec& mask);
  void measure(const LayerMaps& layer, const MaskSpec& mask,
               std::span<const MatrixView<const float>> maps, const std::optional<PatchGrid>& grid,
               std::vector<std::int64_t> regions);

  const Model& model_;
  const Compute& compute_;
  AttentionMapOptions options_;
  std::vector<Outcome> outcomes_;
  AttendedTokenEffects effects_;
  ActivationsOfBatch activations_;
};

}  // namespace attnscope
