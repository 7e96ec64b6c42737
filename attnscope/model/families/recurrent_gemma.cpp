// RecurrentGemma (Griffin): RG-LRU in most layers, attention with a sliding window in the others.
// Source: huggingface/transformers, models/recurrent_gemma.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture recurrent_gemma() {
  using enum Role;
  const std::string place = "layers.{layer}.temporal_block", mlp = "layers.{layer}.mlp_block.";
  Architecture architecture = like_llama("recurrent_gemma", "RecurrentGemma");
  ConfigKeys& keys = architecture.keys;
  keys.layers.fallback = 26;
  keys.heads.fallback = 10;
  keys.width.fallback = 2560;
  keys.mlp_width.fallback = 7680;
  keys.mlp_divisor = 2;  // the file has the sum of both halves, gate and up
  keys.vocabulary.fallback = 256000;
  architecture.weights = {{query, place + ".q_proj.weight"}, {key, place + ".k_proj.weight"},
                          {value, place + ".v_proj.weight"}, {output, place + ".o_proj.weight"},
                          {gate, mlp + "gate_proj.weight"},  {up, mlp + "up_proj.weight"},
                          {down, mlp + "down_proj.weight"}};
  architecture.biases = {{{query, key, value}, {"attention_bias"}},
                         {{output, gate, up, down}, {"", true}}};
  architecture.embedding.times_sqrt_width = {"", true};
  architecture.embedding.rounds_root = true;
  architecture.norm = NormRule{.kind = NormKind::rms,
                               .epsilon = {"rms_norm_eps", 1e-6},
                               .gain_offset = {"", 1},
                               .attention_input = "layers.{layer}.temporal_pre_norm",
                               .mlp_input = "layers.{layer}.channel_pre_norm",
                               .last = "final_norm"};
  architecture.rope = RopeRule{.fraction_key = "partial_rotary_factor", .fraction = 0.5};
  architecture.window = WindowRule{.size = {"attention_window_size", 2048, "sliding_window"}};
  architecture.activation_key = "hidden_activation";
  architecture.activation = "gelu_pytorch_tanh";
  architecture.head.soft_cap = {"logits_soft_cap", 30};
  architecture.tied_by_default = true;
  architecture.mixers = std::make_shared<MixerRule>(MixerRule{
      .kinds = {{.name = "attention", .attends = true},
                {.name = "recurrent", .mixer = "an RG-LRU"}},
      .list_keys = {"block_types"},
      .repeats_list = true,
      .interval = {"", 3},
      .rg_lru = RgLruRule{.width = {"lru_width"}, .kernel = {"conv1d_width", 4}, .place = place}});
  return architecture;
}

}  // namespace attnscope
