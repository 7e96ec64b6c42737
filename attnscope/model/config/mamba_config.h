// Reads the sizes and settings of Mamba layers from config.json.
#pragma once

#include <cstdint>

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/layer_spec.h"

namespace attnscope {

/// Throws Error(format) if the product of two sizes of a mixer exceeds a limit.
void check_size(std::int64_t a, std::int64_t b, const ConfigReader& config);

/// Read all but `epsilon` (and the activation of Mamba). `width`: D. Throw Error(format) for
/// missing or invalid values, and for sizes that contradict each other or exceed a limit.
MambaSpec read_mamba(const MambaRule& rule, const ConfigReader& config, std::int64_t width);
Mamba2Spec read_mamba2(const Mamba2Rule& rule, const ConfigReader& config, std::int64_t width);

}  // namespace attnscope
