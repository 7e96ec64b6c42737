#include "attnscope/cli/written_text.h"

#include <utility>

#include "attnscope/core/text.h"

namespace attnscope {
namespace {

constexpr std::string_view kNewLine = "\n  ";

}  // namespace

void WrittenText::add(std::string_view text) {
  std::string lines;
  for (const std::string& line : split(text, '\n'))
    lines += std::string(kNewLine) + printable(line);
  lines.erase(0, kNewLine.size());  // the first one goes on
  if (!std::exchange(begun_, true)) lines.insert(0, style_.bold("written") + std::string(kNewLine));
  if (is_shown_at_once()) {
    target_.write_now(lines);
  } else {
    kept_ += lines;
  }
}

void WrittenText::end() {
  if (is_shown()) target_.write_now("\n\n");
}

void WrittenText::break_off() {
  if (!begun_) return;
  if (is_shown_at_once()) return target_.write_now("\n");
  target_.write_now(kept_ + "\n(interrupted)\n");
}

}  // namespace attnscope
