// A text repeated many times.
#pragma once

#include <string>
#include <string_view>

namespace attnscope::test {

inline std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int count = 0; count < times; ++count) out += text;
  return out;
}

}  // namespace attnscope::test
