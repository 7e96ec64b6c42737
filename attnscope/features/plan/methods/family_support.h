// Checks what transformers can load, other than fewer layers and smaller MLPs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnscope/model/model.h"

namespace attnscope {

/// Whether the model has one of these architectures, without MoE and without MLA.
bool is_dense_of(const Model& model, std::span<const std::string_view> architectures);

/// Why rotary pairs of its heads cannot be regrouped; empty if they can.
std::string why_no_rotary(const ModelSpec& spec);

}  // namespace attnscope
