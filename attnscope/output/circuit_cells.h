// What the tables of `circuits` share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attnscope/results/record.h"

namespace attnscope {

/// A number field; none where it is null, absent or something else.
std::optional<double> number_of(const Record& row, std::string_view name);

/// "weights as stored: no norms, biases or positions", or what was done to them.
std::string variant_text(const Record& parameters);

}  // namespace attnscope
