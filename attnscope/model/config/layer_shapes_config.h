// Reads the shapes of each layer from config.json.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Returns the sizes of MLPs if the file lists one per layer; otherwise empty. Throws Error(format)
/// for a list that is too short.
std::vector<std::int64_t> listed_mlp_widths(const ConfigReader& config,
                                            const Architecture& architecture, std::int64_t layers);

/// The sizes of each layer in stages, see StageRule. Throws Error(format) for lists that contradict
/// each other.
std::vector<Dimensions> read_stages(const ConfigReader& config, const Architecture& architecture);

/// Sets what differs from layer to layer, if anything does. Sources are the architecture's rule,
/// lists, and `per_layer_config` of transformers 5. Throws Error(format) for numbers that
/// contradict each other, Error(unsupported) for other differences between layers.
void read_layer_shapes(ModelSpec& spec, const ConfigReader& config);

/// Makes layer `layer` reuse the keys and values of an earlier one. Throws Error(format), naming
/// `where`, unless that layer computes its own, of the same shape.
void share_keys_and_values(ModelSpec& spec, std::int64_t layer, std::int64_t from,
                           std::string_view where);

}  // namespace attnscope
