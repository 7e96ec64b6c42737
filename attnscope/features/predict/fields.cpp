// Rows of `predict`: the most likely tokens or labels, and the windows of a perplexity run.
#include "attnscope/features/common/fields.h"
#include "attnscope/features/predict/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kPredictSection = "metrics.md#prediction";
constexpr std::string_view kModels = "formats.md#models";
constexpr std::string_view kParameters = "formats.md#parameters";

/// The text that a record belongs to, if there are several.
Field sequence_fact() {
  return {.name = "sequence",
          .type = integer,
          .meaning = "index of the text, from 0; absent for a single text",
          .where = kModels,
          .optional = true};
}

/// The input of the first layer and the output of each layer.
std::vector<Field> states_fields() {
  return {
      {.name = "index",
       .type = integer,
       .meaning =
           "0: input of layer 0. k: output of layer k − 1. The last layer's output is taken after "
           "the final norm",
       .where = kModels},
      {.name = "shape",
       .type = integer,
       .form = list,
       .meaning = "number of tokens and hidden size",
       .where = kModels},
      {.name = "mean_norm",
       .heading = "mean norm",
       .meaning = "L2 norm of the hidden state, mean over tokens",
       .where = kModels},
      sequence_fact()};
}

std::vector<Field> prompt_facts() {
  return {source_tokens_fact(),
          {.name = "tokens",
           .type = record,
           .form = list,
           .meaning = "tokens of the prompt",
           .where = kModels,
           .fields = token_fields()},
          {.name = "generated",
           .type = record,
           .meaning = "text generated after the prompt by greedy decoding",
           .where = kModels,
           .with = "generate",
           .fields = {{.name = "tokens",
                       .type = record,
                       .form = list,
                       .meaning = "generated tokens",
                       .where = kModels,
                       .fields = token_fields()},
                      {.name = "text",
                       .type = text,
                       .nulls = Nulls::whole,
                       .meaning = "generated text without special tokens; null without a tokenizer",
                       .where = kModels},
                      {.name = "ended_by",
                       .type = text,
                       .meaning = "why generation stopped: requested count reached, end token, or "
                                  "context length reached",
                       .where = kModels,
                       .choices = {"count", "end token", "context"}}}},
          {.name = "hidden_states",
           .type = record,
           .form = list,
           .meaning = "hidden states: the input of the first layer and the output of each layer",
           .where = kModels,
           .fields = states_fields()},
          {.name = "encoder_hidden_states",
           .type = record,
           .form = list,
           .meaning = "encoder-decoders: hidden states of the encoder",
           .where = kModels,
           .optional = true,
           .fields = states_fields()}};
}

Field mean_nll_field(std::string_view meaning, Nulls nulls, std::string_view where) {
  return {.name = "mean_nll", .nulls = nulls, .unit = "nats", .meaning = meaning, .where = where};
}

}  // namespace

Field sequence_of_row() {
  return {.name = "sequence",
          .type = integer,
          .heading = "text",
          .meaning = "index of the text, from 0; absent for a single text",
          .where = "metrics.md#prediction",
          .optional = true};
}

std::vector<Field> token_fields() {
  return {
      {.name = "id", .type = integer, .meaning = "token id", .where = kModels},
      {.name = "text",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "token as readable text; null without a tokenizer, or if the tokenizer does not "
                  "contain the id",
       .where = kModels},
      message_role_field(),
      sequence_fact()};
}

Field source_parameter() {
  return {.name = "source",
          .type = text,
          .meaning = "source of the tokens: \"text\", a file name, \"tokens\" or \"random\"",
          .where = kParameters};
}

Field source_tokens_fact() {
  return {.name = "source_tokens",
          .type = record,
          .form = list,
          .meaning = "encoder-decoders: tokens of the source text",
          .where = kModels,
          .optional = true,
          .fields = token_fields()};
}

RowKind predict_rows() {
  RowKind kind = {
      .name = "predict",
      .command = "predict",
      .meaning = "one of the most likely tokens at a position",
      .place = {model_field(),
                stack_field(),
                sequence_of_row(),
                {.name = "position",
                 .type = integer,
                 .unit = "tokens",
                 .heading = "position",
                 .meaning = "predicted position: after the prompt, or at a mask",
                 .where = kPredictSection},
                {.name = "rank",
                 .type = integer,
                 .heading = "rank",
                 .meaning = "rank by probability; 1: most likely",
                 .where = kPredictSection}},
      .fields =
          {{.name = "token_id",
            .type = integer,
            .heading = "id",
            .meaning = "token id",
            .where = kPredictSection},
           {.name = "text",
            .type = text,
            .nulls = Nulls::whole,
            .heading = "token",
            .meaning =
                "token as readable text; null without a tokenizer, or if the tokenizer does not "
                "contain the id",
            .where = kPredictSection},
           {.name = "logit",
            .heading = "logit",
            .meaning = "logit of the token",
            .where = kPredictSection},
           {.name = "probability",
            .heading = "probability",
            .meaning = "probability of the token: softmax over the logits of all tokens",
            .where = kPredictSection}},
      .models = model_facts(),
      .parameters = {source_parameter(),
                     {.name = "top",
                      .type = integer,
                      .unit = "tokens",
                      .meaning = "requested number of most likely next tokens per position",
                      .where = kParameters},
                     {.name = "generate",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .unit = "tokens",
                      .meaning = "requested number of generated tokens; null: none",
                      .where = kParameters},
                     edits_hash_parameter()}};
  add_chat_parameter_fields(kind.parameters);
  for (Field& fact : prompt_facts()) kind.models.push_back(std::move(fact));
  return kind;
}

RowKind perplexity_rows() {
  constexpr std::string_view kErrorSection = "metrics.md#standard-errors";
  RowKind kind = {
      .name = "perplexity",
      .command = "predict",
      .option = "perplexity",
      .meaning = "loss of one window of a text",
      .place = {model_field(),
                stack_field(),
                {.name = "window",
                 .type = integer,
                 .meaning = "index of the window, from 0",
                 .where = kPredictSection},
                {.name = "example",
                 .type = integer,
                 .meaning = "line of the window, from 0, counted among the lines that are run",
                 .where = kPredictSection,
                 .with = "lines",
                 .optional = true},
                {.name = "first",
                 .type = integer,
                 .unit = "tokens",
                 .meaning = "position of the first token of the window in its text or line, from 0",
                 .where = kPredictSection},
                {.name = "length",
                 .type = integer,
                 .unit = "tokens",
                 .meaning = "number of tokens in the window",
                 .where = kPredictSection}},
      .fields =
          {{.name = "predicted",
            .type = integer,
            .unit = "tokens",
            .meaning =
                "number of scored tokens: new tokens of the window that have a preceding token",
            .where = kPredictSection},
           mean_nll_field("mean negative log-likelihood of the scored tokens of the window; null "
                          "if there are none",
                          Nulls::whole, kPredictSection)},
      .models = model_facts(),
      .parameters = {{.name = "perplexity",
                      .type = flag,
                      .meaning = "true: rows are perplexity windows",
                      .where = kParameters},
                     source_parameter(),
                     {.name = "stride",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .unit = "tokens",
                      .meaning = "tokens between window starts; null: the context length",
                      .where = kParameters}}};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  add_chat_parameter_fields(kind.parameters);
  kind.parameters.push_back(edits_hash_parameter());
  kind.models.push_back(
      {.name = "perplexity",
       .type = record,
       .meaning = "perplexity of the whole text",
       .where = kPredictSection,
       .fields = {
           {.name = "tokens",
            .type = integer,
            .unit = "tokens",
            .meaning = "number of tokens in the text",
            .where = kPredictSection},
           {.name = "predicted",
            .type = integer,
            .unit = "tokens",
            .meaning = "number of scored tokens",
            .where = kPredictSection},
           mean_nll_field("mean negative log-likelihood of all scored tokens", Nulls::none,
                          kPredictSection),
           {.name = "mean_nll_error",
            .nulls = Nulls::whole,
            .unit = "nats",
            .meaning = "standard error of mean_nll, from blocks of consecutive tokens; null for "
                       "fewer than 32 scored tokens",
            .where = kErrorSection},
           {.name = "perplexity", .meaning = "perplexity, exp(mean_nll)", .where = kPredictSection},
           {.name = "perplexity_error",
            .nulls = Nulls::whole,
            .meaning = "standard error of perplexity, perplexity · mean_nll_error; null if "
                       "mean_nll_error is null",
            .where = kErrorSection}}});
  return kind;
}

}  // namespace attnscope
