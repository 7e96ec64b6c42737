// Ablation of classifiers: the logits of labels while one component of a layer is replaced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/interventions/ablation.h"

namespace attnscope {

/// The logits of one text's labels.
using LabelLogits = std::vector<float>;

struct LabelEffect {
  PartOfLayer part;
  std::vector<LabelLogits> logits;  // per text, component replaced
};

struct LayerLabelEffects {
  std::vector<LabelLogits> clean;    // per text, unmodified model
  std::vector<LabelEffect> effects;  // order: attention, mixer, MLP, heads
};

/// Ablates each requested component of the layer separately. Requires a sequence classifier. Throws
/// like ForwardPass::run() and ForwardPass::label_logits().
LayerLabelEffects ablate_labels(const ForwardPass& pass, std::span<const TokenIds> texts,
                                std::int64_t layer, const AskedParts& asked, Replacement how,
                                const Compute& compute);

}  // namespace attnscope
