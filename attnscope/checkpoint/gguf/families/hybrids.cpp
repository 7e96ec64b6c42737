// Decoders whose layers do not all attend.
// Source: ggml-org/llama.cpp, conversion/lfm2.py and conversion/qwen.py.
#include "attnscope/checkpoint/gguf/families/common.h"

namespace attnscope::gguf {
namespace {

using enum Conversion;

/// Layers without kv heads have a short convolution.
GgufFamily lfm2() {
  GgufFamily family = like_qwen2("lfm2", "lfm2");
  drop(family.tensors, {"output_norm"});
  set(family.tensors,
      {{"token_embd_norm", "model.embedding_norm"}, {"output_norm", "model.embedding_norm"}});
  set(family.layer_tensors, {{"attn_norm", "operator_norm"},
                             {"attn_q_norm", "self_attn.q_layernorm"},
                             {"attn_k_norm", "self_attn.k_layernorm"},
                             {"attn_output", "self_attn.out_proj"},
                             {"ffn_norm", "ffn_norm"},
                             {"ffn_gate", "feed_forward.w1"},
                             {"ffn_up", "feed_forward.w3"},
                             {"ffn_down", "feed_forward.w2"},
                             {"shortconv.in_proj", "conv.in_proj"},
                             {"shortconv.conv", "conv.conv", one_channel},
                             {"shortconv.out_proj", "conv.out_proj"}});
  add(family.sizes, {{"shortconv.l_cache", "conv_L_cache"}});
  family.numbers = {{"attention.layer_norm_rms_epsilon", "norm_eps"}};
  // The width of MLPs in the file is what config.json's is adjusted to.
  family.assumed = R"({"block_auto_adjust_ff_dim": false})";
  family.base = 1000000;
  family.kind_without_kv = "conv";
  return family;
}

}  // namespace

std::vector<GgufFamily> hybrid_decoders() { return {lfm2()}; }

}  // namespace attnscope::gguf
