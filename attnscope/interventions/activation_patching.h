// Which answer a model prefers when a part of one layer is as it was on another prompt: activation
// patching. Wang et al. 2022, "Interpretability in the wild"; Zhang & Nanda 2023, "Towards best
// practices of activation patching".
#pragma once

#include <optional>
#include <vector>

#include "attnscope/interventions/ablation.h"
#include "attnscope/interventions/answer_logits.h"
#include "attnscope/interventions/layer_components.h"

namespace attnscope {

/// logit(right) − logit(wrong) after each prompt.
struct PatchEffect {
  PartOfLayer part;
  std::vector<double> destroyed;  // of the clean prompts with the part replaced
  std::vector<double> restored;   // of the corrupted ones with it as it was on the clean ones
};

struct LayerPatch {
  std::vector<double> clean, corrupted;  // with nothing replaced; none without corrupted prompts
  std::vector<PatchEffect> effects;      // attention, MLP, then heads
};

/// Each part of the layer that is asked for and there is, alone. `how`: what replaces parts of the
/// clean prompts; none: what they give on the corrupted ones, which then are there and get the
/// clean ones' in turn. Throws as ForwardPass::run().
LayerPatch patch_layer(const ForwardPass& pass, const AnsweredPrompts& prompts, std::int64_t layer,
                       const AskedParts& asked, std::optional<Replacement> how,
                       const Compute& compute);

}  // namespace attnscope
