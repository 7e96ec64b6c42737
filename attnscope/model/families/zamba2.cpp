// Zamba2: Mamba-2 in every layer. In some layers, a block of attention and an MLP that several
// layers share feeds Mamba-2. Source: huggingface/transformers, models/zamba2.
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {
namespace {

std::vector<LayerKind> layer_kinds() {
  return {{.name = "hybrid", .attends = true, .mixer = kMamba2},
          {.name = "linear_attention", .mixer = kMamba2, .after = AfterMixer::nothing},
          {.name = "mamba", .mixer = kMamba2, .after = AfterMixer::nothing}};
}

Mamba2Rule mamba2_rule() {
  return {.heads = {"n_mamba_heads", 8},
          .expand = {"mamba_expand", 2},
          .groups = {"mamba_ngroups", 1},
          .state_dim = {"mamba_d_state", 64},
          .kernel = {"mamba_d_conv", 4},
          .place = "layers.{layer}.mamba",
          .biased = {"add_bias_linear", false},
          .output_biased = {"add_bias_linear", false},
          .least_step = {"time_step_min", 0.001},
          .epsilon = {"", 1e-5}};
}

SharedBlockRule block_rule(const std::string& place) {
  const std::string adapters = place + "self_attn.linear_";
  return {.count = {"num_mem_blocks", 1},
          .projection = "layers.{layer}.linear.weight",
          .mixer_place = "layers.{layer}.mamba_decoder.mamba",
          .mixer_norm = "layers.{layer}.mamba_decoder.input_layernorm",
          .other_norm = "layers.{layer}.input_layernorm",
          .adapter_rank = {"adapter_rank", 128},
          .adapts_attention = {"use_shared_attention_adapter", false},
          .query_adapter = adapters + "q_adapter_list.{inner}",
          .key_adapter = adapters + "k_adapter_list.{inner}",
          .value_adapter = adapters + "v_adapter_list.{inner}",
          .mlp_adapter = place + "feed_forward.gate_up_proj_adapter_list.{inner}"};
}

}  // namespace

/// Attention reads the residual stream concatenated with the embedding, so its matrices do not map
/// the residual stream to itself and there are no circuits. Weight analyses do not add the adapters
/// of individual layers to the shared weights.
Architecture zamba2() {
  using enum Role;
  const std::string place = "layers.{group}.shared_transformer.";
  Architecture architecture = like_llama("zamba2", "Zamba2");
  architecture.keys.head_dim = {};  // always 2 D / heads
  architecture.weights = {{query, place + "self_attn.q_proj.weight"},
                          {key, place + "self_attn.k_proj.weight"},
                          {value, place + "self_attn.v_proj.weight"},
                          {output, place + "self_attn.o_proj.weight"}};
  for (const Role part : {gate, up}) {
    architecture.weights.push_back(
        {.role = part, .tensor = place + "feed_forward.gate_up_proj.weight", .fused = {gate, up}});
  }
  architecture.weights.push_back({down, place + "feed_forward.down_proj.weight"});
  architecture.biases = {{{gate, up, down}, {"add_bias_linear"}}};
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"rms_norm_eps", 1e-5},
                               .attention_input = place + "input_layernorm",
                               .mlp_input = place + "pre_ff_layernorm",
                               .last = "final_layernorm"};
  architecture.scores.dimension_share = 0.5;
  architecture.activation = "gelu";
  architecture.tied_by_default = true;
  const char* const set_aside =
      "adapters of individual layers, which are not added to the shared weights";
  architecture.others = {{"q.adapter", "layers.{layer}.*.linear_q_adapter_list.*", set_aside},
                         {"k.adapter", "layers.{layer}.*.linear_k_adapter_list.*", set_aside},
                         {"v.adapter", "layers.{layer}.*.linear_v_adapter_list.*", set_aside},
                         {"up.adapter", "layers.{layer}.*.gate_up_proj_adapter_list.*", set_aside}};
  architecture.mixers =
      std::make_shared<MixerRule>(MixerRule{.kinds = layer_kinds(),
                                            .list_keys = {"layers_block_type", "layer_types"},
                                            .attending_key = "hybrid_layer_ids",
                                            .usual_attending = {6, 12, 18, 24, 30, 36, 42, 47, 51},
                                            .lists_every_layer = true,
                                            .streams = 2,
                                            .block = block_rule(place),
                                            .mamba2 = mamba2_rule()});
  const ConfigCondition long_context = {"use_long_context", {"true"}};
  Architecture with_rope = architecture;
  with_rope.conditions = {{"use_mem_rope", {"true"}}};
  architecture.rope.reset();
  architecture.layouts = {
      not_run_if(architecture, {"tie_word_embeddings", {"false"}},
                 "'tie_word_embeddings' is false: transformers then does not share the blocks"),
      not_run_if(architecture, long_context,
                 "'use_long_context' is true: the rescaled RoPE base is not supported"),
      with_rope};
  return architecture;
}

}  // namespace attnscope
