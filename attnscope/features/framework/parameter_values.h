// Parses parameter values from texts.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/features/framework/parameter.h"

namespace attnscope {

/// Parses a text. Throws Error(usage) naming the parameter.
ParameterValue value_from_text(const Parameter& parameter, const std::string& text);

/// `2G`, `512M`, `1.5GiB`: K, M, G and T, alone or with iB, are powers of 1024; KB, MB, GB and TB
/// powers of 1000; B is a byte. Throws Error(usage) naming the parameter.
std::uint64_t parse_byte_size(const std::string& parameter, const std::string& text);

}  // namespace attnscope
