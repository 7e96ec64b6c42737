// OLMo 1 to 3. From OLMo 2 on, the outputs of attention and MLP are normalized, and the norms of
// queries and keys span all heads, as in OLMoE. Source: huggingface/transformers,
// models/{olmo,olmo2,olmo3,olmoe}.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture olmo() {
  Architecture architecture = like_llama("olmo", "Olmo");
  architecture.norm->kind = NormKind::layer;
  architecture.norm->epsilon = {"", 1e-5};
  architecture.norm->affine = {"", false};
  architecture.scores.clip = {"clip_qkv"};
  return architecture;
}

Architecture olmoe() {
  const std::string place = "layers.{layer}.mlp";
  Architecture architecture = like_llama("olmoe", "Olmoe");
  architecture.norm->epsilon.fallback = 1e-5;
  norm_heads(architecture, HeadNormAxis::all_heads);
  architecture.scores.clip = {"clip_qkv"};
  remove_mlp(architecture);
  architecture.weights.push_back({Role::router, place + ".gate.weight"});
  architecture.experts =
      std::make_shared<MoeRule>(MoeRule{.experts = {"num_experts", "num_local_experts"},
                                        .default_experts = 64,
                                        .chosen = {"num_experts_per_tok"},
                                        .default_chosen = 8,
                                        .width = {"intermediate_size", 2048},
                                        .tensors = usual_expert_tensors(place),
                                        .score = RouterScore::softmax,
                                        .normalize = {"norm_topk_prob", false}});
  return architecture;
}

Architecture olmo2() {
  Architecture architecture = like_llama("olmo2", "Olmo2");
  architecture.norm->epsilon.fallback = 1e-5;
  norm_branches_only(architecture);
  norm_heads(architecture, HeadNormAxis::all_heads);
  return architecture;
}

Architecture olmo3() {
  Architecture architecture = olmo2();
  architecture.name = "olmo3";
  architecture.model_types = {"olmo3"};
  architecture.class_families = {"Olmo3"};
  architecture.window = WindowRule{.size = {"sliding_window", 4096},
                                   .layers = WindowedLayers::but_every,
                                   .number = {"", 4},
                                   .reads_layer_types = true};
  architecture.rope->theta = 500000;
  architecture.rope->scales_windowed = false;
  return architecture;
}

}  // namespace attnscope
