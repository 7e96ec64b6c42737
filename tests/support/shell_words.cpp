#include "tests/support/shell_words.h"

#include <array>
#include <cstdio>
#include <stdexcept>

#include "tests/support/temp_folder.h"

namespace attnscope::test {

std::vector<std::string> shell_words(const std::string& line) {
  const TempFolder folder;
  const std::string script =
      folder.write("line.sh", "attnscope() { printf '%s\\0' \"$@\"; }\n" + line + "\n").string();
  std::FILE* shell = popen(("/bin/sh " + script).c_str(), "r");
  if (shell == nullptr) throw std::runtime_error("no shell");
  std::string printed;
  std::array<char, 4096> part;
  for (std::size_t size = 0; (size = std::fread(part.data(), 1, part.size(), shell)) > 0;) {
    printed.append(part.data(), size);
  }
  if (pclose(shell) != 0) throw std::runtime_error("the shell refuses: " + line);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < printed.size(); at = printed.find('\0', at) + 1) {
    words.emplace_back(printed.c_str() + at);
  }
  return words;
}

}  // namespace attnscope::test
