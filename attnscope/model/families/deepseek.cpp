// Families with multi-head latent attention: MiniCPM3, DeepSeek-V2, V3 and V3.2, Kimi-K2, Mistral
// 4, GLM-5. Source: huggingface/transformers,
// models/{minicpm3,deepseek_v2,deepseek_v3,deepseek_v32,mistral4, glm_moe_dsa}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {
namespace {

Architecture with_latents(const char* name, const char* class_family) {
  using enum Role;
  Architecture architecture = like_llama(name, class_family);
  architecture.keys.kv_heads = {};  // the key is there, and means nothing
  architecture.keys.head_dim = {};  // likewise
  std::erase_if(architecture.weights,
                [](const WeightRule& rule) { return rule.role == key || rule.role == value; });
  const std::string place = "layers.{layer}.self_attn.";
  architecture.weights.push_back({query_down, place + "q_a_proj.weight"});
  architecture.weights.push_back({query_up, place + "q_b_proj.weight"});
  architecture.weights.push_back({kv_down, place + "kv_a_proj_with_mqa.weight"});
  architecture.weights.push_back({kv_up, place + "kv_b_proj.weight"});
  architecture.biases = {{{query_down, kv_down, output}, {"attention_bias"}},
                         {{gate, up, down}, {"mlp_bias"}}};
  architecture.latent = LatentRule{.query_rank = {"q_lora_rank", 1536},
                                   .rank = {"kv_lora_rank", 512},
                                   .plain_dim = {"qk_nope_head_dim", 128},
                                   .rotary_dim = {"qk_rope_head_dim", 64},
                                   .value_dim = {"v_head_dim", 128},
                                   .query_norm = place + "q_a_layernorm",
                                   .norm = place + "kv_a_layernorm"};
  architecture.scores.times_yarn_gain = true;
  return architecture;
}

const std::string kMlpPlace = "layers.{layer}.mlp";

void add_experts(Architecture& architecture, MoeRule rule) {
  architecture.weights.push_back({Role::router, kMlpPlace + ".gate.weight"});
  add_shared_experts(architecture, kMlpPlace + ".shared_experts");
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
}

}  // namespace

Architecture minicpm3() {
  Architecture architecture = with_latents("minicpm3", "MiniCPM3");
  LatentRule& latent = *architecture.latent;
  latent.query_rank.fallback = 768;
  latent.rank.fallback = 256;
  latent.plain_dim.fallback = 64;
  latent.rotary_dim.fallback = 32;
  latent.value_dim.fallback = {};
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.multipliers = {.embedding = {"scale_emb", 12},
                              .branches = {"scale_depth", 1.4},
                              .by_depth = true,
                              .logits_width = {"dim_model_base", 256}};
  architecture.tied_by_default = true;
  return architecture;
}

Architecture deepseek_v2() {
  Architecture architecture = with_latents("deepseek_v2", "DeepseekV2");
  architecture.rope->neighbours = {"", true};
  MoeRule rule{.experts = {"n_routed_experts", "num_experts"},
               .default_experts = 64,
               .chosen = {"num_experts_per_tok"},
               .width = {"moe_intermediate_size", 1407},
               .layers = {.first = {"first_k_dense_replace", 0}},
               .tensors = usual_expert_tensors(kMlpPlace),
               .score = RouterScore::softmax,
               .grouped = {"topk_method", {"\"group_limited_greedy\""}},
               .groups = {"n_group", 1},
               .kept_groups = {"topk_group", 1},
               .group_score = GroupScore::best,
               .times = {"routed_scaling_factor", 1},
               .shared_count = {"n_shared_experts", 2}};
  add_experts(architecture, std::move(rule));
  return architecture;
}

Architecture deepseek_v3() {
  using enum Role;
  Architecture architecture = with_latents("deepseek_v3", "DeepseekV3");
  architecture.model_types = {"deepseek_v3", "kimi_k2"};
  architecture.biases = {{{query_down, kv_down, output}, {"attention_bias"}}};
  architecture.rope->neighbours = {"rope_interleave", true};
  MoeRule rule = biased_router(kMlpPlace);
  rule.default_experts = 256;
  rule.default_chosen = 8;
  rule.width.fallback = 2048;
  rule.layers = {.first = {"first_k_dense_replace", 3}, .types = "mlp_layer_types"};
  rule.groups.fallback = 8;
  rule.kept_groups.fallback = 4;
  rule.normalise = {"norm_topk_prob", true};
  rule.times.fallback = 2.5;
  rule.shared_count = {"n_shared_experts", 1};
  add_experts(architecture, std::move(rule));
  return architecture;
}

Architecture mistral4() {
  using enum Role;
  Architecture architecture = deepseek_v3();
  architecture.name = "mistral4";
  architecture.model_types = {"mistral4"};
  architecture.class_families = {"Mistral4"};
  LatentRule& latent = *architecture.latent;
  latent.query_rank.fallback = 1024;
  latent.rank.fallback = 256;
  latent.plain_dim.fallback = 64;
  architecture.scores.temperature = {.growth = {"llama_4_scaling_beta"},
                                     .period = {"original_max_position_embeddings"}};
  architecture.rope->standard =
      R"({"rope_type": "yarn", "factor": 128, "original_max_position_embeddings": 8192,
          "beta_fast": 32, "beta_slow": 1, "mscale_all_dim": 1, "mscale": 1,
          "llama_4_scaling_beta": 0.1})";
  MoeRule rule = *architecture.experts;
  rule.default_experts = 128;
  rule.default_chosen = 4;
  rule.score = RouterScore::softmax;
  rule.choice_bias.clear();
  rule.layers = {.first = {"first_k_dense_replace", 0}};
  rule.groups.fallback = rule.kept_groups.fallback = 1;
  rule.times.fallback = 1;
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

Architecture deepseek_v32() {
  Architecture architecture = deepseek_v3();
  architecture.name = "deepseek_v32";
  architecture.model_types = {"deepseek_v32"};
  architecture.class_families = {"DeepseekV32"};
  architecture.rope->neighbours = {"", true};
  const std::string place = "layers.{layer}.self_attn.indexer.";
  architecture.indexer = IndexerRule{.kept = {"index_topk", 2048},
                                     .heads = {"index_n_heads", 64},
                                     .head_dim = {"index_head_dim", 128},
                                     .query = place + "wq_b.weight",
                                     .key = place + "wk.weight",
                                     .key_norm = place + "k_norm",
                                     .weights = place + "weights_proj.weight"};
  architecture.others = {{"indexer", place + "*"}};  // of layers beyond those that run, too
  return architecture;
}

Architecture glm_moe_dsa() {
  Architecture architecture = deepseek_v32();
  architecture.name = "glm_moe_dsa";
  architecture.model_types = {"glm_moe_dsa"};
  architecture.class_families = {"GlmMoeDsa"};
  LatentRule& latent = *architecture.latent;
  latent.query_rank.fallback = 2048;
  latent.plain_dim.fallback = 192;
  latent.value_dim.fallback = 256;
  architecture.norm->epsilon.fallback = 1e-5;
  IndexerRule& indexer = *architecture.indexer;
  indexer.heads.fallback = 32;
  indexer.neighbours = true;
  indexer.kinds = "indexer_types";
  indexer.pattern = "index_topk_pattern";
  indexer.period = {"index_topk_freq", 1};
  indexer.offset = {"index_skip_topk_offset", 2};
  return architecture;
}

// DeepSeek-V4, whose weights alone are described: queries have a latent, one key of each token
// serves all heads and is the value, too; outputs pass two matrices, the first by groups of heads.
// Source: huggingface/transformers, models/deepseek_v4; names as its files have them.

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
