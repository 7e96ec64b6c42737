// Writes the legend that explains the numbers of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/record.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

/// "the last token of each example": which tokens count in the losses and means of a report; empty
/// if all do.
std::string scored_words(const Record& parameters);
/// The sentence " Losses and means are over …."; empty if all tokens count.
std::string scored_sentence(const Record& parameters);

/// Writes `text`, wrapped at blanks to at most `options.width` columns, followed by a color key
/// (Style::key), which is never wrapped.
void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key = "");

// Fits texts of any script into a fixed number of terminal columns.

/// Fits `text`, valid UTF-8 without control characters, into exactly that many columns: padded with
/// spaces, or cut and marked with `…`.
std::string fitted_text(std::string_view text, std::int64_t columns);

/// The first characters of a text with their combining marks: at most `most`, the last one of a
/// longer text replaced by `…`. A character wider than `columns` becomes `▯`.
std::vector<std::string> characters_of(std::string_view text, std::size_t most,
                                       std::int64_t columns);

}  // namespace attnscope
