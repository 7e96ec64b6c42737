// Sizes of files in which layers with a window differ from other layers (Gemma 4).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/checkpoint/gguf/gguf_config.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"
#include "attnscope/checkpoint/gguf/gguf_tensor_evidence.h"

namespace attnscope {

/// Adds them to a config.json that contains the other sizes. Throws Error(format) for lists whose
/// length is not the number of layers.
void add_sizes_by_kind(nlohmann::json& config, const GgufFile& file, const GgufFamily& family,
                       const GgufFacts& facts);

/// Returns their RoPE settings. In full layers, as many pairs are rotated as the file has divisors
/// equal to one.
nlohmann::json rope_by_kind(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts);

// RoPE settings of a GGUF file's model. Include this header only from .cpp files.

/// Returns rope_parameters of config.json in transformers 5: the type of scaling with its numbers.
/// Separate objects for layers with and without a window, if they differ.
nlohmann::json rope_parameters(const GgufFile& file, const GgufFamily& family,
                               const GgufFacts& facts, const GgufHeads& heads);

}  // namespace attnscope
