// The attention map of one head on one text, row by row.
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

/// A sequence and the texts of its tokens; no texts if the model has no tokenizer.
struct ShownTokens {
  std::vector<TokenIds> ids;  // one; empty for models that do not take tokens
  std::vector<std::string> texts = {};
  std::vector<TokenIds> source = {};  // for a decoder: one source
  std::vector<std::string> source_texts = {};
  std::vector<MediaInput> media_input = {};  // replaces `ids` or `source`

  BatchInputs inputs() const {
    return {.tokens = ids, .media_inputs = media_input, .sources = source};
  }
};

struct AttentionMapRequest {
  HeadIndex place;                  // a negative layer counts from the end
  std::vector<ShownTokens> tokens;  // per model
  Record text;                      // report parameters that describe their source
  bool log_scale = false;           // of the heatmap in tables
};

/// Rows: the attention of each query to the keys. Throws Error(usage) if a model has no such layer
/// or head, and the errors of ForwardPass.
void run_attention_map(std::span<const Model> models, const AttentionMapRequest& request,
                       const Context& context, RowSink& sink);

}  // namespace attnscope
