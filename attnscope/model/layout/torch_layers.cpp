#include "attnscope/model/layout/torch_layers.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kFirstProjection = "layers.0.self_attn.in_proj_weight";
const std::string kTorchLayer = "layers.{layer}.";

/// Returns what precedes "layers.0." in the names of the first stack.
std::optional<std::string> torch_prefix(const Checkpoint& checkpoint) {
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!tensor.name.ends_with(kFirstProjection)) continue;
    std::string prefix = tensor.name.substr(0, tensor.name.size() - kFirstProjection.size());
    if (prefix.empty() || prefix.ends_with('.')) return prefix;
  }
  return std::nullopt;
}

/// The shape of a matrix of one layer; empty if the file lacks it.
Shape shape_in(const Checkpoint& checkpoint, const std::string& prefix, const std::string& name,
               std::int64_t layer) {
  const CheckpointTensor* found =
      checkpoint.find(prefix + fill_pattern(kTorchLayer + name, {.layer = layer}));
  return found == nullptr ? Shape() : found->view.shape;
}

}  // namespace

std::optional<TorchLayers> layout_of_torch_layers(const Checkpoint& checkpoint) {
  const std::optional<std::string> prefix = torch_prefix(checkpoint);
  if (!prefix) return std::nullopt;
  const std::string fused = "self_attn.in_proj_weight", output = "self_attn.out_proj.weight",
                    up = "linear1.weight", down = "linear2.weight";
  const Shape first = shape_in(checkpoint, *prefix, up, 0);
  const Shape joined = shape_in(checkpoint, *prefix, fused, 0);
  if (first.size() != 2 || joined.size() != 2) return std::nullopt;
  const std::int64_t width = joined[1], mlp_width = first[0];
  std::int64_t layers = 0;
  for (;; ++layers) {
    if (shape_in(checkpoint, *prefix, fused, layers).empty()) break;
    const bool fits = shape_in(checkpoint, *prefix, fused, layers) == Shape{3 * width, width} &&
                      shape_in(checkpoint, *prefix, output, layers) == Shape{width, width} &&
                      shape_in(checkpoint, *prefix, up, layers) == Shape{mlp_width, width} &&
                      shape_in(checkpoint, *prefix, down, layers) == Shape{width, mlp_width};
    if (!fits) return std::nullopt;
  }
  ordered_json weights = ordered_json::array();
  const auto weight = [&](const char* role, const std::string& name) -> ordered_json& {
    weights.push_back({{"role", role}, {"tensor", kTorchLayer + name}});
    return weights.back();
  };
  for (const char* role : {"q", "k", "v"}) weight(role, fused)["fused"] = {"q", "k", "v"};
  weight("o", output);
  weight("up", up);
  weight("down", down);
  // nn.TransformerDecoderLayer is the one with cross-attention.
  const bool decoder = !shape_in(checkpoint, *prefix, "multihead_attn.in_proj_weight", 0).empty();
  const ordered_json layout = {{"schema", "attnscope-layout/1"},
                               {"name", decoder ? "TransformerDecoder" : "TransformerEncoder"},
                               {"layers", layers},
                               {"heads", nullptr},
                               {"hidden_size", width},
                               {"intermediate_size", mlp_width},
                               {"causal", decoder},
                               {"prefix", *prefix},
                               {"weights", weights}};
  TorchLayers out{.layout = layout.dump(2) + "\n", .prefix = *prefix};
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    bool named = tensor.view.shape.size() < 2;
    for (const std::string& name : {fused, output, up, down}) {
      named = named || match_pattern(*prefix + kTorchLayer + name, tensor.name).has_value();
    }
    if (!named) ++out.others;
  }
  return out;
}

}  // namespace attnscope
