// Zamba2: Mamba-2 in every layer, and in some layers an attention block that several layers share.
// Its forward pass is not supported. Source: huggingface/transformers, models/zamba2.
#include "attnscope/model/families/like_llama.h"
#include "attnscope/model/families/mamba_layers.h"

namespace attnscope {

/// Attention reads the residual stream concatenated with the embedding, so its matrices do not map
/// the residual stream to itself and there are no circuits. Adapters of individual layers are not
/// added to the shared weights.
Architecture zamba2() {
  using enum Role;
  const std::string place = "layers.{group}.shared_transformer.";
  Architecture architecture = like_llama("zamba2", "Zamba2");
  architecture.keys.head_dim = {"attention_head_dim"};
  architecture.weights = {{query, place + "self_attn.q_proj.weight"},
                          {key, place + "self_attn.k_proj.weight"},
                          {value, place + "self_attn.v_proj.weight"},
                          {output, place + "self_attn.o_proj.weight"}};
  for (const Role part : {gate, up}) {
    architecture.weights.push_back(
        {.role = part, .tensor = place + "feed_forward.gate_up_proj.weight", .fused = {gate, up}});
  }
  architecture.weights.push_back({down, place + "feed_forward.down_proj.weight"});
  architecture.biases = {};
  architecture.norm.reset();
  architecture.rope.reset();
  architecture.tied_by_default = true;
  const char* const set_aside =
      "adapters of individual layers, which are not added to the shared weights";
  architecture.others = {{"q.adapter", "layers.{layer}.*.linear_q_adapter_list.*", set_aside},
                         {"k.adapter", "layers.{layer}.*.linear_k_adapter_list.*", set_aside},
                         {"v.adapter", "layers.{layer}.*.linear_v_adapter_list.*", set_aside},
                         {"up.adapter", "layers.{layer}.*.gate_up_proj_adapter_list.*", set_aside},
                         {"mixer", "layers.{layer}.mamba.*"},
                         {"mixer", "layers.{layer}.mamba_decoder.mamba.*"},
                         {"norm", "*norm.weight"}};
  std::vector<LayerKind> kinds = {
      {.name = "hybrid", .attends = true, .mixer = kMamba2},
      {.name = "linear_attention", .mixer = kMamba2, .after = AfterMixer::nothing},
      {.name = "mamba", .mixer = kMamba2, .after = AfterMixer::nothing}};
  architecture.mixers =
      std::make_shared<MixerRule>(MixerRule{.kinds = std::move(kinds),
                                            .list_keys = {"layers_block_type", "layer_types"},
                                            .attending_key = "hybrid_layer_ids",
                                            .usual_attending = {6, 12, 18, 24, 30, 36, 42, 47, 51},
                                            .lists_every_layer = true,
                                            .streams = 2,
                                            .shared_blocks = {"num_mem_blocks", 1}});
  return architecture;
}

}  // namespace attnscope
