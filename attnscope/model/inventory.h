// What readers look up by hand: the facts of a model, and what each of its tensors is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/model/model.h"

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
  std::optional<std::int64_t> kv_cache_bytes_per_token;  // at 16 bits; none for encoders
  std::optional<bool> tied_embedding;                    // none without an output head
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

/// Reads no weights, but for the bytes of an output head that may repeat the embedding.
Inventory take_inventory(const Model& model);

}  // namespace attnscope
