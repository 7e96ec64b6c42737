// How to ask for fields that depend on a parameter of a report.
#pragma once

#include <string_view>

namespace attnscope {

/// In words, what a user gives for a report's parameter that is not an option of the command: "a
/// text" for `tokens_hash`. Empty if the command has an option of that name.
std::string_view asked_in_words(std::string_view command, std::string_view parameter);

}  // namespace attnscope
