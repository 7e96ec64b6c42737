// `spectrum` with `mla`: what multi-head latent attention with DeepSeek-V2's ranks would keep of a
// model.
#pragma once

#include <span>

#include "attnscope/features/spectrum/run.h"

namespace attnscope {

/// DeepSeek-V2's choice. Source: arXiv 2405.04434, section 3.1.2.
struct MlaChoice {
  std::int64_t width = 5120;
  std::int64_t query_rank = 1536;
  std::int64_t kv_rank = 512;  // of keys and values together: what is cached
  std::int64_t rope_dim = 64;  // of the one rotary key beside it, cached too
};

/// An item gives a half of a row: the energies of W_Q, or those of W_K stacked on W_V.
const Analysis& mla_analysis();

/// One row for each layer: for W_Q (`query`) and for W_K over W_V (`kv`) the energy kept at the
/// choice's rank, as it is and at the same share of the model's width, and the ranks that the
/// thresholds among the options need. Uses the request's layers and thresholds. A model's entry
/// also says the bytes that its KV cache would take, null for models that are not causal.
void run_mla(std::span<const Model> models, const SpectrumRequest& request, const Context& context,
             RowSink& sink);

}  // namespace attnscope
