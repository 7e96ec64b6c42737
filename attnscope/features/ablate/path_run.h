// `ablate --prompts --sender`: path patching from heads to the inputs of later heads or the logits.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/ablate/patching_run.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// sender, through_mlps, freeze_norms.
Parameters path_parameters();

struct PathPatchingRequest {
  PromptsRequest prompts;
  std::string senders;               // heads, "each-layer" or "each-head"
  LayerSelection layers;             // of each-layer and each-head
  std::vector<HeadInput> receivers;  // empty: all heads of each later layer, and the logits
  bool through_mlps = false;
  bool freeze_norms = false;
  std::string metric;  // of metric_names()
  PatchDirections directions;
  const ScorePositions* scored = nullptr;
};

/// Reads the options. `scored` must outlive the request.
PathPatchingRequest path_request(const Arguments& arguments, PromptsRequest prompts,
                                 const ScorePositions& scored);

/// Rows: per set of senders each target: one input (q, k, v) of the heads of a layer, or the
/// logits. Throws the errors of check_answers() and check_frozen_norms(), and Error(usage) for
/// heads that the model does not have, for receivers that are not after a sender, and without
/// corrupted prompts.
void run_path_patching(std::span<const Model> models, const PathPatchingRequest& request,
                       const Context& context, RowSink& sink);

}  // namespace attnscope
