// Llama 4: most layers have RoPE and attend only within their chunk of the text. The others attend
// to the whole text, and their queries are scaled with the position. The weight of an expert
// multiplies its input. Source: huggingface/transformers, models/llama4.
#include "attnscope/model/families/expert_tensors.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture llama4() {
  using enum Role;
  const std::string place = "layers.{layer}.feed_forward";
  Architecture architecture = like_llama("llama4", "Llama4");
  architecture.model_types = {"llama4_text", "llama4"};
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim.fallback = 128;
  architecture.keys.mlp_width = {"intermediate_size_mlp", 16384};
  architecture.nested_sizes = {.layers = 48,
                               .heads = 40,
                               .width = 5120,
                               .mlp_width = 16384,
                               .vocabulary = 202048,
                               .context = 131072};
  remove_mlp(architecture);
  for (const auto& [role, name] : {std::pair{gate, ".gate_proj"},
                                   {up, ".up_proj"},
                                   {down, ".down_proj"},
                                   {router, ".router"}}) {
    architecture.weights.push_back({role, place + name + ".weight"});
  }
  add_shared_experts(architecture, place + ".shared_expert");
  architecture.biases = {{{query, key, value, output}, {"attention_bias"}}};
  NormRule& norm = *architecture.norm;
  norm.epsilon.fallback = 1e-5;
  norm.bare_heads = {"use_qk_norm", true};
  norm.heads_if_rotated = true;
  norm.after_rotation = true;
  architecture.scores.temperature = {.growth = {"attn_scale", 0.1},
                                     .period = {"floor_scale", 8192},
                                     .in_rope = false,
                                     .enabled = {"attn_temperature_tuning", true},
                                     .first = 1,
                                     .unrotated_only = true};
  architecture.rope->theta = 500000;
  architecture.rope->neighbors = {"", true};
  architecture.rope->layers = RotatedLayers::listed;
  architecture.rope->layer_list = "no_rope_layers";
  architecture.rope->interval = {"no_rope_layer_interval", 4};
  architecture.window = WindowRule{.size = {"attention_chunk_size", 8192},
                                   .chunked = true,
                                   .layers = WindowedLayers::rotated,
                                   .reads_layer_types = true};
  architecture.experts = std::make_shared<MoeRule>(
      MoeRule{.experts = {"num_local_experts"},
              .default_experts = 16,
              .chosen = {"num_experts_per_tok"},
              .default_chosen = 1,
              .width = {"intermediate_size", 8192},
              .layers = {.every = {"interleave_moe_layer_step", 1}, .listed = "moe_layers"},
              .tensors = {stacked_experts(place + ".experts.gate_up_proj",
                                          place + ".experts.down_proj", Storage::in_by_out),
                          tensors_of_each_expert(place)},
              .score = RouterScore::sigmoid_of_chosen,
              .weighs_input = true,
              .shared_count = {"", 1}});
  return architecture;
}

}  // namespace attnscope
