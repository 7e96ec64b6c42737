// A tokenizer.json, a NUL byte, and a text: for any content, the Rust crate returns errors by
// value.
#include "attnscope/inputs/text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

using namespace attnscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(input.find('\0'), input.size());
  const std::string_view text =
      end < size ? input.substr(end + 1) : "The cat, the \u00e9l\u00e8ve\n";
  try {
    const Tokenizer tokenizer = Tokenizer::of_json(input.substr(0, end), "input");
    for (std::int64_t id = -1; id < std::min<std::int64_t>(tokenizer.count(), 300) + 1; ++id) {
      if (first_broken_utf8(tokenizer.text(id))) __builtin_trap();
    }
    const auto ids = tokenizer.encode(text, /*special=*/true);
    if (first_broken_utf8(tokenizer.decode(ids, /*skip_special=*/false))) __builtin_trap();
  } catch (const Error&) {
  }
  return 0;
}
