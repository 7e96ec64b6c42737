// OpenAI's Whisper files: `dims` and `model_state_dict`. Source: openai/whisper, whisper/model.py.
#include <nlohmann/json.hpp>

#include "attnscope/model/foreign/foreign_model.h"

namespace attnscope {
namespace {

/// Of both stacks.
void add_stack(ModuleRenames& modules, const std::string& stack) {
  const std::string from = stack + ".blocks.{layer}.", to = "model." + stack + ".layers.{layer}.";
  const auto add_attention = [&](const std::string& own, const std::string& named) {
    modules.push_back({from + own + ".query", to + named + ".q_proj"});
    modules.push_back({from + own + ".key", to + named + ".k_proj"});
    modules.push_back({from + own + ".value", to + named + ".v_proj"});
    modules.push_back({from + own + ".out", to + named + ".out_proj"});
    modules.push_back({from + own + "_ln", to + named + "_layer_norm"});
  };
  add_attention("attn", "self_attn");
  add_attention("cross_attn", "encoder_attn");
  modules.push_back({from + "mlp.0", to + "fc1"});
  modules.push_back({from + "mlp.2", to + "fc2"});
  modules.push_back({from + "mlp_ln", to + "final_layer_norm"});
  modules.push_back(
      {stack + ".positional_embedding", "model." + stack + ".embed_positions.weight"});
}

}  // namespace

std::optional<ForeignModel> read_whisper_pt(const Checkpoint& checkpoint,
                                            const nlohmann::json& settings) {
  const auto found = settings.find("dims");
  if (found == settings.end() || !found->is_object()) return std::nullopt;
  if (checkpoint.find("encoder.blocks.0.attn.query.weight") == nullptr) return std::nullopt;
  ModuleRenames modules = {{"encoder.conv1", "model.encoder.conv1"},
                           {"encoder.conv2", "model.encoder.conv2"},
                           {"encoder.ln_post", "model.encoder.layer_norm"},
                           {"decoder.ln", "model.decoder.layer_norm"},
                           {"decoder.token_embedding", "model.decoder.embed_tokens"}};
  add_stack(modules, "encoder");
  add_stack(modules, "decoder");
  ForeignModel out;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    auto name = renamed(tensor.name, modules);
    if (!name) refuse_foreign(checkpoint, tensor.name, "Whisper");
    out.tensors.push_back(tensor);
    out.tensors.back().name = *std::move(name);
  }
  const std::string place = checkpoint.main_file().string();
  const auto size = [&](const char* key) { return size_in(*found, key, place); };
  const std::int64_t width = size("n_audio_state");
  const nlohmann::json config = {{"model_type", "whisper"},
                                 {"d_model", width},
                                 {"encoder_layers", size("n_audio_layer")},
                                 {"encoder_attention_heads", size("n_audio_head")},
                                 {"encoder_ffn_dim", 4 * width},
                                 {"decoder_layers", size("n_text_layer")},
                                 {"decoder_attention_heads", size("n_text_head")},
                                 {"decoder_ffn_dim", 4 * width},
                                 {"num_mel_bins", size("n_mels")},
                                 {"vocab_size", size("n_vocab")},
                                 {"max_source_positions", size("n_audio_ctx")},
                                 {"max_target_positions", size("n_text_ctx")},
                                 {"activation_function", "gelu"},
                                 {"tie_word_embeddings", true}};
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
