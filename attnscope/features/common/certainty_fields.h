// Fields of intervals and tests over prompts.
#pragma once

#include <string_view>
#include <vector>

#include "attnscope/rows/field.h"

namespace attnscope {

/// Interval, p-value and significance of `share`, and the number of tests. `with`: the option that
/// they require, or empty.
std::vector<Field> share_certainty_fields(std::string_view with = {});

/// The interval of a mean over prompts: its two ends, with these names. `meaning`: of the lower
/// end.
std::vector<Field> mean_interval_fields(std::string_view low, std::string_view high,
                                        std::string_view unit, std::string_view meaning,
                                        std::string_view with = {});

}  // namespace attnscope
