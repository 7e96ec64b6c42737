// Checkpoints of a program that keeps the model inside another module.
#pragma once

#include <span>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Returns the prefix of all names of the model's tensors: "model." in checkpoints of Lightning,
/// "transformer." in some classifiers of transformers. Empty if the names are those that a spec
/// describes, or if no prefix leads to such names. Throws Error(format) if the file contains
/// several such models.
std::string wrapper_prefix(const Checkpoint& checkpoint, std::span<const ModelSpec> specs);

/// Whether the files contain any projection of the model or stack.
bool has_projections(const Checkpoint& checkpoint, const ModelSpec& spec);

}  // namespace attnscope
