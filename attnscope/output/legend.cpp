#include "attnscope/output/legend.h"

#include <vector>

#include "attnscope/core/text.h"
#include "attnscope/output/terminal.h"

namespace attnscope {

namespace {

/// "last", "10-", "3,7": not the name of a mask's file.
bool are_positions(const std::string& text) {
  constexpr std::string_view kLast = "last";
  std::string numbers = text;
  for (auto at = numbers.find(kLast); at != std::string::npos; at = numbers.find(kLast)) {
    numbers.erase(at, kLast.size());
  }
  return numbers.find_first_not_of("0123456789-, ") == std::string::npos;
}

}  // namespace

std::string scored_words(const Record& parameters) {
  const Value* value = parameters.find("score_positions");
  const auto* given = value == nullptr ? nullptr : value->get<std::string>();
  if (given == nullptr) return "";
  if (*given == "last") return "the last token of each example";
  const std::string shown = printable(*given);
  return are_positions(*given) ? "the tokens at positions " + shown + " of each example"
                               : "the tokens that " + shown + " marks";
}

std::string scored_sentence(const Record& parameters) {
  const std::string words = scored_words(parameters);
  return words.empty() ? "" : " Losses and means are over " + words + ".";
}

void write_legend(std::string_view text, const WriteOptions& options, std::ostream& out,
                  const std::string& key) {
  const auto width = static_cast<std::size_t>(options.width);
  std::vector<std::string> lines = {""};
  for (const std::string& word : split(text, ' ')) {
    std::string& line = lines.back();
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  const Style style(options.color);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    out << (line == 0 ? "" : "\n") << style.dim(lines[line]);
  }
  if (!key.empty()) {
    const std::string_view joint = "; ";
    const bool fits = display_width(lines.back()) + joint.size() + display_width(key) <= width;
    out << (fits ? style.dim(joint) : "\n") << key;
  }
  out << '\n';
}

}  // namespace attnscope
