// What the parts of a model are worth to what it foretells: each is replaced while the model runs.
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

/// One layer on all sequences: each of its parts replaced, alone.
const Analysis& ablate_analysis();

/// Beyond so many heads in all, they are left out unless they are asked for.
inline constexpr std::int64_t kUsualHeads = 200;

struct AblateRequest {
  ScoredTexts texts;
  LayerSelection layers;
  /// As of parts_named(). Empty: all, without heads if there are more than kUsualHeads.
  std::string parts;
  std::string how = "mean";  // mean, zero, resample
};

/// Rows: of each layer its attention and MLP, then its heads; of an encoder-decoder those of each
/// of its stacks, which are models of their own: what its decoder foretells. A note says what it
/// will cost. Throws as check_predicts_tokens(), and Error(usage) where one sequence is to be
/// resampled, or pairs that differ in length.
void run_ablate(std::span<const Model> models, const AblateRequest& request, const Context& context,
                RowSink& sink);

struct AblatePromptsRequest {
  PromptsRequest prompts;
  LayerSelection layers;
  std::string parts;  // as of AblateRequest
  std::string how;    // mean, zero; empty: what they give after corrupted prompts, which there are
};

/// Rows: as of run_ablate(), with the share of the preference for the right answers that each part
/// restores or destroys. Throws as check_answers().
void run_ablate_prompts(std::span<const Model> models, const AblatePromptsRequest& request,
                        const Context& context, RowSink& sink);

/// Arithmetic of run_ablate() with these parts on so many windows of so many tokens, in all layers.
/// `source`: tokens of the source of each, of an encoder-decoder; else 0.
double ablate_flops(const Model& model, const std::string& parts, std::int64_t windows,
                    std::int64_t length, std::int64_t source);

}  // namespace attnscope
