// Checks that an adapter file contains everything that its config names.
#pragma once

#include <set>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/adapters/adapter_names.h"
#include "attnscope/adapters/adapter_parts.h"

namespace attnscope {

/// `adapted`: the tensors of the base that modules of the file change. Throws Error(format) with
/// the name of a tensor that is missing.
void check_complete(const BaseNames& base, const Checkpoint& files, const AdapterConfig& config,
                    const AdapterParts& parts, const std::set<const CheckpointTensor*>& adapted);

}  // namespace attnscope
