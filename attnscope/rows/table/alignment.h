// What the numbers of a table mean, in a sentence below it.
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
/// " Losses and means are over " those; empty if all count.
std::string scored_sentence(const Record& parameters);

/// Writes `text`, broken at blanks into lines of at most `options.width` columns, and after it a
/// key of colours (Style::key), which is never broken.
void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key = "");

// Texts in any script in a fixed number of a terminal's columns.

/// `text`, valid UTF-8 without control characters, in exactly so many columns: filled up with
/// spaces, or cut, which `…` at its end shows.
std::string fitted_text(std::string_view text, std::int64_t columns);

/// The first characters of a text, each with the marks that belong to it: at most `most`, the last
/// of a longer text replaced by `…`. A character wider than `columns` becomes `▯`.
std::vector<std::string> characters_of(std::string_view text, std::size_t most,
                                       std::int64_t columns);

}  // namespace attnscope
