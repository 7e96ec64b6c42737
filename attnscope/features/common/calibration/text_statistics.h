// What models are fitted to: statistics of a calibration text.
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

/// What a method of compression is fitted to: a calibration text, as the model reads it
/// (calibration.h).
struct TextStatistics {
  /// Of what a projection of a layer reads. Valid until the next call.
  std::function<const SecondMoments&(std::int64_t layer, Role projection)> moments;
  /// The same of stack_of_same_width().
  std::function<const SecondMoments&(std::int64_t layer, Role projection)> moments_of_other_stack;
  /// Runs the whole text once more and shows it to an observer, batch after batch.
  std::function<void(const ForwardObserver&)> rerun;
  double ridge = 0.01;  // of low_rank: share of the mean second moment that is added to each
  std::optional<DType> dtype = std::nullopt;  // of what is made: see ChangedModel
  std::uint64_t work_bytes = 0;               // for what is made of moments, beside them
  /// Where layers that are made are kept, and taken from; null: nowhere.
  FinishedLayers* finished = nullptr;
};

/// The other stack of an encoder-decoder whose config has one width for the MLPs of both, which mlp
/// changes together; null if there is none.
const Model* stack_of_same_width(const Model& model);

/// Projections of the layer that the files hold and that can be given other numbers.
std::vector<Role> stored_projections(const Model& model, std::int64_t layer);

}  // namespace attnscope
