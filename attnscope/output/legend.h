// What the numbers of a table mean, in a sentence below it.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "attnscope/output/writers.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// "the last token of each example": which tokens count in the losses and means of a report; empty
/// if all do.
std::string scored_words(const Record& parameters);
/// " Losses and means are over " those; empty if all count.
std::string scored_sentence(const Record& parameters);

/// Writes `text`, broken at blanks into lines of at most `options.width` columns, and after it a
/// key of colours (Style::key), which is never broken.
void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key = "");

}  // namespace attnscope
