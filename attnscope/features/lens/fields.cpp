// Rows of `lens`: each state of the stream over a text, or at each token of it.
#include "attnscope/features/common/fields.h"
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
          .meaning = "Layer of the state, from 0.",
          .where = kLensSection};
}

Field state_field() {
  return {
      .name = "state",
      .type = text,
      .meaning =
          "Where the residual stream is read. resid_pre: before the layer. resid_mid: after its "
          "attention. resid_mid_cross: after its cross-attention. resid_post: after the "
          "last layer.",
      .where = kLensSection,
      .choices = {"resid_pre", "resid_mid", "resid_mid_cross", "resid_post"}};
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
      measure("loss", "nats", "loss", "−log of the probability of the text's token, mean",
              of_tokens),
      measure("entropy", "nats", "entropy", "of what is foretold, mean over places"),
      measure("kl", "nats", "kl", "KL(what the model foretells ‖ what the state does), mean"),
      measure("mean_reciprocal_rank", "", "1/rank",
              "one over the rank of the text's token, mean; 1: always the likeliest", of_tokens),
      measure("median_rank", "tokens", "median rank", "the rank of the text's token, median",
              of_tokens),
      measure("top1", "share of places", "preference_accuracy",
              "share of places whose likeliest token is the text's", of_tokens),
      measure("agreement", "share of places", "agrees",
              "share of places whose likeliest token is the model's")};
}

Field mid_parameter() {
  return {.name = "resid_mid",
          .type = flag,
          .meaning = "whether states within layers are read too",
          .where = "formats.md#parameters"};
}

}  // namespace

RowKind lens_rows() {
  RowKind kind = {.name = "lens",
                  .command = "lens",
                  .meaning = "what a state of the stream foretells over a text",
                  .place = {model_field(), stack_field(), state_layer_field(), state_field()},
                  .fields = {{.name = "positions",
                              .type = integer,
                              .unit = "tokens",
                              .meaning = "how many places entropy, kl and agreement are over",
                              .where = kLensSection},
                             {.name = "predicted",
                              .type = integer,
                              .unit = "tokens",
                              .meaning = "how many of them have a token that follows, or is masked",
                              .where = kLensSection}},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  for (Field& field : mean_fields(Nulls::none)) kind.fields.push_back(std::move(field));
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(mid_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

RowKind lens_grid_rows() {
  RowKind kind = {.name = "lens_grid",
                  .command = "lens",
                  .option = "grid",
                  .meaning = "what a state of the stream foretells at one token of a text",
                  .place = {model_field(),
                            stack_field(),
                            state_layer_field(),
                            state_field(),
                            {.name = "position",
                             .type = integer,
                             .unit = "tokens",
                             .meaning = "the place of the token in the text, from 0",
                             .where = kLensSection}},
                  .models = model_facts()};
  kind.fields = {
      {.name = "token_id", .type = integer, .meaning = "the token there", .where = kLensSection},
      {.name = "text",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "it as readable text; null where no tokenizer knows it",
       .where = kLensSection},
      {.name = "top_token",
       .type = integer,
       .meaning = "the token that the state takes for the likeliest",
       .where = kLensSection},
      {.name = "top_text",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "it as readable text; null where no tokenizer knows it",
       .where = kLensSection},
      measure("probability", "", "", "of the likeliest token"),
      {.name = "rank",
       .type = integer,
       .unit = "tokens",
       .meaning = "of the model's own likeliest token; 1: the likeliest here too",
       .where = kLensSection},
      measure("entropy", "nats", "", "of what is foretold there"),
      measure("kl", "nats", "", "KL(what the model foretells ‖ what the state does)"),
      {.name = "top_tokens",
       .type = record,
       .form = list,
       .meaning = "the likeliest tokens, the first first",
       .where = kLensSection,
       .with = "top",
       .fields = {{.name = "token_id",
                   .type = integer,
                   .meaning = "the token's id",
                   .where = kLensSection},
                  {.name = "text",
                   .type = text,
                   .nulls = Nulls::whole,
                   .meaning = "it as readable text; null where no tokenizer knows it",
                   .where = kLensSection},
                  measure("logit", "", "", "what the head gives for it"),
                  measure("probability", "", "", "softmax of the logits of all tokens")}}};
  Field states = {.name = "states",
                  .type = record,
                  .form = list,
                  .meaning = "means over the text, of each state",
                  .where = kLensSection};
  states.fields = {state_layer_field(), state_field()};
  for (Field& field : mean_fields(Nulls::whole)) states.fields.push_back(std::move(field));
  kind.models.push_back(std::move(states));
  kind.parameters = {{.name = "grid",
                      .type = flag,
                      .meaning = "that rows are of the tokens of one text",
                      .where = "formats.md#parameters"},
                     text_parameter_fields().front(),
                     mid_parameter(),
                     {.name = "top",
                      .type = integer,
                      .unit = "tokens",
                      .meaning = "how many of the likeliest tokens rows list; 1 where it is absent",
                      .where = "formats.md#parameters",
                      .with = "top"}};
  return kind;
}

RowKind lens_prompts_rows() {
  RowKind kind = {.name = "lens_prompts",
                  .command = "lens",
                  .option = "prompts",
                  .meaning = "how much a state of the stream prefers the right answers",
                  .place = {model_field(), stack_field(), state_layer_field(), state_field()},
                  .models = model_facts(),
                  .parameters = {prompts_parameter_field(), mid_parameter()}};
  kind.fields = preference_fields();
  const auto own = [](std::string_view name, std::string_view unit, std::string_view heading,
                      std::string_view meaning, Nulls nulls) {
    Field field = measure(name, unit, heading, meaning, nulls);
    field.where = "metrics.md#prompts-with-an-answer";
    return field;
  };
  const auto after = kind.fields.begin() + 1;
  kind.fields.insert(
      after, own("logit_difference_error", "logits", "",
                 "the standard error of the mean before it; null of one prompt", Nulls::whole));
  const std::vector<Field> shares = {
      own("share", "share of the preference", "share",
          "the difference between clean and corrupted prompts, of that in the end; null where "
          "there is none",
          Nulls::whole),
      own("share_error", "share of the preference", "",
          "the standard error of that over prompts; null of one prompt", Nulls::whole),
      own("preference_accuracy", "share of prompts", "preference_accuracy",
          "clean prompts whose right answer is preferred", Nulls::none)};
  kind.fields.insert(kind.fields.end() - 1, shares.begin(), shares.end());
  return kind;
}

}  // namespace attnscope
