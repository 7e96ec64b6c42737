#include "attnscope/core/wording.h"

#include "attnscope/core/text.h"

namespace attnscope {

std::vector<std::string> list_parts(std::string_view list) {
  std::vector<std::string> parts = split(list, ',');
  for (std::string& part : parts) {
    part.erase(0, part.find_first_not_of(" \t\n"));
    part.erase(part.find_last_not_of(" \t\n") + 1);
  }
  return parts;
}

std::string join_alternatives(std::span<const std::string> words) {
  if (words.size() < 2) return join(words);
  return join(words.first(words.size() - 1)) + " or " + words.back();
}

std::string runs_text(std::span<const std::int64_t> numbers) {
  std::string text;
  for (std::size_t first = 0; first < numbers.size();) {
    std::size_t last = first;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(numbers[first]);
    if (last > first) text += "-" + std::to_string(numbers[last]);
    first = last + 1;
  }
  return text;
}

std::string memory_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMegabyte = 1'000'000;
  return bytes < kMegabyte ? std::to_string(bytes) + " bytes"
                           : std::to_string(bytes / kMegabyte) + " MB";
}

}  // namespace attnscope
