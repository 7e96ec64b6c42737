// Mistral and Ministral (sliding windows), Ministral 3 (queries scaled with their position) and
// Mistral 4 (DeepSeek-V3's attention and experts). Source: huggingface/transformers,
// models/{mistral,ministral,ministral3,mistral4}.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture deepseek_v3();

Architecture mistral() {
  Architecture architecture = like_llama("mistral", "Mistral");
  architecture.keys.kv_heads.fallback = 8;
  architecture.biases.clear();
  architecture.window = WindowRule{.size = {"sliding_window", 4096}};
  architecture.nested_sizes.mlp_width = 14336;
  architecture.nested_sizes.context = 131072;
  return architecture;
}

/// Ministral: Mistral with a window in the layers that the file lists.
Architecture ministral() {
  Architecture architecture = mistral();
  architecture.name = "ministral";
  architecture.model_types = {"ministral"};
  architecture.class_families = {"Ministral"};
  architecture.window->reads_layer_types = true;
  return architecture;
}

Architecture ministral3() {
  Architecture architecture = like_llama("ministral3", "Ministral3");
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.biases.clear();
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.scores.temperature = {.growth = {"llama_4_scaling_beta"},
                                     .period = {"original_max_position_embeddings"}};
  architecture.window = WindowRule{.size = {"sliding_window"}};
  return architecture;
}

Architecture mistral4() {
  using enum Role;
  Architecture architecture = deepseek_v3();
  architecture.name = "mistral4";
  architecture.model_types = {"mistral4"};
  architecture.class_families = {"Mistral4"};
  MlaRule& latent = *architecture.mla;
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
  rule.groups.fallback = rule.kept_mlp_groups.fallback = 1;
  rule.times.fallback = 1;
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace attnscope
