// DeepSeek-V2 and V3 (also Kimi-K2): MLA, with experts after the first layers. V3.2 adds an indexer
// that selects the keys. V4 has other tensors, of which only the weights are read. Source:
// huggingface/transformers, models/{deepseek_v2,deepseek_v3,deepseek_v32,deepseek_v4}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/mla_layers.h"

namespace attnscope {
namespace {

const std::string kMlpPlace = "layers.{layer}.mlp";

}  // namespace

Architecture deepseek_v2() {
  Architecture architecture = like_llama_with_mla("deepseek_v2", "DeepseekV2");
  architecture.rope->neighbors = {"", true};
  MoeRule rule{.experts = {"n_routed_experts", "num_experts"},
               .default_experts = 64,
               .chosen = {"num_experts_per_tok"},
               .width = {"moe_intermediate_size", 1407},
               .layers = {.first = {"first_k_dense_replace", 0}},
               .tensors = usual_expert_tensors(kMlpPlace),
               .score = RouterScore::softmax,
               .grouped = {"topk_method", {"\"group_limited_greedy\""}},
               .groups = {"n_group", 1},
               .kept_mlp_groups = {"topk_group", 1},
               .group_score = GroupScore::best,
               .times = {"routed_scaling_factor", 1},
               .shared_count = {"n_shared_experts", 2}};
  add_experts(architecture, kMlpPlace, std::move(rule));
  return architecture;
}

Architecture deepseek_v3() {
  using enum Role;
  Architecture architecture = like_llama_with_mla("deepseek_v3", "DeepseekV3");
  architecture.model_types = {"deepseek_v3", "kimi_k2"};
  architecture.biases = {{{query_down, kv_down, output}, {"attention_bias"}}};
  architecture.rope->neighbors = {"rope_interleave", true};
  MoeRule rule = biased_router(kMlpPlace);
  rule.default_experts = 256;
  rule.default_chosen = 8;
  rule.width.fallback = 2048;
  rule.layers = {.first = {"first_k_dense_replace", 3}, .types = "mlp_layer_types"};
  rule.groups.fallback = 8;
  rule.kept_mlp_groups.fallback = 4;
  rule.normalize = {"norm_topk_prob", true};
  rule.times.fallback = 2.5;
  rule.shared_count = {"n_shared_experts", 1};
  add_experts(architecture, kMlpPlace, std::move(rule));
  return architecture;
}

Architecture deepseek_v32() {
  Architecture architecture = deepseek_v3();
  architecture.name = "deepseek_v32";
  architecture.model_types = {"deepseek_v32"};
  architecture.class_families = {"DeepseekV32"};
  architecture.rope->neighbors = {"", true};
  const std::string place = "layers.{layer}.self_attn.indexer.";
  architecture.indexer = IndexerRule{.kept = {"index_topk", 2048},
                                     .heads = {"index_n_heads", 64},
                                     .head_dim = {"index_head_dim", 128},
                                     .query = place + "wq_b.weight",
                                     .key = place + "wk.weight",
                                     .key_norm = place + "k_norm",
                                     .weights = place + "weights_proj.weight"};
  architecture.others = {{"indexer", place + "*"}};  // also in layers beyond num_hidden_layers
  return architecture;
}

/// Only the weights are described. Queries have a latent. One key per token serves all heads and is
/// also the value. The output projection has two factors, the first by groups of heads.
Architecture deepseek_v4() {
  using enum Role;
  const std::string layer = "layers.{layer}.", attention = layer + "attn.", mlp = layer + "ffn";
  Architecture architecture = like_llama("deepseek_v4", "DeepseekV4");
  architecture.keys.kv_heads = {"", 1};
  architecture.keys.head_dim.fallback = 512;
  architecture.weights = {{query_down, attention + "wq_a.weight"},
                          {query_up, attention + "wq_b.weight"},
                          {key, attention + "wkv.weight"},
                          {value, attention + "wkv.weight"},
                          {router, mlp + ".gate.weight"},
                          {shared_gate, mlp + ".shared_experts.w1.weight"},
                          {shared_up, mlp + ".shared_experts.w3.weight"},
                          {shared_down, mlp + ".shared_experts.w2.weight"}};
  architecture.biases.clear();
  architecture.mla = MlaRule{.query_rank = {"q_lora_rank", 1024},
                             .query_norm = attention + "q_norm",
                             .of_queries_alone = true};
  architecture.shapes = LayerShapeRule{.values_are_keys = {"", true}};
  architecture.norm->attention_input = layer + "attn_norm";
  architecture.norm->mlp_input = layer + "ffn_norm";
  architecture.norm->key = attention + "norm";
  architecture.scores.sinks = attention + "attn_sink";
  architecture.rope.reset();
  architecture.embedding.tokens = "embed.weight";
  architecture.head.weight = {"head.weight"};
  architecture.experts =
      std::make_shared<MoeRule>(MoeRule{.experts = {"n_routed_experts"},
                                        .default_experts = 256,
                                        .chosen = {"num_experts_per_tok"},
                                        .default_chosen = 6,
                                        .width = {"moe_intermediate_size", 2048},
                                        .tensors = {tensors_of_each_expert(mlp, "w1", "w3", "w2")},
                                        .shared_count = {"n_shared_experts", 1}});
  const char* const no_circuits =
      "the output projection has two factors, the first by groups of heads, so there are no OV "
      "circuits";
  architecture.others = {{"embedding", "embed_tokens.weight"},
                         {"o_a", attention + "wo_a.*", no_circuits},
                         {"o_b", attention + "wo_b.*", no_circuits},
                         {"compressor", attention + "compressor.*"},
                         {"indexer", attention + "indexer.*"},
                         {"choice_bias", mlp + ".gate.bias"},
                         {"experts_of_tokens", mlp + ".gate.tid2eid"},
                         {"streams", layer + "hc_*"},
                         {"streams", "hc_*"}};
  architecture.compresses_keys = true;
  architecture.not_run =
      "its layers mix several residual streams and compress their keys, which is not supported";
  return architecture;
}

}  // namespace attnscope
