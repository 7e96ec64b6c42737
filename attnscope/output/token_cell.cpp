#include "attnscope/output/token_cell.h"

#include <fmt/format.h>

#include "attnscope/core/text.h"
#include "attnscope/output/terminal.h"

namespace attnscope {

std::string token_cell(const Record& token, std::string_view text_field_name,
                       std::string_view id_field) {
  const std::string text = text_field(token, text_field_name);
  if (text.empty()) return fmt::format("<{}>", integer_field(token, id_field));
  std::string out;
  for (const char byte : printable(text)) {
    if (byte == ' ') {
      out += "␣";
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace attnscope
