// Solar Open: Llama's attention, with the router and experts of GLM-4.5 in every layer. Source:
// huggingface/transformers, models/solar_open.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture glm4_moe();

Architecture solar_open() {
  Architecture architecture = glm4_moe();
  architecture.name = "solar_open";
  architecture.model_types = {"solar_open"};
  architecture.class_families = {"SolarOpen"};
  remove_mlp(architecture);
  architecture.keys.mlp_width = {};  // in config.json, but not used
  architecture.keys.head_dim.fallback = 128;
  architecture.norm->query.clear();
  architecture.norm->key.clear();
  architecture.rope = RopeRule{.theta = 1e6};
  MoeRule rule = *architecture.experts;
  rule.width.fallback = 1280;
  rule.layers = {};
  architecture.experts = std::make_shared<MoeRule>(std::move(rule));
  return architecture;
}

}  // namespace attnscope
