// `ablate --prompts` with positions or a metric: activation patching between clean and corrupted
// prompts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/ablate/patching_options.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct PatchingRequest {
  PromptsRequest prompts;
  LayerSelection layers;
  std::vector<std::string> components;  // see --components; empty: the default
  std::string positions;                // all, each, or a list of positions
  std::string metric;                   // of metric_names()
  PatchDirections directions;
  const ScorePositions* scored = nullptr;
};

/// "both", "denoising" or "noising".
std::string patching_name(const PatchDirections& directions);

/// Reads the options of `ablate --prompts`. `prompts` and `scored` must outlive the request.
PatchingRequest patching_request(const Arguments& arguments, PromptsRequest prompts,
                                 const ScorePositions& scored);

/// Rows: per layer each component, and per component each position. Throws the errors of
/// check_answers() and patched_places(), and Error(usage) without corrupted prompts.
void run_patching(std::span<const Model> models, const PatchingRequest& request,
                  const Context& context, RowSink& sink);

}  // namespace attnscope
