#include "attnscope/output/legend.h"

#include <vector>

#include "attnscope/core/text.h"
#include "attnscope/output/terminal.h"

namespace attnscope {

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
