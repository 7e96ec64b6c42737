// Attention maps on text: their rank and where their queries look, means over sequences, layer by
// layer and head by head.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/analyses/selection.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/forward/foretold_places.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"

namespace attnscope {

struct AttentionRequest {
  std::vector<std::vector<TokenIds>> sequences;  // of each model
  /// Of each model: in their place, or of a decoder in place of its sources; all of one shape.
  std::vector<std::vector<Signal>> signals = {};
  /// Of each model; none but of decoders and their cross attention: what the encoder runs on for
  /// each of those.
  std::vector<std::vector<TokenIds>> sources = {};
  /// Of each model: which tokens of its sequences count; none: all.
  std::vector<ScoredTokens> scored = {};

  BatchInputs inputs_of(std::size_t model) const;
  Record text;  // what the report says of where they come from
  LayerSelection layers;
  /// What is asked of each map: "energy", the share of ranks and columns, and "without_first",
  /// whether key 0 is left out of them.
  Record options;
};

/// One pass over a batch of sequences, whose maps are measured as they appear.
const Analysis& attention_analysis();

/// Rows: each layer's heads, then the layer. Throws as ForwardPass does.
void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink);

/// Random tokens, then the same again: how much each head looks at what followed a token when it
/// was there before, and at where it was.
struct InductionRequest {
  static constexpr std::int64_t kUsualBlock = 50;

  std::int64_t sequences = 8;
  /// Tokens of each half. None: kUsualBlock, or as many as all models have the context for.
  std::optional<std::int64_t> block = {};
  std::uint64_t seed = 0;
  LayerSelection layers;
};
/// With a block. Throws Error(usage) if that is less than two tokens.
InductionRequest fitted(InductionRequest request, const ReadyModels& ready, std::size_t models);
/// Of a request with a block: ids drawn from the whole vocabulary, by a generator that C++ fixes to
/// the bit.
std::vector<TokenIds> repeated_tokens(const InductionRequest& request, std::int64_t vocabulary);
const Analysis& induction_analysis();
void run_induction(std::span<const Model> models, const InductionRequest& request,
                   const Context& context, RowSink& sink);

}  // namespace attnscope
