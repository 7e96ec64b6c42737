// Attention maps themselves: one head's map on one text, row by row.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// One sequence, and its tokens as people read them; none where the model has no tokenizer.
struct ShownTokens {
  std::vector<TokenIds> ids;  // one, or none of a model that reads no tokens
  std::vector<std::string> texts = {};
  std::vector<TokenIds> source = {};  // likewise, of a decoder: what its encoder runs on
  std::vector<std::string> source_texts = {};
  std::vector<MediaInput> media_input = {};  // what is run in place of one of these

  BatchInputs inputs() const {
    return {.tokens = ids, .media_inputs = media_input, .sources = source};
  }
};

struct AttentionMapRequest {
  HeadIndex place;                  // a negative layer counts from the end
  std::vector<ShownTokens> tokens;  // of each model
  Record text;                      // what the report says of where they come from
  bool log_scale = false;           // of the drawing that tables make of it
};

/// A row for each query: the weights that it gives to the keys. Throws Error(usage) where a model
/// has no such layer or head, and as ForwardPass does.
void run_attention_map(std::span<const Model> models, const AttentionMapRequest& request,
                       const Context& context, RowSink& sink);

}  // namespace attnscope
