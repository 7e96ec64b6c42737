// Rows of `lens`: each residual-stream state over a text, or at each of its tokens.
#include "attnscope/features/common/fields.h"
#include "attnscope/features/common/certainty_fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kLensSection = "metrics.md#logit-lens";

Field state_layer_field() {
  return {.name = "layer",
          .type = integer,
          .heading = "layer",
          .meaning = "layer of the residual-stream state, from 0",
          .where = kLensSection};
}

Field state_field() {
  return {.name = "state",
          .type = text,
          .meaning =
              "point in the residual stream. resid_pre: before the layer. resid_mid: after its "
              "attention. resid_mid_cross: after its cross-attention. resid_post: after the last "
              "layer. Others: what one component of the layer alone adds to the residual stream.",
          .where = kLensSection,
          .choices = {"resid_pre", "attn_out", "mixer_out", "resid_mid", "cross_attn_out",
                      "resid_mid_cross", "mlp_out", "resid_post"}};
}

Field measure(std::string_view name, std::string_view unit, std::string_view heading,
              std::string_view meaning, Nulls nulls = Nulls::none) {
  return {.name = name,
          .nulls = nulls,
          .unit = unit,
          .heading = heading,
          .meaning = meaning,
          .where = kLensSection};
}

std::vector<Field> mean_fields(Nulls of_tokens) {
  return {
      measure("loss", "nats", "loss", "mean negative log-probability of the text's token",
              of_tokens),
      measure("entropy", "nats", "entropy", "mean entropy of the predicted distribution"),
      measure(
          "kl", "nats", "kl",
          "mean KL divergence KL(model's final prediction ‖ prediction decoded from the state)"),
      measure("mean_reciprocal_rank", "", "1/rank",
              "mean reciprocal rank of the text's token; 1: always the top-1 token", of_tokens),
      measure("median_rank", "tokens", "median rank", "median rank of the text's token", of_tokens),
      measure("top1", "share of positions", "top-1",
              "share of positions whose top-1 token is the text's token", of_tokens),
      measure("agreement", "share of positions", "agreement",
              "share of positions whose top-1 token is also the top-1 token of the model's final "
              "prediction")};
}

Field mid_parameter() {
  return {.name = "resid_mid",
          .type = flag,
          .meaning = "true: states within layers (after attention) are also decoded",
          .where = "formats.md#parameters"};
}

/// Which states are decoded, and with which lens.
void add_state_parameters(std::vector<Field>& parameters) {
  parameters.push_back(mid_parameter());
  const auto component = [&](std::string_view name, std::string_view meaning) {
    parameters.push_back({.name = name,
                          .type = flag,
                          .meaning = meaning,
                          .where = "formats.md#parameters",
                          .with = "states"});
  };
  component("attn_out", "true: what each attention (or other mixer) adds is also decoded");
  component("mlp_out", "true: what each MLP adds is also decoded");
  parameters.push_back({.name = "tuned_lens",
                        .type = text,
                        .meaning = "folder of the tuned lens that translates states before layers",
                        .where = "formats.md#parameters",
                        .with = "tuned_lens"});
}

}  // namespace

RowKind lens_rows() {
  RowKind kind = {
      .name = "lens",
      .command = "lens",
      .meaning = "quality of the predictions decoded from one residual-stream state over a text",
      .place = {model_field(), stack_field(), state_layer_field(), state_field()},
      .fields = {{.name = "positions",
                  .type = integer,
                  .unit = "tokens",
                  .meaning =
                      "number of positions over which entropy, kl and agreement are averaged",
                  .where = kLensSection},
                 {.name = "predicted",
                  .type = integer,
                  .unit = "tokens",
                  .meaning =
                      "number of positions with a target token: the next token, or the masked one",
                  .where = kLensSection}},
      .models = model_facts(),
      .parameters = text_parameter_fields()};
  for (Field& field : mean_fields(Nulls::none)) kind.fields.push_back(std::move(field));
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  add_state_parameters(kind.parameters);
  kind.parameters.push_back(tokens_hash_parameter());
  kind.parameters.push_back(edits_hash_parameter());
  return kind;
}

RowKind lens_grid_rows() {
  RowKind kind = {
      .name = "lens_grid",
      .command = "lens",
      .option = "grid",
      .meaning = "prediction decoded from one residual-stream state at one token of a text",
      .place = {model_field(),
                stack_field(),
                state_layer_field(),
                state_field(),
                {.name = "position",
                 .type = integer,
                 .unit = "tokens",
                 .meaning = "position of the token in the text, from 0",
                 .where = kLensSection}},
      .models = model_facts()};
  kind.fields = {
      {.name = "token_id",
       .type = integer,
       .meaning = "id of the token at this position",
       .where = kLensSection},
      {.name = "text",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "text of the token at this position; null if no tokenizer can decode it",
       .where = kLensSection},
      message_role_field(),
      {.name = "top_token",
       .type = integer,
       .meaning = "id of the top-1 token decoded from the state",
       .where = kLensSection},
      {.name = "top_text",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "text of the top-1 token; null if no tokenizer can decode it",
       .where = kLensSection},
      measure("probability", "", "", "probability of the top-1 token"),
      {.name = "rank",
       .type = integer,
       .unit = "tokens",
       .meaning =
           "rank of the model's final top-1 token in the distribution decoded from the state; 1 if "
           "it is the top-1 token there too",
       .where = kLensSection},
      measure("entropy", "nats", "", "entropy of the distribution decoded from the state"),
      measure("kl", "nats", "",
              "KL divergence KL(model's final prediction ‖ prediction decoded from the state)"),
      {.name = "top_tokens",
       .type = record,
       .form = list,
       .meaning = "most likely tokens, in descending order",
       .where = kLensSection,
       .with = "top",
       .fields = {{.name = "token_id",
                   .type = integer,
                   .meaning = "id of the token",
                   .where = kLensSection},
                  {.name = "text",
                   .type = text,
                   .nulls = Nulls::whole,
                   .meaning = "text of the token; null if no tokenizer can decode it",
                   .where = kLensSection},
                  measure("logit", "", "", "logit of the token"),
                  measure("probability", "", "",
                          "probability of the token: softmax over the vocabulary")}}};
  Field states = {.name = "states",
                  .type = record,
                  .form = list,
                  .meaning = "means over the text for each residual-stream state",
                  .where = kLensSection};
  states.fields = {state_layer_field(), state_field()};
  for (Field& field : mean_fields(Nulls::whole)) states.fields.push_back(std::move(field));
  kind.models.push_back(std::move(states));
  kind.parameters = {{.name = "grid",
                      .type = flag,
                      .meaning = "true: one row per state and token of a single text",
                      .where = "formats.md#parameters"},
                     text_parameter_fields().front()};
  add_chat_parameter_fields(kind.parameters);
  add_state_parameters(kind.parameters);
  kind.parameters.push_back({.name = "top",
                             .type = integer,
                             .unit = "tokens",
                             .meaning = "number of most likely tokens listed per row; 1 if absent",
                             .where = "formats.md#parameters",
                             .with = "top"});
  kind.parameters.push_back(edits_hash_parameter());
  return kind;
}

RowKind lens_prompts_rows() {
  RowKind kind = {.name = "lens_prompts",
                  .command = "lens",
                  .option = "prompts",
                  .meaning = "how strongly one residual-stream state prefers the correct answers",
                  .place = {model_field(), stack_field(), state_layer_field(), state_field()},
                  .models = model_facts(),
                  .parameters = {prompts_parameter_field()}};
  add_state_parameters(kind.parameters);
  kind.parameters.push_back(edits_hash_parameter());
  kind.fields = preference_fields();
  const auto own = [](std::string_view name, std::string_view unit, std::string_view heading,
                      std::string_view meaning, Nulls nulls) {
    Field field = measure(name, unit, heading, meaning, nulls);
    field.where = "metrics.md#prompts-with-an-answer";
    return field;
  };
  const auto after = kind.fields.begin() + 1;
  kind.fields.insert(
      after,
      own("logit_difference_error", "logits", "",
          "standard error of the mean clean logit difference; null for one prompt", Nulls::whole));
  const std::vector<Field> shares = {
      own("share", "share of the preference", "share",
          "Clean minus corrupted logit difference, divided by its value at the final state. "
          "Without corrupted prompts: the same ratio for the clean logit difference alone. Null if "
          "the final value is not positive.",
          Nulls::whole),
      own("share_error", "share of the preference", "",
          "standard error of `share` over prompts; null for one prompt", Nulls::whole),
      own("preference_accuracy", "share of prompts", "accuracy",
          "share of clean prompts whose correct answer scores above the incorrect one",
          Nulls::none)};
  kind.fields.insert(kind.fields.end() - 1, shares.begin(), shares.end());
  const auto add = [&](const std::vector<Field>& fields) {
    kind.fields.insert(kind.fields.end(), fields.begin(), fields.end());
  };
  add(mean_interval_fields("logit_difference_low", "logit_difference_high", "logits",
                           "lower end of the 95% bootstrap interval of logit_difference over clean "
                           "prompts. Null for fewer than 8 independent prompts."));
  add(share_certainty_fields());
  return kind;
}

RowKind lens_label_rows() {
  RowKind kind = {
      .name = "lens_label",
      .command = "lens",
      .option = "label",
      .meaning = "the label that one residual-stream state predicts",
      .place = {model_field(), stack_field(), state_layer_field(), state_field()},
      .fields = {measure("label_logit", "logits", "logit",
                         "logit of the label decoded from the state, mean over texts"),
                 measure("label_logit_error", "logits", "",
                         "standard error of label_logit over texts; null for one text",
                         Nulls::whole),
                 measure("label_probability", "", "probability",
                         "probability of the label decoded from the state, mean over texts; "
                         "null for regression",
                         Nulls::whole),
                 measure("label_probability_error", "", "",
                         "standard error of label_probability over texts; null for one text "
                         "and for regression",
                         Nulls::whole),
                 measure("top_label", "share of texts", "top label",
                         "share of texts for which the state predicts the label as the most "
                         "likely one; null for regression, multi-label classification and a "
                         "single label",
                         Nulls::whole),
                 {.name = "sequences",
                  .type = integer,
                  .meaning = "number of texts over which the means are taken",
                  .where = kLensSection}},
      .models = model_facts(),
      .parameters = {label_parameter_field()}};
  for (Field& field : text_parameter_fields()) kind.parameters.push_back(std::move(field));
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(mid_parameter());
  kind.parameters.push_back(edits_hash_parameter());
  return kind;
}

}  // namespace attnscope
