// Rotary positions of a GGUF file's model. Include it only from .cpp files.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/checkpoint/gguf/gguf_config.h"

namespace attnscope {

/// As config.json's rope_parameters, of transformers 5: the kind of scaling with its numbers, for
/// layers with and without a window where they differ.
nlohmann::json rope_parameters(const GgufFile& file, const GgufFamily& family,
                               const GgufFacts& facts, const GgufHeads& heads);

}  // namespace attnscope
