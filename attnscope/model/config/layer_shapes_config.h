// From config.json to the shapes of each layer.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// The widths of MLPs where the file lists one for each layer; else empty. Throws Error(format) for
/// a list that is too short.
std::vector<std::int64_t> listed_mlp_widths(const ConfigReader& config,
                                            const Architecture& architecture, std::int64_t layers);

/// Fills in what differs from layer to layer, where anything does: by the architecture's rule, by
/// lists, and by `per_layer_config`, as transformers 5 writes it. Throws Error(format) for numbers
/// that contradict each other, Error(unsupported) for other things that layers differ in.
void read_layer_shapes(ModelSpec& spec, const ConfigReader& config);

/// Keys and values of layer `layer` are to be those of an earlier one. Throws Error(format), naming
/// `where`, unless that makes its own, of the same shape.
void share_keys_and_values(ModelSpec& spec, std::int64_t layer, std::int64_t from,
                           std::string_view where);

}  // namespace attnscope
