// What stock classes of transformers can load, beyond fewer layers and narrower MLPs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnscope/model/model.h"

namespace attnscope {

/// Whether the model is of one of these architectures, and has neither experts nor latents.
bool is_dense_of(const Model& model, std::span<const std::string_view> architectures);

/// Why rotary pairs of its heads cannot be regrouped; empty if they can.
std::string why_no_rotary(const ModelSpec& spec);

}  // namespace attnscope
