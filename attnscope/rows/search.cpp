#include "attnscope/rows/search.h"

#include <array>

namespace attnscope {
namespace {

struct Asked {
  std::string_view command;  // empty: any
  std::string_view parameter;
  std::string_view words;
};

constexpr std::array<Asked, 4> kAsked = {{
    {"", "tokens_hash", "a text"},
    {"experts", "source", "a text"},
    {"plan", "target", "a form and a target"},
    {"predict", "input", "an image or audio"},
}};

}  // namespace

std::string_view asked_in_words(std::string_view command, std::string_view parameter) {
  for (const Asked& asked : kAsked) {
    const bool same = asked.command.empty() || asked.command == command;
    if (same && asked.parameter == parameter) return asked.words;
  }
  return "";
}

}  // namespace attnscope
