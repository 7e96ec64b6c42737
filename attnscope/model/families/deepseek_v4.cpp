// DeepSeek-V4, whose weights alone are described: queries have a latent, one key of each token
// serves all heads and is the value, too; outputs pass two matrices, the first by groups of heads.
// Source: huggingface/transformers, models/deepseek_v4; names as its files have them.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

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
  architecture.latent = LatentRule{.query_rank = {"q_lora_rank", 1024},
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
      "outputs in two factors, the first by groups of heads, so that there are no OV circuits";
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
      "its layers mix several streams and compress their keys, which is not computed";
  return architecture;
}

}  // namespace attnscope
