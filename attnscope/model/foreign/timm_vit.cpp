// Vision transformers of timm with a class token. Source: huggingface/pytorch-image-models,
// timm/models/vision_transformer.py.
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/model/foreign/foreign_model.h"

namespace attnscope {
namespace {

/// Heads of timm's sizes: tiny, small, base, large, huge.
std::optional<std::int64_t> heads_of_width(std::int64_t width) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 5> kSizes = {
      {{192, 3}, {384, 6}, {768, 12}, {1024, 16}, {1280, 16}}};
  for (const auto& [of, heads] : kSizes) {
    if (of == width) return heads;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ForeignModel> read_timm_vit(const Checkpoint& checkpoint, const nlohmann::json&) {
  const CheckpointTensor* patches = checkpoint.find("patch_embed.proj.weight");
  const CheckpointTensor* positions = checkpoint.find("pos_embed");
  const CheckpointTensor* up = checkpoint.find("blocks.0.mlp.fc1.weight");
  if (patches == nullptr || positions == nullptr || up == nullptr ||
      checkpoint.find("cls_token") == nullptr ||
      checkpoint.find("blocks.0.attn.qkv.weight") == nullptr) {
    return std::nullopt;
  }
  const std::string layer = "vit.encoder.layer.{layer}.";
  const ModuleRenames modules = {{"cls_token", "vit.embeddings.cls_token"},
                                 {"pos_embed", "vit.embeddings.position_embeddings"},
                                 {"patch_embed.proj", "vit.embeddings.patch_embeddings.projection"},
                                 {"blocks.{layer}.norm1", layer + "layernorm_before"},
                                 {"blocks.{layer}.norm2", layer + "layernorm_after"},
                                 {"blocks.{layer}.attn.qkv", layer + "attention.attention."},
                                 {"blocks.{layer}.attn.proj", layer + "attention.output.dense"},
                                 {"blocks.{layer}.mlp.fc1", layer + "intermediate.dense"},
                                 {"blocks.{layer}.mlp.fc2", layer + "output.dense"},
                                 {"norm", "vit.layernorm"},
                                 {"head", "classifier"}};
  ForeignModel out;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    // Layer scales, registers, norms of queries and others change what the model computes.
    const auto name = renamed(tensor.name, modules);
    if (!name) refuse_foreign(checkpoint, tensor.name, "a ViT of timm");
    const std::size_t fused = name->find("attention.attention..");
    if (fused == std::string::npos) {
      out.tensors.push_back(tensor);
      out.tensors.back().name = *name;
      continue;
    }
    const std::size_t at = fused + std::string_view("attention.attention.").size();
    constexpr std::array kParts = {"query", "key", "value"};
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      std::string own = *name;
      own.insert(at, kParts[part]);
      out.tensors.push_back(part_of(checkpoint, tensor, own, static_cast<std::int64_t>(part), 3));
    }
  }
  const Shape &kernel = patches->view.shape, &rows = positions->view.shape;
  if (kernel.size() != 4 || rows.size() != 3 || up->view.shape.size() != 2) {
    refuse_foreign(checkpoint, patches->name, "a ViT of timm");
  }
  const std::int64_t width = kernel[0];
  std::optional<std::int64_t> heads = heads_of_width(width);
  const nlohmann::json file = settings_file(checkpoint, "config.json");
  const nlohmann::json args =
      file.is_object() ? file.value("model_args", nlohmann::json()) : nlohmann::json();
  if (args.is_object() && args.contains("num_heads")) {
    heads = size_in(args, "num_heads", checkpoint.folder().place_of("config.json"));
  }
  constexpr std::int64_t kMostPatches = 1'000'000;
  const std::int64_t count = rows[1] - 1;  // without the class token
  const auto side = count < 1 || count > kMostPatches
                        ? 0
                        : static_cast<std::int64_t>(std::llround(std::sqrt(count)));
  if (side == 0 || side * side != count) {
    throw Error(
        ErrorKind::unsupported,
        {.file = checkpoint.main_file().string(),
         .problem = "is a ViT of timm whose " + std::to_string(count) + " patches are not a square",
         .hint = "describe it with {layout} FILE.json"});
  }
  if (!heads) {
    throw Error(ErrorKind::unsupported,
                {.file = checkpoint.main_file().string(),
                 .problem = "is a ViT of timm, but its file does not contain the number of heads",
                 .hint = "load it with timm, and describe it with {layout} FILE.json"});
  }
  const nlohmann::json config = {
      {"model_type", "vit"},
      {"hidden_size", width},
      {"num_hidden_layers", count_layers(checkpoint, "blocks.{layer}.norm1.weight")},
      {"num_attention_heads", *heads},
      {"intermediate_size", up->view.shape[0]},
      {"image_size", side * kernel[2]},
      {"patch_size", kernel[2]},
      {"num_channels", kernel[1]},
      {"layer_norm_eps", 1e-6},
      {"hidden_act", "gelu"},
      {"qkv_bias", checkpoint.find("blocks.0.attn.qkv.bias") != nullptr}};
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
