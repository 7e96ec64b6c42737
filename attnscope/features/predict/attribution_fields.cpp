// Rows of `predict --attribution`: what each part of a model adds to a logit.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

RowKind attribution_rows() {
  constexpr std::string_view kSection = "metrics.md#attribution";
  constexpr std::string_view kParameters = "formats.md#parameters";
  Field token = {.name = "token",
                 .type = record,
                 .nulls = Nulls::whole,
                 .meaning = "the token whose logit is taken apart; null: those that follow",
                 .where = kSection,
                 .fields = source_tokens_fact().fields};
  Field against = token;
  against.name = "against";
  against.meaning = "the token whose logit is taken off; null: the mean over the vocabulary is";
  const auto of_prompts = [](std::string_view name, std::string_view unit,
                             std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = unit,
                 .meaning = meaning,
                 .where = "metrics.md#prompts-with-an-answer",
                 .with = "prompts"};
  };
  RowKind kind = {
      .name = "attribution",
      .command = "predict",
      .option = "attribution",
      .meaning = "what a part of a model adds directly to a logit",
      .place = {model_field(),
                stack_field(),
                {.name = "layer",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "the part's layer, from 0; null: of none",
                 .where = kSection},
                {.name = "head",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "the query head, from 0; null: of none",
                 .where = kSection}},
      .fields = {{.name = "component",
                  .type = text,
                  .meaning = "what adds it: the tokens' embedding, their positions, a head, the "
                             "bias of an output projection, an MLP, the final norm's bias",
                  .where = kSection,
                  .choices = {"embedding", "positions", "head", "output_bias", "mlp", "norm_bias"}},
                 {.name = "direct_effect",
                  .unit = "logits",
                  .heading = "direct_effect",
                  .meaning = "what it adds, mean over places; all parts sum to the logit",
                  .where = kSection},
                 of_prompts("direct_effect_error", "logits",
                            "the standard error of that over prompts; null of one prompt"),
                 of_prompts("corrupted_direct_effect", "logits",
                            "what it adds after corrupted prompts; null where there are none"),
                 of_prompts("share", "share of the preference",
                            "what it adds after clean prompts beyond that after corrupted ones, of "
                            "what all parts do; null where there is no preference"),
                 of_prompts("share_error", "share of the preference",
                            "the standard error of that over prompts; null of one prompt")},
      .models = model_facts(),
      .parameters = {{.name = "attribution",
                      .type = flag,
                      .meaning = "that rows are what parts of the model add to a logit",
                      .where = kParameters},
                     {.name = "source",
                      .type = text,
                      .meaning = "where the tokens come from: text, a file's name, tokens; absent "
                                 "of prompts",
                      .where = kParameters,
                      .optional = true},
                     prompts_parameter_field()}};
  kind.models.push_back({.name = "attributed",
                         .type = record,
                         .meaning = "which logit",
                         .where = kSection,
                         .fields = {token,
                                    against,
                                    {.name = "positions",
                                     .type = integer,
                                     .unit = "tokens",
                                     .meaning = "how many places the means are over",
                                     .where = kSection},
                                    {.name = "logit",
                                     .unit = "logits",
                                     .meaning = "what the model itself gives, less the mean over "
                                                "the vocabulary or the other token's",
                                     .where = kSection},
                                    {.name = "corrupted_logit",
                                     .nulls = Nulls::whole,
                                     .unit = "logits",
                                     .meaning = "of prompts: the same after corrupted ones; null "
                                                "where there are none",
                                     .where = kSection,
                                     .optional = true}}});
  return kind;
}

}  // namespace attnscope
