#include "attnscope/features/ablate/effect_fields.h"

#include <utility>

namespace attnscope {

std::vector<Field> effect_fields() {
  constexpr std::string_view kSection = "metrics.md#activation-patching";
  const auto number = [&](std::string_view name, std::string_view unit, std::string_view heading,
                          std::string_view meaning, Nulls nulls = Nulls::whole) {
    return Field{.name = name,
                 .nulls = nulls,
                 .unit = unit,
                 .heading = heading,
                 .meaning = meaning,
                 .where = kSection};
  };
  constexpr std::string_view kShare = "share of the gap", kUnit = "unit of the metric";
  return {
      number("denoising_effect", kShare, "denoising effect",
             "Share of the clean–corrupted gap that the clean activation restores in the corrupted "
             "run: (patched − corrupted) / (clean − corrupted), of means over prompts. Null if the "
             "gap is within two standard errors of 0, or if only noising is requested."),
      number("denoising_effect_error", kShare, "",
             "standard error of denoising_effect, including that of the gap: delete-one jackknife "
             "over prompts. Null for one prompt."),
      number("denoising_change", kUnit, "denoising change",
             "change of the metric in the corrupted run: patched − corrupted, mean over prompts. "
             "Null if only noising is requested."),
      number("denoising_change_error", kUnit, "",
             "standard error of denoising_change over prompts. Null for one prompt."),
      number("noising_effect", kShare, "noising effect",
             "Share of the clean–corrupted gap that is lost with the corrupted activation in the "
             "clean run: (clean − patched) / (clean − corrupted), of means over prompts. Null if "
             "the gap is within two standard errors of 0, or if only denoising is requested."),
      number("noising_effect_error", kShare, "",
             "standard error of noising_effect, including that of the gap: delete-one jackknife "
             "over prompts. Null for one prompt."),
      number("noising_change", kUnit, "noising change",
             "change of the metric in the clean run: clean − patched, mean over prompts. Null if "
             "only denoising is requested."),
      number("noising_change_error", kUnit, "",
             "standard error of noising_change over prompts. Null for one prompt."),
      number("clean_metric", kUnit, "clean",
             "the metric on clean prompts, mean over prompts. 0 for kl.", Nulls::none),
      number("corrupted_metric", kUnit, "corrupted",
             "the metric on corrupted prompts, mean over prompts", Nulls::none),
      {.name = "prompts",
       .type = FieldType::integer,
       .meaning = "number of prompts over which the means are taken",
       .where = kSection}};
}

void add_certainty_fields(RowKind& kind) {
  constexpr std::string_view kSection = "metrics.md#certainty";
  const auto number = [&](std::string_view name, std::string_view unit, std::string_view meaning) {
    return Field{
        .name = name, .nulls = Nulls::whole, .unit = unit, .meaning = meaning, .where = kSection};
  };
  const auto significant = [&](std::string_view name, std::string_view meaning) {
    return Field{.name = name,
                 .type = FieldType::flag,
                 .nulls = Nulls::whole,
                 .meaning = meaning,
                 .where = kSection};
  };
  constexpr std::string_view kShare = "share of the gap";
  std::vector<Field> fields = {
      number("denoising_effect_low", kShare,
             "lower end of the 95% bootstrap interval of denoising_effect over prompts. Null for "
             "fewer than 8 independent prompts, and if the gap of a resample has another sign."),
      number("denoising_effect_high", kShare, "upper end of that interval"),
      number("denoising_p_value", "",
             "two-sided sign-flip p-value of the change of the metric over prompts, not corrected. "
             "Null if denoising is not measured."),
      significant("denoising_significant",
                  "whether the denoising effect is significant at a false discovery rate of 5% "
                  "among all tests (Benjamini-Hochberg). Null if so few prompts cannot reach it."),
      number("noising_effect_low", kShare,
             "lower end of the 95% bootstrap interval of noising_effect over prompts; null as for "
             "denoising"),
      number("noising_effect_high", kShare, "upper end of that interval"),
      number("noising_p_value", "", "the same p-value for noising"),
      significant("noising_significant", "the same for noising"),
      {.name = "tests",
       .type = FieldType::integer,
       .meaning = "number of tests of each direction, among which effects are significant",
       .where = kSection}};
  for (Field& field : fields) kind.fields.push_back(std::move(field));
}

}  // namespace attnscope
