#include "attnscope/model/layout_shapes.h"

#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/model/layer_shapes_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// In ascending order.
std::vector<std::int64_t> shaped_layers(LayoutFields& fields, std::int64_t layers) {
  const json* listed = fields.find("layers");
  if (listed == nullptr || !listed->is_array() || listed->empty()) {
    fields.fail("'layers' is not a list of layers");
  }
  std::vector<std::int64_t> out;
  for (const json& layer : *listed) {
    const bool is_layer = layer.is_number_unsigned() &&
                          layer.get<std::uint64_t>() < static_cast<std::uint64_t>(layers);
    if (!is_layer || (!out.empty() && layer.get<std::int64_t>() <= out.back())) {
      fields.fail("'layers' does not list layers from 0 to " + std::to_string(layers - 1) +
                  " in ascending order");
    }
    out.push_back(layer.get<std::int64_t>());
  }
  return out;
}

}  // namespace

void parse_layout_shapes(LayoutFields& fields, ModelSpec& spec) {
  const json* list = fields.find("layer_shapes");
  if (list == nullptr) return;
  if (!list->is_array()) fields.fail("'layer_shapes' is not a list");
  const std::int64_t layers = spec.dimensions.layers;
  spec.own_dimensions.assign(static_cast<std::size_t>(layers), spec.dimensions);
  spec.key_values.resize(static_cast<std::size_t>(layers));
  for (std::size_t entry = 0; entry < list->size(); ++entry) {
    LayoutFields own((*list)[entry], spec.source, "layer_shapes[" + std::to_string(entry) + "]");
    const std::vector<std::int64_t> shaped = shaped_layers(own, layers);
    const auto kv_heads = own.number("kv_heads"), head_dim = own.number("head_dim"),
               value_dim = own.number("value_dim"), mlp_width = own.number("mlp_width"),
               shared_width = own.number("shared_width");
    const bool values_are_keys = own.flag("values_are_keys", false);
    const auto from = own.number("keys_and_values_of", /*least=*/0);
    own.refuse_unknown();
    if (spec.dimensions.latent) own.fail("layers with latents do not differ in shape");
    if (mlp_width && spec.dimensions.mlp_width == 0) own.fail("there is no MLP of a 'mlp_width'");
    if (shared_width && spec.dimensions.shared_width == 0) {
      own.fail("there are no shared experts of a 'shared_width'");
    }
    for (const std::int64_t layer : shaped) {
      Dimensions& dimensions = spec.own_dimensions[static_cast<std::size_t>(layer)];
      HeadShape& heads = dimensions.heads;
      heads.kv_heads = kv_heads.value_or(heads.kv_heads);
      if (head_dim) heads.head_dim = heads.value_dim = *head_dim;
      heads.value_dim = value_dim.value_or(heads.value_dim);
      dimensions.mlp_width = mlp_width.value_or(dimensions.mlp_width);
      dimensions.shared_width = shared_width.value_or(dimensions.shared_width);
      check_dimensions(dimensions, spec.source);
      if (values_are_keys && heads.head_dim != heads.value_dim) {
        own.fail("'values_are_keys' needs values of the size of keys");
      }
      auto& sharing = spec.key_values[static_cast<std::size_t>(layer)];
      sharing.values_are_keys = sharing.values_are_keys || values_are_keys;
      if (from) share_keys_and_values(spec, layer, *from, spec.source);
    }
  }
}

PerLayerInputRule parse_layout_layer_input(LayoutFields fields) {
  PerLayerInputRule rule{.width = {"", fields.required_number("width")},
                         .table = fields.required_text("table"),
                         .projection = fields.required_text("projection"),
                         .projection_norm = fields.required_text("projection_norm"),
                         .gate = fields.required_text("gate"),
                         .up = fields.required_text("up"),
                         .norm = fields.required_text("norm")};
  fields.refuse_unknown();
  return rule;
}

}  // namespace attnscope
