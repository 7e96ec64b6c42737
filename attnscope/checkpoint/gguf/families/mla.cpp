// DeepSeek and other models with MLA. In GGUF, the key and value sizes are those of a single head
// of the latent's size. The true sizes have separate metadata keys.
#include "attnscope/checkpoint/gguf/families/name_tables.h"

namespace attnscope::gguf {
namespace {

GgufFamily deepseek2(std::string_view model_type) {
  GgufFamily family = like_qwen2("deepseek2", model_type);
  drop(family.layer_tensors, {"attn_k", "attn_v"});
  set(family.layer_tensors,
      {{"attn_q_a", "self_attn.q_a_proj"},
       {"attn_q_a_norm", "self_attn.q_a_layernorm"},
       {"attn_q_b", "self_attn.q_b_proj"},
       {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
       {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
       {"attn_kv_b", "self_attn.kv_b_proj"},
       {"ffn_gate_inp", "mlp.gate"},
       {.gguf = "exp_probs_b", .transformers = "mlp.gate.e_score_correction_bias", .bare = true}});
  set(family.layer_tensors, expert_names("mlp"));
  set(family.layer_tensors, shared_expert_names("mlp.shared_experts"));
  set(family.layer_tensors, draft_names());
  family.joins = {{.transformers = "self_attn.kv_b_proj.weight",
                   .first = "attn_k_b.weight",
                   .second = "attn_v_b.weight",
                   .order = GgufJoin::Order::heads}};
  family.sizes = sizes_with({{"expert_count", "n_routed_experts"},
                             {"expert_used_count", "num_experts_per_tok"},
                             {"expert_feed_forward_length", "moe_intermediate_size"},
                             {"expert_group_count", "n_group"},
                             {"expert_group_used_count", "topk_group"},
                             {"attention.q_lora_rank", "q_lora_rank"},
                             {"attention.kv_lora_rank", "kv_lora_rank"}});
  family.counts = {{"expert_shared_count", "n_shared_experts"},
                   {"leading_dense_block_count", "first_k_dense_replace"}};
  family.numbers.push_back({"expert_weights_scale", "routed_scaling_factor"});
  family.flags = {{"expert_weights_norm", "norm_topk_prob"}};
  family.assumed =
      R"({"q_lora_rank": null, "norm_topk_prob": false, "routed_scaling_factor": 1.0})";
  family.mla = true;
  family.published_groups = true;
  return family;
}

GgufFamily deepseek_v3() {
  GgufFamily family = deepseek2("deepseek_v3");
  family.only_if = {.key = "deepseek2.expert_gating_func", .value = "2"};  // sigmoid
  return family;
}

GgufFamily minicpm3() {
  GgufFamily family = deepseek2("minicpm3");
  family.name = "minicpm3";
  family.sizes =
      sizes_with({{"attention.q_lora_rank", "q_lora_rank"},
                  {"attention.kv_lora_rank", "kv_lora_rank"},
                  {"rope.scaling.original_context_length", "original_max_position_embeddings"}});
  family.counts = {};
  family.assumed = R"({"q_lora_rank": null})";
  family.lost =
      "assuming the multipliers of embedding, branches and logits of the published models";
  return family;
}

GgufFamily glm_dsa() {
  GgufFamily family = deepseek2("glm_moe_dsa");
  family.name = "glm-dsa";
  family.published_groups = false;
  set(family.layer_tensors, {{"indexer.k_norm", "self_attn.indexer.k_norm"},
                             {"indexer.proj", "self_attn.indexer.weights_proj"},
                             {"indexer.attn_k", "self_attn.indexer.wk"},
                             {"indexer.attn_q_b", "self_attn.indexer.wq_b"}});
  add(family.sizes, {{"attention.indexer.top_k", "index_topk"},
                     {"attention.indexer.head_count", "index_n_heads"},
                     {"attention.indexer.key_length", "index_head_dim"}});
  return family;
}

}  // namespace

std::vector<GgufFamily> mla_decoders() {
  return {deepseek_v3(), deepseek2("deepseek_v2"), glm_dsa(), minicpm3()};
}

}  // namespace attnscope::gguf
