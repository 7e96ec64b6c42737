// Activation patching: the preferred answer of a model while one component of a layer has its
// activation from another prompt. Wang et al. 2022, "Interpretability in the wild"; Zhang & Nanda
// 2023, "Towards best practices of activation patching".
#pragma once

#include <optional>
#include <vector>

#include "attnscope/interventions/ablation.h"
#include "attnscope/interventions/answer_logits.h"
#include "attnscope/interventions/layer_components.h"

namespace attnscope {

/// logit(correct) − logit(incorrect) after each prompt.
struct PatchEffect {
  PartOfLayer part;
  std::vector<double> destroyed;  // clean prompts, component replaced (noising)
  std::vector<double> restored;   // corrupted prompts, clean activation patched in (denoising)
};

struct LayerPatch {
  std::vector<double> clean, corrupted;  // unmodified model; `corrupted` may be empty
  std::vector<PatchEffect> effects;      // order: attention, mixer, MLP, heads
};

/// Patches each requested component of the layer separately. `how` set: ablates the component on
/// the clean prompts. Not set: patches between clean and corrupted prompts in both directions;
/// corrupted prompts must then be present. Throws like ForwardPass::run().
LayerPatch patch_layer(const ForwardPass& pass, const AnsweredPrompts& prompts, std::int64_t layer,
                       const AskedParts& asked, std::optional<Replacement> how,
                       const Compute& compute);

}  // namespace attnscope
