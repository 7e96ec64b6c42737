// Measures of attention maps on text: energy rank and attended positions, as means over sequences
// per layer and head.
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
  std::vector<std::vector<TokenIds>> sequences;  // per model
  /// Per model: replace the sequences, or the sources of a decoder; all of the same shape.
  std::vector<std::vector<MediaInput>> media_inputs = {};
  /// Per model: the encoder input of each sequence. Empty except for decoders and their
  /// cross-attention.
  std::vector<std::vector<TokenIds>> sources = {};
  /// Per model: which tokens count; empty: all.
  std::vector<ScoredTokens> scored = {};

  BatchInputs inputs_of(std::size_t model) const;
  Record text;  // report parameters that describe their source
  LayerSelection layers;
  /// Options: "energy", the threshold of ranks and columns, and "exclude_first_token", whether to
  /// exclude key 0 from them.
  Record options;
};

/// Items: one pass over a batch of sequences, whose maps are measured as they are computed.
const Analysis& attention_analysis();

/// Rows: each layer's heads, then the layer. Throws the errors of ForwardPass.
void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink);

}  // namespace attnscope
