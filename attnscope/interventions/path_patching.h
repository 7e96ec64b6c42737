// Path patching: the answers of a model while some heads reach only chosen inputs of later heads,
// or the logits, with their output on another prompt. Wang et al. 2022, "Interpretability in the
// wild"; Goldowsky-Dill et al. 2023, "Localizing model behavior with path patching".
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/base/head_index.h"
#include "attnscope/interventions/position_patching.h"

namespace attnscope {

/// Queries of a head, or keys or values of a key/value head.
struct PathReceiver {
  std::int64_t layer = 0, head = 0;
  PatchedKind input = PatchedKind::q;

  bool operator==(const PathReceiver&) const = default;
};

/// Receivers that are patched together. Empty: the logits.
using PathTarget = std::vector<PathReceiver>;

struct PathRequest {
  std::vector<HeadIndex> senders;   // patched together
  std::vector<PathTarget> targets;  // patched separately
  bool through_mlps = false;        // recompute MLPs between senders and receivers
  bool freeze_norms = false;        // fix the scale of the norm before the receivers
  PromptMeasure measure;
  PatchDirections directions;
};

struct PathPatch {
  std::vector<double> clean, corrupted;      // unmodified model, per prompt
  std::vector<PositionPatchEffect> effects;  // of each target
};

/// Throws Error(unsupported) if `freeze_norms` is not possible in the model.
void check_frozen_norms(const ForwardPass& pass);

/// The base run is clean (noising) or corrupted (denoising). In a second run, the senders have
/// their output in the other run, all other heads, mixers and MLPs that of the base run. This gives
/// the inputs of the receivers. In a third run, which starts from the base run, the receivers have
/// these inputs, and everything after them is recomputed. Throws like ForwardPass::run().
PathPatch patch_paths(const ForwardPass& pass, const AnsweredPrompts& prompts,
                      const PathRequest& request, const Compute& compute);

}  // namespace attnscope
