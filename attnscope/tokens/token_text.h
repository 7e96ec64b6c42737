// How a token is shown to a person: on one line, in a terminal that it cannot disturb.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

enum class Spaces {
  kept,
  visible,  // as `␣`, where nothing around a token shows where it begins and ends
};

/// The bytes that a token stands for, as readable text in UTF-8: a byte of a broken sequence
/// becomes
/// `\xE2`, a newline `\n`, a tab `\t`, a backslash `\\`, and what is not seen or moves what is
/// around it (controls, bidirectional marks, joiners, variation selectors) `\u{200D}`.
std::string token_text(std::string_view bytes, Spaces spaces = Spaces::kept);

}  // namespace attnscope
