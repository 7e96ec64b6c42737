// What `info` says of a model's experts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/model/tied_weights.h"

namespace attnscope {

/// Of models that have experts.
struct ExpertFacts {
  std::int64_t count = 0;              // in each layer that has some
  std::int64_t layers = 0;             // that have some
  std::int64_t width = 0;              // F of one
  std::int64_t shared_width = 0;       // F of those that every token passes
  std::optional<std::int64_t> chosen;  // of a token; none if the forward pass is not described
  std::int64_t active_parameters = 0;  // without the experts that a token does not pass
};

/// `parameters`: of the files; `of_experts`: those of all experts among them. The model has some.
ExpertFacts expert_facts(const Model& model, std::int64_t parameters, std::int64_t of_experts);

// The facts of a model, and the role of each of its tensors.

/// Of multi-head latent attention.
struct LatentFacts {
  std::optional<std::int64_t> query_rank;  // none: queries have no latent
  std::int64_t rank = 0;                   // of the latent of keys and values
  std::int64_t rotary_dim = 0;             // of the key beside it
  /// What the cache would take of each token if it kept the keys and values of all heads.
  std::int64_t kv_cache_bytes_of_heads = 0;
};

struct ModelFacts {
  std::string name;
  std::string stack;  // see Model::stack()
  std::string architecture;
  std::int64_t parameters = 0;            // shared and tied ones counted once; no buffers
  std::int64_t attention_parameters = 0;  // weights and biases of Q, K, V, O
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> mlp_width;
  std::optional<std::int64_t> vocabulary;
  std::optional<std::int64_t> context;                   // tokens
  std::string dtype;                                     // the dtype of most bytes
  std::uint64_t bytes = 0;                               // of the files, with all their stacks
  std::optional<std::int64_t> kv_cache_bytes_per_token;  // at 16 bits; none if not causal
  std::optional<bool> tied_embedding;                    // none without an output head over tokens
  bool causal = true;                                    // no token sees one after it
  bool rotary = false;                                   // positions turn queries and keys
  std::optional<ExpertFacts> experts;
  std::vector<std::int64_t> attention_layers;  // where some do not attend; empty: all do
  std::string mixer;                           // what stands in their place, or beside attention
  std::optional<LatentFacts> latent;           // none: W_Q, W_K and W_V are stored
  std::vector<SharedWeights> shared_weights;   // empty: each layer has its own
};

struct TensorFacts {
  std::string name;
  std::string_view dtype;
  Shape shape;  // as stored
  std::uint64_t bytes = 0;
  std::string role;                   // "q", "q+k+v", "q.bias", "norm", "embedding", …, "other"
  std::optional<std::int64_t> layer;  // none if the tensor belongs to no layer, or to several
  std::optional<std::string> tied_to;
  std::optional<std::int64_t> expert;  // none if the tensor is not one expert's
};

struct Inventory {
  ModelFacts facts;
  std::vector<TensorFacts> tensors;  // in the order of the files, then aliases
};

/// Two tensors of a model's files, one of which may repeat the other.
struct TensorPair {
  const CheckpointTensor* copy = nullptr;
  const CheckpointTensor* original = nullptr;

  bool operator==(const TensorPair&) const = default;
};

/// Pairs of equal dtype and shape that may be repetitions in this architecture: an output head
/// beside the embedding, biases under two names. Reads no weights.
std::vector<TensorPair> possible_copies(const Model& model);

/// The possible copies that architecture and config declare to be one parameter (an output head
/// that the config ties), whatever their bytes. Reads no weights.
std::vector<TensorPair> declared_copies(const Model& model);

/// Whether both hold the same bytes. Reads all bytes, so schedule it as work. Throws Error(io) if
/// the file was truncated.
bool holds_same_bytes(const Model& model, const TensorPair& pair);

/// Counts each pair of `copies` once. Reads no weights.
Inventory take_inventory(const Model& model, std::span<const TensorPair> copies);

/// The facts by take_inventory() with the model's declared copies. Reads no weights.
ModelFacts model_facts(const Model& model);

}  // namespace attnscope
