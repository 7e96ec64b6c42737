// Top tokens of the singular vectors of heads and matrices, from the weights alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/interventions/candidate_tokens.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Token vectors that describe the input of a layer.
enum class InputNames {
  layer,      // embeddings in layer 0; embeddings plus first MLP's output in other layers
  embedding,  // embeddings in all layers
  mlp0,       // embeddings plus first MLP's output in all layers
};

/// Texts for testing input directions.
struct ReadTexts {
  std::vector<std::vector<TokenIds>> sequences;  // per model, all of the same length
  std::vector<std::vector<TokenIds>> sources;    // for decoders; otherwise empty
  Record parameters;                             // report parameters that describe their source
};

struct DirectionsRequest {
  Role matrix = Role::ov;  // ov, qk, o, up, gate, down
  LayerSelection layers;
  std::optional<std::int64_t> head;  // for ov and qk; empty: all
  std::int64_t directions = 3;
  std::int64_t top = 10;  // number of tokens per list
  InputNames names = InputNames::layer;
  bool all_tokens = false;  // untrained tokens are candidates, too
  bool copying = false;     // ov: also compute token copying scores
  std::optional<ReadTexts> texts = {};
};

/// The token vectors that describe the input of a layer.
TokenBasis input_basis(InputNames names, std::int64_t layer);

/// FLOPs of the top tokens of all heads' `ov`: scores of random and own directions over all tokens,
/// and the first MLP's output for each token.
double directions_flops(const Model& model, std::int64_t directions);

/// Rows: the top singular vectors of each head or matrix, for both signs of each side that tokens
/// can describe. Throws Error(usage) if no side can be described.
void run_directions(std::span<const Model> models, const DirectionsRequest& request,
                    const Context& context, RowSink& sink);

}  // namespace attnscope
