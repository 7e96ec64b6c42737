// CLIP models of open_clip, with their open_clip_config.json. Source: mlfoundations/open_clip,
// src/open_clip/model.py and transformer.py.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/foreign/foreign_model.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kOpenClipConfig = "open_clip_config.json";

void add_tower(ModuleRenames& modules, const std::string& from, const std::string& to) {
  modules.push_back({from + "ln_1", to + "layer_norm1"});
  modules.push_back({from + "ln_2", to + "layer_norm2"});
  modules.push_back({from + "attn.out_proj", to + "self_attn.out_proj"});
  modules.push_back({from + "attn.in_proj_weight", to + "self_attn.*.weight"});
  modules.push_back({from + "attn.in_proj_bias", to + "self_attn.*.bias"});
  modules.push_back({from + "mlp.c_fc", to + "mlp.fc1"});
  modules.push_back({from + "mlp.c_proj", to + "mlp.fc2"});
}

/// The towers' settings that change what they compute, apart from their sizes.
void refuse_variants(const json& tower, std::initializer_list<const char*> known,
                     const std::string& place) {
  for (const auto& [key, value] : tower.items()) {
    const bool off = value.is_null() || value == false;
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (off || is_known) continue;
    throw Error(ErrorKind::unsupported,
                {.file = place, .problem = "'" + printable(key) + "' of a tower is not supported"});
  }
}

}  // namespace

std::optional<ForeignModel> read_open_clip(const Checkpoint& checkpoint, const json&) {
  if (checkpoint.find("visual.transformer.resblocks.0.attn.in_proj_weight") == nullptr ||
      checkpoint.find("transformer.resblocks.0.attn.in_proj_weight") == nullptr) {
    return std::nullopt;
  }
  const std::string place = checkpoint.folder().place_of(kOpenClipConfig);
  const json file = settings_file(checkpoint, kOpenClipConfig);
  const json* model = file.is_object() && file.contains("model_cfg") ? &file["model_cfg"] : &file;
  if (!model->is_object() || !model->value("vision_cfg", json()).is_object() ||
      !model->value("text_cfg", json()).is_object()) {
    throw Error(
        ErrorKind::io,
        {.file = place,
         .problem = "the weights are those of open_clip, which require their "
                    "open_clip_config.json with vision_cfg and text_cfg in the same folder"});
  }
  const json &vision = (*model)["vision_cfg"], &text = (*model)["text_cfg"];
  refuse_variants(vision, {"layers", "width", "head_width", "patch_size", "image_size"}, place);
  refuse_variants(text, {"layers", "width", "heads", "context_length", "vocab_size"}, place);

  ModuleRenames modules = {
      {"visual.conv1", "vision_model.embeddings.patch_embedding"},
      {"visual.class_embedding", "vision_model.embeddings.class_embedding"},
      {"visual.positional_embedding", "vision_model.embeddings.position_embedding.weight"},
      {"visual.ln_pre", "vision_model.pre_layrnorm"},
      {"visual.ln_post", "vision_model.post_layernorm"},
      {"visual.proj", "visual_projection.weight"},
      {"token_embedding", "text_model.embeddings.token_embedding"},
      {"positional_embedding", "text_model.embeddings.position_embedding.weight"},
      {"ln_final", "text_model.final_layer_norm"},
      {"text_projection", "text_projection.weight"},
      {"logit_scale", "logit_scale"},
      {"attn_mask", "attn_mask"}};
  add_tower(modules, "visual.transformer.resblocks.{layer}.",
            "vision_model.encoder.layers.{layer}.");
  add_tower(modules, "transformer.resblocks.{layer}.", "text_model.encoder.layers.{layer}.");
  ForeignModel out;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const auto name = renamed(tensor.name, modules);
    if (!name) refuse_foreign(checkpoint, tensor.name, "open_clip's CLIP");
    const std::size_t fused = name->find('*');
    if (fused != std::string::npos) {
      constexpr std::array kParts = {"q_proj", "k_proj", "v_proj"};
      for (std::size_t part = 0; part < kParts.size(); ++part) {
        std::string own = *name;
        own.replace(fused, 1, kParts[part]);
        out.tensors.push_back(part_of(checkpoint, tensor, own, static_cast<std::int64_t>(part), 3));
      }
      continue;
    }
    if (tensor.name == "attn_mask") continue;
    out.tensors.push_back(tensor);
    CheckpointTensor& own = out.tensors.back();
    own.name = *name;
    // Parameters instead of modules: y = x P.
    const bool turned = tensor.name == "visual.proj" || tensor.name == "text_projection";
    if (turned && own.view.shape.size() == 2) own.view = transposed(own.view);
  }
  const auto size = [&](const json& tower, const char* key, std::int64_t usual) {
    return tower.contains(key) ? size_in(tower, key, place) : usual;
  };
  const std::int64_t width = size_in(vision, "width", place);
  const std::int64_t text_width = size_in(text, "width", place);
  const char* activation = model->value("quick_gelu", json()) == true ? "quick_gelu" : "gelu";
  const nlohmann::json config = {{"model_type", "clip"},
                                 {"projection_dim", size_in(*model, "embed_dim", place)},
                                 {"vision_config",
                                  {{"hidden_size", width},
                                   {"intermediate_size", 4 * width},
                                   {"num_hidden_layers", size_in(vision, "layers", place)},
                                   {"num_attention_heads", width / size(vision, "head_width", 64)},
                                   {"image_size", size_in(vision, "image_size", place)},
                                   {"patch_size", size_in(vision, "patch_size", place)},
                                   {"hidden_act", activation}}},
                                 {"text_config",
                                  {{"hidden_size", text_width},
                                   {"intermediate_size", 4 * text_width},
                                   {"num_hidden_layers", size_in(text, "layers", place)},
                                   {"num_attention_heads", size_in(text, "heads", place)},
                                   {"max_position_embeddings", size(text, "context_length", 77)},
                                   {"vocab_size", size(text, "vocab_size", 49408)},
                                   {"eos_token_id", size(text, "vocab_size", 49408) - 1},
                                   {"hidden_act", activation}}}};
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
