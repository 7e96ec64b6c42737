// Llama 3.2 Vision: Llama 3.1, with additional layers that only attend to images. Texts skip these
// layers. Source: huggingface/transformers, models/mllama.
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/families/like_llama.h"

namespace attnscope {

Architecture mllama() {
  Architecture architecture = like_llama("mllama", "Mllama");
  architecture.model_types = {"mllama", "mllama_text_model"};
  architecture.keys.kv_heads.fallback = 8;
  architecture.keys.head_dim = {};
  architecture.nested_sizes = {.layers = 40,
                               .heads = 32,
                               .width = 4096,
                               .mlp_width = 14336,
                               .vocabulary = 128256,
                               .context = 131072};
  architecture.biases.clear();
  architecture.norm->epsilon.fallback = 1e-5;
  architecture.rope->theta = 5e5;
  const char* const set_aside = "attends to an image, which a text model does not read";
  architecture.others = {{"cross_attention", "layers.{layer}.cross_attn.*", set_aside},
                         {"cross_attention.gate", "layers.{layer}.cross_attn_*_gate"}};
  architecture.mixers = std::make_shared<MixerRule>(MixerRule{
      .kinds = {{.name = "self_attention", .attends = true},
                {.name = "cross_attention", .mixer = "attention to images", .skipped = true}},
      .attending_key = "cross_attention_layers",
      .lists_others = true,
      .usual_attending = {3, 8, 13, 18, 23, 28, 33, 38}});
  return architecture;
}

}  // namespace attnscope
