// What readers look up by hand: the facts of a model, and what each of its tensors is.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/model/shared_weights.h"

namespace attnscope {

struct ModelFacts {
  std::string name;
  std::string architecture;
  std::int64_t parameters = 0;            // shared and tied ones once, buffers left out
  std::int64_t attention_parameters = 0;  // weights and biases of Q, K, V, O
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> mlp_width;
  std::optional<std::int64_t> vocabulary;
  std::optional<std::int64_t> context;                   // tokens
  std::string dtype;                                     // that most of the bytes have
  std::uint64_t bytes = 0;                               // on disk
  std::optional<std::int64_t> kv_cache_bytes_per_token;  // at 16 bits; none if not causal
  std::optional<bool> tied_embedding;                    // none without an output head
  bool causal = true;                                    // no token sees one after it
  std::vector<SharedWeights> shared_weights;             // empty: each layer has its own
};

struct TensorFacts {
  std::string name;
  std::string_view dtype;
  Shape shape;  // as stored
  std::uint64_t bytes = 0;
  std::string role;                   // "q", "q+k+v", "q.bias", "norm", "embedding", …, "other"
  std::optional<std::int64_t> layer;  // none where the tensor belongs to none, or to several
  std::optional<std::string> tied_to;
};

struct Inventory {
  ModelFacts facts;
  std::vector<TensorFacts> tensors;  // in the order of the files, then aliases
};

/// A tensor of a model's files that may repeat another one of them.
struct TensorPair {
  const CheckpointTensor* copy = nullptr;
  const CheckpointTensor* original = nullptr;

  bool operator==(const TensorPair&) const = default;
};

/// The pairs of one dtype and shape that some checkpoint of the architecture repeats: an output
/// head beside the embedding, biases under two names. Reads no weights.
std::vector<TensorPair> possible_copies(const Model& model);

/// Those of them that are one parameter by what the architecture and the config say (an output head
/// where the config ties it), whatever their bytes. Reads no weights.
std::vector<TensorPair> declared_copies(const Model& model);

/// Whether both hold the same bytes. Reads all of them: schedule it as work. Throws Error(io) where
/// the file was cut.
bool holds_same_bytes(const Model& model, const TensorPair& pair);

/// `copies` count once. Reads no weights.
Inventory take_inventory(const Model& model, std::span<const TensorPair> copies);

/// What `take_inventory` says of the model with its declared copies. Reads no weights.
ModelFacts model_facts(const Model& model);

}  // namespace attnscope
