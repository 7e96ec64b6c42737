// nanoGPT's ckpt.pt: GPT-2 with torch's Linear. Source: karpathy/nanoGPT, model.py and train.py.
#include <nlohmann/json.hpp>

#include "attnscope/model/foreign/foreign_model.h"

namespace attnscope {

std::optional<ForeignModel> read_nanogpt(const Checkpoint& checkpoint,
                                         const nlohmann::json& settings) {
  const auto found = settings.find("model_args");
  if (found == settings.end() || !found->is_object()) return std::nullopt;
  if (checkpoint.find("transformer.h.0.attn.c_attn.weight") == nullptr ||
      checkpoint.find("transformer.wpe.weight") == nullptr) {
    return std::nullopt;
  }
  const nlohmann::json& args = *found;
  const std::string place = checkpoint.main_file().string();
  const ModuleRenames modules = {{"transformer.wte", "wte"},
                                 {"transformer.wpe", "wpe"},
                                 {"transformer.ln_f", "ln_f"},
                                 {"lm_head", "lm_head"},
                                 {"transformer.h.{layer}.ln_1", ""},
                                 {"transformer.h.{layer}.ln_2", ""},
                                 {"transformer.h.{layer}.attn", ""},  // the causal mask
                                 {"transformer.h.{layer}.attn.c_attn", ""},
                                 {"transformer.h.{layer}.attn.c_proj", ""},
                                 {"transformer.h.{layer}.mlp.c_fc", ""},
                                 {"transformer.h.{layer}.mlp.c_proj", ""}};
  ForeignModel out;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!renamed(tensor.name, modules)) refuse_foreign(checkpoint, tensor.name, "nanoGPT");
    CheckpointTensor own = tensor;
    own.is_linear = own.view.shape.size() == 2;  // like those of Llama, not like GPT-2's Conv1D
    out.tensors.push_back(std::move(own));
  }
  const std::int64_t width = size_in(args, "n_embd", place);
  const bool biased = checkpoint.find("transformer.ln_f.bias") != nullptr;
  const nlohmann::json config = {{"model_type", "gpt2"},
                                 {"n_layer", size_in(args, "n_layer", place)},
                                 {"n_head", size_in(args, "n_head", place)},
                                 {"n_embd", width},
                                 {"n_positions", size_in(args, "block_size", place)},
                                 {"vocab_size", size_in(args, "vocab_size", place)},
                                 {"bias", biased},
                                 {"activation_function", "gelu"},
                                 {"layer_norm_epsilon", 1e-5},
                                 {"tie_word_embeddings", true}};
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
