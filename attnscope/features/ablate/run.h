// Ablates components of a model and measures the effect on its predictions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/interventions/ablation.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Items: one layer on all sequences; each of its components is ablated separately.
const Analysis& ablate_analysis();

/// Models with more heads in total are ablated without heads by default.
inline constexpr std::int64_t kUsualHeads = 200;

struct AblateRequest {
  ScoredTexts texts;
  LayerSelection layers;
  /// all, heads, attention, mixer, mlp, or layers (attention, mixer and mlp). Empty: all, but
  /// without heads if there are more than kUsualHeads.
  std::string parts;
  std::string how = "mean";  // mean, zero, resample
};

/// Rows: per layer its attention, mixer and MLP, then its heads. For an encoder-decoder, each stack
/// is a model of its own, and losses are those of the decoder. A note reports high costs. Throws
/// the errors of check_predicts_tokens() and layers_with_parts(), and Error(usage) if resampling
/// has a single sequence or pairs of different lengths.
void run_ablate(std::span<const Model> models, const AblateRequest& request, const Context& context,
                RowSink& sink);

struct AblatePromptsRequest {
  PromptsRequest prompts;
  LayerSelection layers;
  std::string parts;  // see AblateRequest
  std::string how;    // mean or zero; empty: patch between clean and corrupted prompts
};

/// Rows: as for run_ablate(), with the denoising and noising effects of each component. Throws the
/// errors of check_answers().
void run_ablate_prompts(std::span<const Model> models, const AblatePromptsRequest& request,
                        const Context& context, RowSink& sink);

/// FLOPs of run_ablate() with these components in all layers, for this number and length of
/// windows. `source`: length of each source for an encoder-decoder; otherwise 0.
double ablate_flops(const Model& model, const std::string& parts, std::int64_t windows,
                    std::int64_t length, std::int64_t source);

}  // namespace attnscope
