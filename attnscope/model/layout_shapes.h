// Layers that differ in shape, and inputs by layer, in a layout file.
#pragma once

#include "attnscope/model/layout_fields.h"
#include "attnscope/model/spec.h"

namespace attnscope {

/// The list `layer_shapes` into `spec`, whose dimensions are known.
void parse_layout_shapes(LayoutFields& fields, ModelSpec& spec);

/// The object `layer_input`.
PerLayerInputRule parse_layout_layer_input(LayoutFields fields);

}  // namespace attnscope
