#include "attnscope/output/attention_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/output/layer_grid.h"
#include "attnscope/output/terminal.h"

namespace attnscope {

std::string mean_and_error(const Record& row, const std::string& name, const char* format,
                           const char* error_format) {
  const std::string mean = number_text(row, name, format);
  const std::string error = number_text(row, name + "_error", error_format);
  return mean == "-" || error == "-" ? mean : mean + " ±" + error;
}

std::string head_text(const Record& row) {
  return fmt::format("L{} H{}", integer_field(row, "layer"), integer_field(row, "head"));
}

std::string sequences_text(const Record& parameters) {
  const auto count = integer_field(parameters, "sequences");
  const auto length = integer_field(parameters, "length");
  const std::string source = text_field(parameters, "source");
  const std::string noun = noun_for(count, "sequence");
  std::string text = count == 0 ? noun : grouped(count) + " " + noun;
  if (length > 0) text += " of " + grouped(length) + " " + noun_for(length, "token");
  if (const auto target = integer_field(parameters, "target_length"); target > 0) {
    text += " and a target of " + grouped(target);
  }
  return source.empty() ? text : text + " (" + printable(source) + ")";
}

char density_character(double share) {
  constexpr std::string_view kRamp = " .:-=+*#%@";
  const auto last = static_cast<double>(kRamp.size());
  return kRamp[static_cast<std::size_t>(std::clamp(share * last, 0.0, last - 1))];
}

}  // namespace attnscope
