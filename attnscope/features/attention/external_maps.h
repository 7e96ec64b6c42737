// Attention maps that a program gives: cut from its arrays without padding, and checked.
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

/// The maps of some sequences from one layer, after softmax.
struct UserMaps {
  std::size_t model = 0;  // which of those that LiveAttention was told of
  std::int64_t layer = 0;
  std::string name;                   // of the layer, in errors
  TensorView maps;                    // (N, H, T, S), of class real, with addresses
  std::shared_ptr<const void> owner;  // keeps their memory
  bool cross = false;                 // keys are of another text than queries
  bool sinks = false;                 // a query may leave some of its weight to no key
  std::vector<std::vector<std::int64_t>> queries, keys;  // of each sequence: see kept()

  std::int64_t sequences() const { return maps.shape[0]; }
  std::int64_t heads() const { return maps.shape[1]; }

  /// The places of a sequence's tokens, ascending; those of padding are left out. Empty lists:
  /// there is no padding.
  std::int64_t query_count(std::int64_t sequence) const;
  std::int64_t key_count(std::int64_t sequence) const;
};

/// Which keys were looked at, by any head of any sequence: what their mask must have let through.
struct SeenKeys {
  std::int64_t before = 0, after = 0;  // the farthest of the query, in tokens
  /// Of layers whose runs of before + 1 tokens see only each other no weight crosses their borders.
  bool crosses_chunks = false;

  void add(const SeenKeys& other);
  AttentionMask mask(std::int64_t tokens) const;
};

/// Some heads' maps of one sequence in float32: read where they lie, where that can be, or else
/// decoded.
struct FloatMaps {
  std::vector<MatrixView<const float>> maps;
  std::vector<Matrix<float>> decoded;
  SeenKeys seen;
};

/// Heads [first, first + count) of a sequence. Throws Error(numerical) that names layer, sequence,
/// head and query where a weight is not finite or negative, or where a query's weights do not sum
/// to 1 within the rounding of their type.
FloatMaps float_maps(const UserMaps& user_maps, std::int64_t sequence, std::int64_t first,
                     std::int64_t count, const Compute& compute);

// From maps that a program gives to what they say.

/// An attention_outcome() for each run of sequences of one length, in their order, with whether the
/// layer is `causal`. `options`: energy and exclude_first_token. The null that stands beside the
/// measures is of even attention over the keys that some head looked at. Throws as head_maps()
/// does.
std::vector<Outcome> measure_user_maps(const UserMaps& user_maps, AttentionMapOptions options,
                                       const Compute& compute);

}  // namespace attnscope
