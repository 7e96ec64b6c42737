// Sizes of files whose layers with a window differ from those without (Gemma 4).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/checkpoint/gguf/gguf_config.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"
#include "attnscope/checkpoint/gguf/gguf_tensor_evidence.h"

namespace attnscope {

/// Puts them into a config.json that has the others. Throws Error(format) for lists of another
/// length than the number of layers.
void add_sizes_by_kind(nlohmann::json& config, const GgufFile& file, const GgufFamily& family,
                       const GgufFacts& facts);

/// Their rotary positions: of full layers as many pairs turn as the file has divisors of one.
nlohmann::json rope_by_kind(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts);

// Rotary positions of a GGUF file's model. Include it only from .cpp files.

/// As config.json's rope_parameters, of transformers 5: the kind of scaling with its numbers, for
/// layers with and without a window where they differ.
nlohmann::json rope_parameters(const GgufFile& file, const GgufFamily& family,
                               const GgufFacts& facts, const GgufHeads& heads);

}  // namespace attnscope
