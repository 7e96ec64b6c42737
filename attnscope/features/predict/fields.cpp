// Rows of `predict`: the likeliest tokens, and the windows of a text whose perplexity is asked for.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kPredictSection = "metrics.md#prediction";
constexpr std::string_view kModels = "formats.md#models";
constexpr std::string_view kParameters = "formats.md#parameters";

std::vector<Field> token_fields() {
  return {{.name = "id", .type = integer, .meaning = "the token's id", .where = kModels},
          {.name = "text",
           .type = text,
           .nulls = Nulls::whole,
           .meaning = "the token as readable text; null where no tokenizer knows it",
           .where = kModels}};
}

/// What enters the first layer, and what each layer gives.
std::vector<Field> states_fields() {
  return {{.name = "index",
           .type = integer,
           .meaning = "0: what enters layer 0; k: what layer k - 1 gave, the last after the final "
                      "norm",
           .where = kModels},
          {.name = "shape",
           .type = integer,
           .form = list,
           .meaning = "tokens and width",
           .where = kModels},
          {.name = "mean_norm",
           .heading = "mean norm",
           .meaning = "the Euclidean norm of a token's state, mean over tokens",
           .where = kModels}};
}

std::vector<Field> prompt_facts() {
  return {
      source_tokens_fact(),
      {.name = "tokens",
       .type = record,
       .form = list,
       .meaning = "the prompt, token by token",
       .where = kModels,
       .fields = token_fields()},
      {.name = "generated",
       .type = record,
       .meaning = "what the model wrote after the prompt, always the likeliest token",
       .where = kModels,
       .with = "generate",
       .fields = {{.name = "tokens",
                   .type = record,
                   .form = list,
                   .meaning = "what was written, token by token",
                   .where = kModels,
                   .fields = token_fields()},
                  {.name = "text",
                   .type = text,
                   .nulls = Nulls::whole,
                   .meaning = "the tokens' text, special ones left out; null without a tokenizer",
                   .where = kModels},
                  {.name = "ended_by",
                   .type = text,
                   .meaning = "why there is no more: as many as were asked for, the model's end "
                              "token, or no positions for more",
                   .where = kModels,
                   .choices = {"count", "end token", "context"}}}},
      {.name = "hidden_states",
       .type = record,
       .form = list,
       .meaning = "what enters the first layer, and what each layer gives",
       .where = kModels,
       .fields = states_fields()},
      {.name = "encoder_hidden_states",
       .type = record,
       .form = list,
       .meaning = "of an encoder-decoder: the same of its encoder",
       .where = kModels,
       .optional = true,
       .fields = states_fields()}};
}

std::vector<Field> model_facts_with_patches() {
  std::vector<Field> facts = model_facts();
  facts.push_back(
      {.name = "patches",
       .type = record,
       .meaning = "how the rows of a map lie in the image; absent of sound",
       .where = kModels,
       .optional = true,
       .fields = {{.name = "rows", .type = integer, .meaning = "of patches", .where = kModels},
                  {.name = "columns", .type = integer, .meaning = "of patches", .where = kModels},
                  {.name = "before",
                   .type = integer,
                   .meaning = "rows before the first patch: class token, registers",
                   .where = kModels}}});
  return facts;
}

Field source_parameter() {
  return {.name = "source",
          .type = text,
          .meaning = "where the tokens come from: text, a file's name, tokens, or random",
          .where = kParameters};
}

Field mean_nll_field(std::string_view meaning, Nulls nulls, std::string_view where) {
  return {.name = "mean_nll", .nulls = nulls, .unit = "nats", .meaning = meaning, .where = where};
}

}  // namespace

Field source_tokens_fact() {
  return {.name = "source_tokens",
          .type = record,
          .form = list,
          .meaning = "of an encoder-decoder: what its encoder read, token by token",
          .where = kModels,
          .optional = true,
          .fields = token_fields()};
}

RowKind predict_rows() {
  RowKind kind = {
      .name = "predict",
      .command = "predict",
      .meaning = "one of the tokens that a model takes for the likeliest at a place",
      .place = {model_field(),
                stack_field(),
                {.name = "position",
                 .type = integer,
                 .unit = "tokens",
                 .heading = "position",
                 .meaning = "where the token would stand: after the prompt, or in place of a mask",
                 .where = kPredictSection},
                {.name = "rank",
                 .type = integer,
                 .heading = "rank",
                 .meaning = "1: the likeliest",
                 .where = kPredictSection}},
      .fields = {{.name = "token_id",
                  .type = integer,
                  .heading = "id",
                  .meaning = "the token's id",
                  .where = kPredictSection},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .heading = "token",
                  .meaning = "the token as readable text; null where no tokenizer knows it",
                  .where = kPredictSection},
                 {.name = "logit",
                  .heading = "logit",
                  .meaning = "what the model's head gives for it",
                  .where = kPredictSection},
                 {.name = "probability",
                  .heading = "probability",
                  .meaning = "softmax of the logits of all tokens",
                  .where = kPredictSection}},
      .models = model_facts(),
      .parameters = {source_parameter(),
                     {.name = "top",
                      .type = integer,
                      .unit = "tokens",
                      .meaning = "how many tokens each place has rows for",
                      .where = kParameters},
                     {.name = "generate",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .unit = "tokens",
                      .meaning = "how many tokens were to be written; null: none",
                      .where = kParameters}}};
  for (Field& fact : prompt_facts()) kind.models.push_back(std::move(fact));
  return kind;
}

RowKind label_rows() {
  return {
      .name = "label",
      .command = "predict",
      .option = "input",
      .meaning =
          "a label that a model takes for likely of an image, or a text that it compares "
          "with it",
      .place = {model_field(),
                stack_field(),
                {.name = "rank",
                 .type = integer,
                 .heading = "rank",
                 .meaning = "1: the likeliest",
                 .where = kPredictSection}},
      .fields = {{.name = "label_id",
                  .type = integer,
                  .heading = "id",
                  .meaning = "the label's id; of texts their place, from 0",
                  .where = kPredictSection},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .heading = "text",
                  .meaning = "the label's name, or the text; null where the config names none",
                  .where = kPredictSection},
                 {.name = "logit",
                  .heading = "logit",
                  .meaning = "what the model's head gives for it",
                  .where = kPredictSection},
                 {.name = "probability",
                  .heading = "probability",
                  .meaning = "softmax of the logits of all labels or texts; of a model with a bias "
                             "of scores (SigLIP) of each text alone",
                  .where = kPredictSection}},
      .models = model_facts_with_patches(),
      .parameters = {{.name = "input",
                      .type = FieldType::text,
                      .meaning = "the file of the image or sound",
                      .where = kParameters},
                     {.name = "top",
                      .type = integer,
                      .unit = "labels",
                      .meaning = "how many labels there are rows for",
                      .where = kParameters}}};
}

RowKind perplexity_rows() {
  constexpr std::string_view kErrorSection = "metrics.md#standard-errors";
  RowKind kind = {
      .name = "perplexity",
      .command = "predict",
      .option = "perplexity",
      .meaning = "how well a model foretells one window of a text",
      .place = {model_field(),
                stack_field(),
                {.name = "window",
                 .type = integer,
                 .meaning = "the window, from 0",
                 .where = kPredictSection},
                {.name = "example",
                 .type = integer,
                 .meaning = "the line that the window is of, from 0, among those that are run",
                 .where = kPredictSection,
                 .with = "lines",
                 .optional = true},
                {.name = "first",
                 .type = integer,
                 .unit = "tokens",
                 .meaning = "the window's first token in its text or line, from 0",
                 .where = kPredictSection},
                {.name = "length",
                 .type = integer,
                 .unit = "tokens",
                 .meaning = "the window's tokens",
                 .where = kPredictSection}},
      .fields = {{.name = "predicted",
                  .type = integer,
                  .unit = "tokens",
                  .meaning = "its last tokens, which count: new ones that have one before them",
                  .where = kPredictSection},
                 mean_nll_field("negative log-likelihood of those, mean; null where there are none",
                                Nulls::whole, kPredictSection)},
      .models = model_facts(),
      .parameters = {
          {.name = "perplexity",
           .type = flag,
           .meaning = "that rows are windows of a text whose perplexity is asked for",
           .where = kParameters},
          source_parameter(),
          {.name = "stride",
           .type = integer,
           .nulls = Nulls::whole,
           .unit = "tokens",
           .meaning = "from the start of a window to that of the next; null: the context",
           .where = kParameters}}};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.models.push_back(
      {.name = "perplexity",
       .type = record,
       .meaning = "of the whole text",
       .where = kPredictSection,
       .fields = {{.name = "tokens",
                   .type = integer,
                   .unit = "tokens",
                   .meaning = "the text's tokens",
                   .where = kPredictSection},
                  {.name = "predicted",
                   .type = integer,
                   .unit = "tokens",
                   .meaning = "those that count",
                   .where = kPredictSection},
                  mean_nll_field("negative log-likelihood, mean over the tokens that count",
                                 Nulls::none, kPredictSection),
                  {.name = "mean_nll_error",
                   .nulls = Nulls::whole,
                   .unit = "nats",
                   .meaning = "standard error of mean_nll, from blocks of consecutive tokens; null "
                              "of fewer than 32 tokens that count",
                   .where = kErrorSection},
                  {.name = "perplexity", .meaning = "e to mean_nll", .where = kPredictSection},
                  {.name = "perplexity_error",
                   .nulls = Nulls::whole,
                   .meaning = "standard error of perplexity, perplexity · mean_nll_error; null "
                              "where that is",
                   .where = kErrorSection}}});
  return kind;
}

}  // namespace attnscope
