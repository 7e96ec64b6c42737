#include "attnscope/features/common/certainty_marks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "attnscope/base/text.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

bool is_insignificant(const Record& row, const std::string& measure) {
  const std::string direction = measure.substr(0, measure.find('_'));
  const Value* known = row.find(direction + "_significant");
  if (known != nullptr && known->get<bool>() != nullptr) return !*known->get<bool>();
  const auto value = number_field(row, measure), error = number_field(row, measure + "_error");
  return value && error && std::abs(*value) <= 2 * *error;
}

std::string insignificance_text(const std::vector<Record>& rows) {
  const bool tested = std::ranges::any_of(rows, [](const Record& row) {
    return std::ranges::any_of(row.fields(), [](const auto& field) {
      return field.first.ends_with("_significant") && !field.second.is_null();
    });
  });
  if (!tested) return "·: within 2 standard errors of 0, over prompts.";
  return fmt::format(
      "·: not significant (sign-flip test over prompts, false discovery rate 5% among {}).",
      counted(integer_field(rows.front(), "tests"), "test"));
}

}  // namespace attnscope
