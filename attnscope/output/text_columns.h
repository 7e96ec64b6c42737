// Texts in any script in a fixed number of a terminal's columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// `text`, valid UTF-8 without control characters, in exactly so many columns: filled up with
/// spaces, or cut, which `…` at its end shows.
std::string fitted_text(std::string_view text, std::int64_t columns);

/// The first characters of a text, each with the marks that belong to it: at most `most`, the last
/// of a longer text replaced by `…`. A character wider than `columns` becomes `▯`.
std::vector<std::string> characters_of(std::string_view text, std::size_t most,
                                       std::int64_t columns);

}  // namespace attnscope
