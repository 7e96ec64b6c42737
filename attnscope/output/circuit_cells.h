// What the tables of `circuits` share.
#pragma once

#include <string>

#include "attnscope/results/record.h"

namespace attnscope {

/// "weights as stored: no norms, biases or positions", or what was done to them.
std::string variant_text(const Record& parameters);

}  // namespace attnscope
