// What each layer would foretell: means over texts, and token by token of one text.
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

/// A batch of sequences through the model, each state of its stream read.
const Analysis& lens_analysis();

struct LensRequest {
  ScoredTexts texts;
  bool middles = false;  // states within layers too
};

/// Rows: each state, from the first layer to the last, of an encoder-decoder those of its decoder.
/// Throws as check_predicts_tokens().
void run_lens(std::span<const Model> models, const LensRequest& request, const Context& context,
              RowSink& sink);

struct LensGridRequest {
  std::vector<Prompt> prompts;  // of each model; of an encoder-decoder with the whole target
  Record text;
  bool middles = false;
  std::int64_t top = 1;  // so many of the likeliest tokens of each place
};

/// Rows: each state at each token of one text. What run_lens() would say of it goes to the facts of
/// its model; of a model that sees texts both ways, without losses. Throws as run_lens().
void run_lens_grid(std::span<const Model> models, const LensGridRequest& request,
                   const Context& context, RowSink& sink);

struct LensPromptsRequest {
  PromptsRequest prompts;
  bool middles = false;
};

/// Rows: each state, with how much it prefers the right answers to the wrong ones. Throws as
/// check_answers().
void run_lens_prompts(std::span<const Model> models, const LensPromptsRequest& request,
                      const Context& context, RowSink& sink);

}  // namespace attnscope
