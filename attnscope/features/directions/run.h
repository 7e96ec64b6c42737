// What the leading directions of heads and matrices mean as tokens, from the weights alone.
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

/// By what the input of a layer is named.
enum class InputNames {
  layer,      // of layer 0 by the embedding, of others by that and the first MLP's output
  embedding,  // of all layers by the embedding
  mlp0,       // of all layers by that and the first MLP's output
};

/// On which it is measured whether names hold.
struct ReadTexts {
  std::vector<std::vector<TokenIds>> sequences;  // of each model, all of one length
  std::vector<std::vector<TokenIds>> sources;    // of decoders; else none
  Record parameters;                             // what the report says of where they come from
};

struct DirectionsRequest {
  Role matrix = Role::ov;  // ov, qk, o, up, gate, down
  LayerSelection layers;
  std::optional<std::int64_t> head;  // of ov and qk; none: all
  std::int64_t directions = 3;
  std::int64_t top = 10;  // tokens of each list
  InputNames names = InputNames::layer;
  bool all_tokens = false;  // those that training never saw may name, too
  bool copying = false;     // of ov: whether each head's circuit of tokens copies them
  std::optional<ReadTexts> texts = {};
};

/// What names the input of a layer.
TokenBasis input_basis(InputNames names, std::int64_t layer);

/// What naming the leading directions of all heads' `ov` takes, in operations: random directions
/// and the heads' own against the rows of all tokens, and the first MLP's output of each.
double directions_flops(const Model& model, std::int64_t directions);

/// Rows: of each head or matrix its leading directions, of each direction both poles of both sides
/// that can be named. Throws Error(usage) where no side can.
void run_directions(std::span<const Model> models, const DirectionsRequest& request,
                    const Context& context, RowSink& sink);

}  // namespace attnscope
