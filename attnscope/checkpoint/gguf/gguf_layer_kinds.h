// Sizes of files whose layers with a window differ from those without (Gemma 4).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "attnscope/checkpoint/gguf/gguf_facts.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

/// Puts them into a config.json that has the others. Throws Error(format) for lists of another
/// length than the number of layers.
void add_sizes_by_kind(nlohmann::json& config, const GgufFile& file, const GgufFamily& family,
                       const GgufFacts& facts);

/// Their rotary positions: of full layers as many pairs turn as the file has divisors of one.
nlohmann::json rope_by_kind(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts);

}  // namespace attnscope
