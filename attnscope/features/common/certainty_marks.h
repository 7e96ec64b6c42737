// Marks of effects on prompts that are not significant, in tables.
#pragma once

#include <string>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Whether a row's `measure` ("denoising_effect", "noising_change", "share") is not significant. If
/// that is unknown: whether it is within two standard errors of 0.
bool is_insignificant(const Record& row, const std::string& measure);

/// The mark `·` of such effects, explained for a report's rows.
std::string insignificance_text(const std::vector<Record>& rows);

}  // namespace attnscope
