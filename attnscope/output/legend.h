// What the numbers of a table mean, in a sentence below it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "attnscope/output/writers.h"

namespace attnscope {

/// Writes `text`, broken at blanks into lines of at most `options.width` columns, and after it a
/// key of colours (Style::key), which is never broken.
void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key = "");

}  // namespace attnscope
