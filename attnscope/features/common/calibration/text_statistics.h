// Statistics of a calibration text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/features/common/calibration/second_moments.h"
#include "attnscope/features/common/resume_files.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/tensor/dtype.h"

namespace attnscope {

/// The statistics that a compression method is calibrated on: see Calibration.
struct TextStatistics {
  /// Moments of the input of a layer's projection. Valid until the next call.
  std::function<const SecondMoments&(std::int64_t layer, Role projection)> moments;
  /// The same for stack_of_same_width().
  std::function<const SecondMoments&(std::int64_t layer, Role projection)> moments_of_other_stack;
  /// Runs the whole text once more, with an observer for every batch.
  std::function<void(const ForwardObserver&)> rerun;
  double ridge = 0.01;  // low-rank: share of the mean second moment that is added to each
  std::optional<DType> dtype = std::nullopt;  // dtype of new weights: see ChangedModel
  std::uint64_t work_bytes = 0;  // for results computed from moments, in addition to the moments
  /// Cache of finished layers; null: none.
  FinishedLayers* finished = nullptr;
};

/// The other stack of an encoder-decoder whose config has a single MLP width for both, so that
/// method mlp changes both; null if there is none.
const Model* stack_of_same_width(const Model& model);

/// Projections of the layer that are stored and can be replaced.
std::vector<Role> stored_projections(const Model& model, std::int64_t layer);

}  // namespace attnscope
