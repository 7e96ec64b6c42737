// Attention maps on text: their rank and where their queries look, means over sequences, layer by
// layer and head by head.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct AttentionRequest {
  std::vector<std::vector<TokenIds>> sequences;  // of each model
  /// Of each model: in their place, or of a decoder in place of its sources; all of one shape.
  std::vector<std::vector<MediaInput>> media_inputs = {};
  /// Of each model; none but of decoders and their cross attention: what the encoder runs on for
  /// each of those.
  std::vector<std::vector<TokenIds>> sources = {};
  /// Of each model: which tokens of its sequences count; none: all.
  std::vector<ScoredTokens> scored = {};

  BatchInputs inputs_of(std::size_t model) const;
  Record text;  // what the report says of where they come from
  LayerSelection layers;
  /// What is asked of each map: "energy", the share of ranks and columns, and
  /// "exclude_first_token", whether key 0 is left out of them.
  Record options;
};

/// One pass over a batch of sequences, whose maps are measured as they appear.
const Analysis& attention_analysis();

/// Rows: each layer's heads, then the layer. Throws as ForwardPass does.
void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink);

}  // namespace attnscope
