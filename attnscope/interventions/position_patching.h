// Activation patching at single positions: the answers of a model while one activation of a layer
// has its value from another prompt at some tokens. Meng et al. 2022, "Locating and editing factual
// associations in GPT"; Wang et al. 2022, "Interpretability in the wild"; Zhang & Nanda 2023,
// "Towards best practices of activation patching".
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/interventions/patched_parts.h"
#include "attnscope/interventions/prompt_scores.h"

namespace attnscope {

/// The tokens of each prompt at which an activation is patched together.
using PatchedPlace = std::vector<Positions>;

struct PatchDirections {
  bool denoising = true;  // corrupted prompts, clean activation patched in
  bool noising = true;    // clean prompts, corrupted activation patched in
};

struct PositionPatchRequest {
  std::int64_t layer = 0;
  std::vector<PatchedPart> parts;  // of patched_parts()
  std::vector<PatchedPlace> places;
  PromptMeasure measure;
  PatchDirections directions;
};

/// Mean of the measure over the scored rows of each prompt. Empty: direction not requested.
struct PositionPatchEffect {
  std::vector<double> denoised, noised;
};

struct PositionPatch {
  std::vector<double> clean, corrupted;      // unmodified model, per prompt
  std::vector<PositionPatchEffect> effects;  // of each place of part 0, then of part 1, …
};

/// Patches each activation of the layer at each place separately. Clean and corrupted prompts have
/// the same lengths. Layers below the patch, and tokens before it, are not run again. Where both
/// activations are equal, the result is that of the unmodified run. Throws like ForwardPass::run().
PositionPatch patch_positions(const ForwardPass& pass, const AnsweredPrompts& prompts,
                              const PositionPatchRequest& request, const Compute& compute);

/// Returns the FLOPs relative to one run of all prompts through all layers, and the peak memory in
/// bytes of patch_positions() for one layer.
double position_patch_runs(const ForwardPass& pass, const AnsweredPrompts& prompts,
                           const PositionPatchRequest& request);
std::uint64_t position_patch_bytes(const ForwardPass& pass, const AnsweredPrompts& prompts,
                                   const PositionPatchRequest& request);

}  // namespace attnscope
