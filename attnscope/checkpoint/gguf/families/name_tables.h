// Building blocks for the descriptions of architectures with GGUF's names.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/gguf/gguf_family.h"

namespace attnscope::gguf {

using Names = std::vector<GgufName>;
using Keys = std::vector<GgufKey>;

void drop(Names& names, std::initializer_list<std::string_view> dropped);

/// Adds names, or changes the meaning of existing ones.
void set(Names& names, const Names& meanings);

void add(Keys& keys, const Keys& more);

/// Sizes with the same config.json key in most architectures, and further sizes.
Keys sizes_with(const Keys& more);

/// Qwen2, whose tensor names most others use, under another name.
GgufFamily like_qwen2(std::string_view name, std::string_view model_type);

/// The same, with rows of queries and keys in rotary pairs.
GgufFamily like_llama(std::string_view name, std::string_view model_type);

/// Norms of queries and keys.
Names head_norms();

/// LayerNorms instead of RMS norms: the key of their epsilon.
void use_layer_norm(GgufFamily& family, std::string_view epsilon);

/// All descriptions.
std::vector<GgufFamily> dense_decoders();
std::vector<GgufFamily> decoders_of_own_names();
std::vector<GgufFamily> decoders_with_experts();
std::vector<GgufFamily> mla_decoders();
std::vector<GgufFamily> hybrid_decoders();
std::vector<GgufFamily> encoders();
std::vector<GgufFamily> encoder_decoders();

/// Experts of a layer, one tensor each, under `place`: "mlp".
Names expert_names(const std::string& place, const std::string& gate = "gate_proj",
                   const std::string& up = "up_proj", const std::string& down = "down_proj");

/// Shared experts under `place`.
Names shared_expert_names(const std::string& place);

/// Tensors of a layer that drafts future tokens. They are only listed.
Names draft_names();

}  // namespace attnscope::gguf
