// Rows of `ablate --prompts`: whose doing it is that a model prefers the right answers.
#include "attnscope/results/fields/kinds.h"

namespace attnscope {

using enum FieldType;

Field prompts_parameter_field() {
  return {.name = "prompts",
          .type = text,
          .meaning = "the name of the file of prompts with answers",
          .where = "formats.md#parameters",
          .with = "prompts"};
}

std::vector<Field> preference_fields() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  return {{.name = "logit_difference",
           .unit = "logits",
           .meaning = "logit(right) − logit(wrong) after clean prompts, mean",
           .where = kSection},
          {.name = "corrupted_logit_difference",
           .nulls = Nulls::whole,
           .unit = "logits",
           .meaning = "the same after corrupted ones; null where there are none",
           .where = kSection},
          {.name = "prompts",
           .type = integer,
           .meaning = "how many prompts the means are over",
           .where = kSection}};
}

RowKind ablate_prompts_rows() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  RowKind kind = {.name = "ablate_prompts",
                  .command = "ablate",
                  .option = "prompts",
                  .meaning = "what share of the preference for right answers is a part's doing",
                  .place = place_of_part(),
                  .models = model_facts()};
  const auto share = [&](std::string_view name, std::string_view heading,
                         std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = "share of the preference",
                 .heading = heading,
                 .meaning = meaning,
                 .where = kSection};
  };
  kind.fields = {
      replaced_part_field(kSection),
      {.name = "how",
       .type = text,
       .meaning = "by what: what it gives after the corrupted prompt, its mean over the prompts, "
                  "or zeros",
       .where = kSection,
       .choices = {"corrupted", "mean", "zero"}},
      share("restored", "restored",
            "what it brings back after corrupted prompts where it is as after the clean ones; null "
            "without corrupted ones, or a preference"),
      share("restored_error", "", "the standard error of that over prompts; null of one prompt"),
      share("destroyed", "destroyed",
            "what is lost after clean prompts where it is replaced; null without a preference"),
      share("destroyed_error", "", "the standard error of that over prompts; null of one prompt")};
  for (Field& field : preference_fields()) kind.fields.push_back(std::move(field));
  kind.parameters = {prompts_parameter_field(),
                     {.name = "how",
                      .type = text,
                      .meaning = "what parts are replaced by",
                      .where = "formats.md#parameters",
                      .choices = {"corrupted", "mean", "zero"}},
                     layers_parameter()};
  return kind;
}

}  // namespace attnscope
