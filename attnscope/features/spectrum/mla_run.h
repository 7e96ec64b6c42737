// `spectrum --mla`: energy that multi-head latent attention with DeepSeek-V2's ranks would keep.
#pragma once

#include <span>

#include "attnscope/features/spectrum/run.h"

namespace attnscope {

/// Latent sizes of DeepSeek-V2. Source: arXiv 2405.04434, section 3.1.2.
struct MlaChoice {
  std::int64_t width = 5120;
  std::int64_t query_rank = 1536;
  std::int64_t kv_rank = 512;  // of the cached latent of keys and values
  std::int64_t rope_dim = 64;  // of the shared rotary key, also cached
};

/// Each item yields half of a row: energies of W_Q, or of W_K stacked on W_V.
const Analysis& mla_analysis();

/// One row per layer, for W_Q (`query`) and stacked W_K, W_V (`kv`). It has the energy kept at
/// DeepSeek-V2's rank, unscaled and scaled to the model's hidden size, and the energy ranks. Uses
/// the request's layers and thresholds. The model's metadata gets the KV cache size, null for
/// models that are not causal.
void run_mla(std::span<const Model> models, const SpectrumRequest& request, const Context& context,
             RowSink& sink);

}  // namespace attnscope
