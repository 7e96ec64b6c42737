// Rows of `predict --attribution`: direct logit attribution of each component.
#include "attnscope/features/common/certainty_fields.h"
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kSection = "metrics.md#attribution";

/// For chats: what heads read from the tokens of each message role.
std::vector<Field> effects_of_roles_fields() {
  const auto of_role = [](std::string_view name, std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = "logits",
                 .meaning = meaning,
                 .where = kSection,
                 .with = "chat_date"};
  };
  return {
      of_role("system_effect",
              "chats: part of direct_effect that a head reads from tokens of the roles system "
              "and developer. Null if the component is not a head, if the roles are unknown, or "
              "if the effect is not a sum over tokens, such as after a gate."),
      of_role("user_effect", "chats: the same for tokens of user messages"),
      of_role("assistant_effect", "chats: the same for tokens of assistant messages"),
      of_role("tool_effect", "chats: the same for tokens of tool messages"),
      of_role("template_effect", "chats: the same for tokens of the chat template")};
}

}  // namespace

RowKind attribution_rows() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  Field token = {
      .name = "token",
      .type = record,
      .nulls = Nulls::whole,
      .meaning = "token or label whose logit is attributed; null: the next token at each position",
      .where = kSection,
      .fields = source_tokens_fact().fields};
  Field against = token;
  against.name = "against";
  against.meaning =
      "token or label whose logit is subtracted; null: the mean over the vocabulary or over all "
      "labels is subtracted";
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
      .meaning = "direct effect of one component on a logit",
      .place = {model_field(),
                stack_field(),
                {.name = "layer",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "layer of the component, from 0; null if it belongs to no layer",
                 .where = kSection},
                {.name = "head",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "query head, from 0; null if the component is not a head",
                 .where = kSection}},
      .fields =
          {{.name = "component",
            .type = text,
            .meaning = "component: token embedding, position embedding, head, bias of W_O, "
                       "MLP, or bias of the final norm",
            .where = kSection,
            .choices = {"embedding", "positions", "head", "output_bias", "mlp", "norm_bias"}},
           {.name = "direct_effect",
            .unit = "logits",
            .heading = "direct effect",
            .meaning = "direct effect on the logit, mean over positions; the effects of all "
                       "components sum to the logit",
            .where = kSection},
           of_prompts("direct_effect_error", "logits",
                      "standard error of direct_effect over prompts; null for one prompt"),
           of_prompts("corrupted_direct_effect", "logits",
                      "direct effect on corrupted prompts; null without corrupted prompts"),
           of_prompts(
               "share", "share of the logit difference",
               "Share of the logit difference that this component adds directly, minus its effect "
               "on corrupted prompts if given. Null if that difference is not positive."),
           of_prompts("share_error", "share of the logit difference",
                      "standard error of share over prompts; null for one prompt")},
      .models = model_facts(),
      .parameters = {
          {.name = "attribution",
           .type = flag,
           .meaning = "true: rows are direct effects of components on a logit",
           .where = kParameters},
          {.name = "source",
           .type = text,
           .meaning =
               "source of the tokens: \"text\", a file name or \"tokens\"; absent for prompts",
           .where = kParameters,
           .optional = true},
          label_parameter_field(),
          prompts_parameter_field(),
          edits_hash_parameter()}};
  add_chat_parameter_fields(kind.parameters);
  const auto add = [&](const std::vector<Field>& fields) {
    kind.fields.insert(kind.fields.end(), fields.begin(), fields.end());
  };
  add(mean_interval_fields("direct_effect_low", "direct_effect_high", "logits",
                           "lower end of the 95% bootstrap interval of direct_effect over clean "
                           "prompts. Null for fewer than 8 independent prompts.",
                           "prompts"));
  add(share_certainty_fields("prompts"));
  add(effects_of_roles_fields());
  kind.models.push_back(
      {.name = "attributed",
       .type = record,
       .meaning = "the attributed logit",
       .where = kSection,
       .fields = {token,
                  against,
                  {.name = "positions",
                   .type = integer,
                   .unit = "tokens",
                   .meaning = "number of positions or prompts that the means are taken over",
                   .where = kSection},
                  {.name = "logit",
                   .unit = "logits",
                   .meaning = "logit of the model, minus the mean over the vocabulary or the logit "
                              "of the other token",
                   .where = kSection},
                  {.name = "corrupted_logit",
                   .nulls = Nulls::whole,
                   .unit = "logits",
                   .meaning = "prompts: logit difference of the model on corrupted prompts; null "
                              "without corrupted prompts",
                   .where = kSection,
                   .optional = true}}});
  return kind;
}

}  // namespace attnscope
