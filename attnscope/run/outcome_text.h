// The outcomes of an item as a text, for a file or another process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/results/outcome.h"

namespace attnscope {

/// As JSON, and back. Rows of outcomes that were read back print the same bytes. parse_outcomes()
/// throws Error(format) for other text; the error names `where` as its file.
std::string outcomes_text(const std::vector<Outcome>& outcomes);
std::vector<Outcome> parse_outcomes(std::string_view text, std::string_view where);

}  // namespace attnscope
