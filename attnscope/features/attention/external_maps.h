// Attention maps passed in by a program: removes padding from its arrays and checks them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Maps of some sequences from one layer, after softmax.
struct UserMaps {
  std::size_t model = 0;  // index of a model added to LiveAttention
  std::int64_t layer = 0;
  std::string name;                   // name of the layer, for errors
  TensorView maps;                    // (N, H, T, S), a real dtype, in memory
  std::shared_ptr<const void> owner;  // keeps the memory alive
  bool cross = false;                 // cross-attention: keys belong to another text
  bool sinks = false;                 // learned sinks: weights may sum to less than 1
  std::vector<std::vector<std::int64_t>> queries, keys;  // per sequence: see kept()

  std::int64_t sequences() const { return maps.shape[0]; }
  std::int64_t heads() const { return maps.shape[1]; }

  /// The positions of a sequence's tokens without padding, in ascending order. Empty lists: there
  /// is no padding.
  std::int64_t query_count(std::int64_t sequence) const;
  std::int64_t key_count(std::int64_t sequence) const;
};

/// The keys that any head of any sequence attended to, which the mask must have allowed.
struct SeenKeys {
  std::int64_t before = 0, after = 0;  // largest distance from the query, in tokens
  /// For chunked attention: no attention crosses the borders of chunks of before + 1 tokens.
  bool crosses_chunks = false;

  void add(const SeenKeys& other);
  AttentionMask mask(std::int64_t tokens) const;
};

/// Maps of some heads of one sequence in float32: views of the given memory if possible, otherwise
/// decoded.
struct FloatMaps {
  std::vector<MatrixView<const float>> maps;
  std::vector<Matrix<float>> decoded;
  SeenKeys seen;
};

/// The heads [first, first + count) of a sequence. Throws Error(numerical) with layer, sequence,
/// head and query if a weight is not finite or negative. Also throws it if the weights of a query
/// do not sum to 1 within the rounding of their dtype.
FloatMaps float_maps(const UserMaps& user_maps, std::int64_t sequence, std::int64_t first,
                     std::int64_t count, const Compute& compute);

// Computes the measures of attention maps that the user supplies.

/// Returns an attention_outcome() for each run of sequences of equal length, in order, with the
/// flag `causal` of the layer. `options`: energy and exclude_first_token. The baseline is uniform
/// attention over all keys that any head attended to. Throws the errors of head_maps().
std::vector<Outcome> measure_user_maps(const UserMaps& user_maps, AttentionMapOptions options,
                                       const Compute& compute);

}  // namespace attnscope
