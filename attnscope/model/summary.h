// Sizes, parameters and KV cache of a model for `info` and reports, and the role of each tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/model.h"
#include "attnscope/model/tied_weights.h"

namespace attnscope {

/// Mixture-of-experts models.
struct ExpertSummary {
  std::int64_t count = 0;              // routed experts per MoE layer
  std::int64_t layers = 0;             // MoE layers
  std::int64_t width = 0;              // F of one routed expert
  std::int64_t shared_width = 0;       // F of the shared experts together
  std::optional<std::int64_t> chosen;  // per token; none if the forward pass is not described
  std::int64_t active_parameters = 0;  // active parameters per token
};

/// Multi-head latent attention (MLA).
struct MlaSummary {
  std::optional<std::int64_t> query_rank;  // none: queries have no latent
  std::int64_t rank = 0;                   // of the KV latent
  std::int64_t rotary_dim = 0;             // dimension of the rotary key that all heads share
  /// Bytes per token of a KV cache that stores the keys and values of all heads instead.
  std::int64_t kv_cache_bytes_of_heads = 0;
};

struct ModelSummary {
  std::string name;
  std::string stack;  // see Model::stack()
  std::string architecture;
  std::int64_t parameters = 0;            // shared and tied tensors counted once; no buffers
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
  std::uint64_t bytes = 0;                               // size of the files, with all stacks
  std::optional<std::int64_t> kv_cache_bytes_per_token;  // at 16 bits; none if not causal
  std::optional<bool> tied_embedding;                    // none without logits over tokens
  bool causal = true;                                    // no token attends to a later one
  bool rotary = false;                                   // some layers have RoPE
  std::optional<ExpertSummary> experts;
  std::vector<std::int64_t> attention_layers;  // empty: all layers have attention
  std::string mixer;                           // mixers instead of attention, or next to it
  std::optional<MlaSummary> mla;               // none: W_Q, W_K and W_V are stored
  std::vector<SharedWeights> shared_weights;   // empty: each layer has its own weights
};

struct TensorSummary {
  std::string name;
  std::string_view dtype;
  Shape shape;  // as stored
  std::uint64_t bytes = 0;
  std::string role;                   // "q", "q+k+v", "q.bias", "norm", "embedding", …, "other"
  std::optional<std::int64_t> layer;  // none if the tensor belongs to no layer, or to several
  std::optional<std::string> tied_to;
  std::optional<std::int64_t> expert;  // none unless the tensor belongs to one expert
};

struct Inventory {
  ModelSummary summary;
  std::vector<TensorSummary> tensors;  // in the order of the files, then aliases
};

/// Returns the size of the KV cache of a decoder with these sizes, at 16 bits. It contains keys and
/// values of every layer with attention. MLA stores the KV latent and the rotary key that all heads
/// share.
std::int64_t kv_cache_bytes_per_token(const Dimensions& dimensions);

/// The same if layers differ. Layers that reuse an earlier layer's keys and values store none.
std::int64_t kv_cache_bytes_per_token(const ModelSpec& spec);

/// Counts each pair of `copies` once. Reads no weights.
Inventory take_inventory(const Model& model, std::span<const TensorPair> copies);

/// Returns the summary of take_inventory() with the model's declared copies. Reads no weights.
ModelSummary summarize(const Model& model);

}  // namespace attnscope
