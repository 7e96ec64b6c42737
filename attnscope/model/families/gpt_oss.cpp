// gpt-oss: clamped experts with interleaved rows of gate and up, biases everywhere, a window in
// every second layer, a learned sink per head. Source: huggingface/transformers, models/gpt_oss.
#include "attnscope/model/families/expert_tensors.h"

namespace attnscope {

Architecture mistral();

Architecture gpt_oss() {
  using enum Role;
  const std::string place = "layers.{layer}.mlp";
  Architecture architecture = mistral();
  architecture.name = "gpt_oss";
  architecture.model_types = {"gpt_oss"};
  architecture.class_families = {"GptOss"};
  architecture.keys.head_dim.fallback = 64;
  architecture.norm->epsilon = {"rms_norm_eps", 1e-5};
  architecture.scores.sinks = "layers.{layer}.self_attn.sinks";
  architecture.window = WindowRule{
      .size = {"sliding_window", 128}, .layers = WindowedLayers::even, .reads_layer_types = true};
  architecture.rope->theta = 150000;
  architecture.rope->standard =
      R"({"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false,
          "original_max_position_embeddings": 4096})";
  architecture.activation_key.clear();  // experts have their own activation
  std::erase_if(architecture.weights, [](const WeightRule& own) { return is_of_mlp(own.role); });
  architecture.weights.push_back({router, place + ".router.weight"});
  architecture.biases = {{{query, key, value, output}, {"attention_bias", true}},
                         {{router, gate, up, down}}};
  architecture.experts = std::make_shared<MoeRule>(MoeRule{
      .experts = {"num_local_experts", "num_experts"},
      .default_experts = 128,
      .chosen = {"num_experts_per_tok"},
      .default_chosen = 4,
      .width = {"intermediate_size", 2880},
      .tensors = {stacked_experts(place + ".experts.gate_up_proj", place + ".experts.down_proj",
                                  Storage::in_by_out, kPerRow),
                  tensors_of_each_expert(place)},  // GGUF
      .score = RouterScore::softmax_of_chosen,
      .clamp = {"swiglu_limit", 7},
      .alpha = {"swiglu_alpha", 1.702}});
  return architecture;
}

}  // namespace attnscope
