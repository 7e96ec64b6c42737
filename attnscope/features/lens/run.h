// Logit lens: means over texts, or one text token by token.
#pragma once

#include <span>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Each item runs a batch of sequences and decodes each residual-stream state.
const Analysis& lens_analysis();

/// States that are decoded, see LensChoice.
struct LensStates {
  bool middles = false, attn_out = false, mlp_out = false;
  std::string tuned_lens = {};  // folder of a tuned lens; empty: logit lens
};

struct LensRequest {
  ScoredTexts texts;
  LensStates states;
};

/// Rows: each state, from the first layer to the last; for an encoder-decoder, the states of its
/// decoder. Throws as check_predicts_tokens().
void run_lens(std::span<const Model> models, const LensRequest& request, const Context& context,
              RowSink& sink);

struct LensGridRequest {
  std::vector<Prompt> prompts;  // per model; for an encoder-decoder with the whole target
  Record text;
  LensStates states;
  std::int64_t top = 1;  // number of top tokens per position
};

/// Rows: each state at each token of one text. The means that run_lens() reports are added to the
/// model's metadata; for bidirectional models without losses. Throws as run_lens().
void run_lens_grid(std::span<const Model> models, const LensGridRequest& request,
                   const Context& context, RowSink& sink);

struct LensPromptsRequest {
  PromptsRequest prompts;
  LensStates states;
};

/// Rows: each state, with its preference for the correct over the incorrect answers. Throws as
/// check_answers().
void run_lens_prompts(std::span<const Model> models, const LensPromptsRequest& request,
                      const Context& context, RowSink& sink);

}  // namespace attnscope
