#include "attnscope/features/common/certainty_fields.h"

namespace attnscope {

using enum FieldType;

std::vector<Field> share_certainty_fields(std::string_view with) {
  constexpr std::string_view kSection = "metrics.md#certainty";
  const auto field = [&](std::string_view name, FieldType type, Nulls nulls,
                         std::string_view meaning) {
    return Field{.name = name,
                 .type = type,
                 .nulls = nulls,
                 .meaning = meaning,
                 .where = kSection,
                 .with = with};
  };
  return {
      field("share_low", number, Nulls::whole,
            "lower end of the 95% bootstrap interval of share over prompts. Null for fewer than "
            "8 independent prompts, and if the denominator of a resample is not positive."),
      field("share_high", number, Nulls::whole, "upper end of that interval"),
      field("share_p_value", number, Nulls::none,
            "two-sided sign-flip p-value of the numerator of share over prompts, not corrected"),
      field("share_significant", flag, Nulls::whole,
            "whether that numerator is significant at a false discovery rate of 5% among all "
            "tests (Benjamini-Hochberg). Null if so few prompts cannot reach it."),
      field("tests", integer, Nulls::none, "number of tests, among which shares are significant")};
}

std::vector<Field> mean_interval_fields(std::string_view low, std::string_view high,
                                        std::string_view unit, std::string_view meaning,
                                        std::string_view with) {
  Field first = {.name = low,
                 .nulls = Nulls::whole,
                 .unit = unit,
                 .meaning = meaning,
                 .where = "metrics.md#certainty",
                 .with = with};
  Field last = first;
  last.name = high;
  last.meaning = "upper end of that interval";
  return {first, last};
}

}  // namespace attnscope
