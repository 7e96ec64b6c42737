// Splits a printed command like a shell.
#pragma once

#include <string>
#include <vector>

namespace attnscope::test {

/// The words that /bin/sh passes to the program for a line that begins with "attnscope".
std::vector<std::string> shell_words(const std::string& line);

}  // namespace attnscope::test
