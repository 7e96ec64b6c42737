// Rows of `predict` for classifiers: labels of images, of texts and of tokens, and answers.
#include "attnscope/features/common/fields.h"
#include "attnscope/features/predict/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kLabelSection = "metrics.md#prediction";
constexpr std::string_view kModelFacts = "formats.md#models";
constexpr std::string_view kLabelParameters = "formats.md#parameters";

std::vector<Field> model_facts_with_patches() {
  std::vector<Field> facts = model_facts();
  facts.push_back(
      {.name = "patches",
       .type = record,
       .meaning = "image positions of the rows of the attention maps; absent for audio",
       .where = kModelFacts,
       .optional = true,
       .fields = {{.name = "rows",
                   .type = integer,
                   .meaning = "rows of patches in the image",
                   .where = kModelFacts},
                  {.name = "columns",
                   .type = integer,
                   .meaning = "columns of patches in the image",
                   .where = kModelFacts},
                  {.name = "before",
                   .type = integer,
                   .meaning = "number of tokens before the first patch: class token and registers",
                   .where = kModelFacts}}});
  return facts;
}

}  // namespace

Field label_parameter_field() {
  return {.name = "label",
          .type = text,
          .meaning = "label whose logit is analyzed: its name or number",
          .where = kLabelParameters,
          .with = "label"};
}

RowKind label_rows() {
  return {
      .name = "label",
      .command = "predict",
      .option = "input",
      .meaning = "one of the most likely labels of an image, or one of the texts compared with it",
      .place = {model_field(),
                stack_field(),
                {.name = "rank",
                 .type = integer,
                 .heading = "rank",
                 .meaning = "rank by probability; 1: most likely",
                 .where = kLabelSection}},
      .fields = {{.name = "label_id",
                  .type = integer,
                  .heading = "id",
                  .meaning = "label id; for texts, the index of the text, from 0",
                  .where = kLabelSection},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .heading = "text",
                  .meaning =
                      "name of the label, or the text; null if the config has no label names",
                  .where = kLabelSection},
                 {.name = "logit",
                  .heading = "logit",
                  .meaning = "logit of the label or text",
                  .where = kLabelSection},
                 {.name = "probability",
                  .heading = "probability",
                  .meaning = "softmax over the logits of all labels or texts; SigLIP: sigmoid of "
                             "the logit of each text",
                  .where = kLabelSection}},
      .models = model_facts_with_patches(),
      .parameters = {{.name = "input",
                      .type = FieldType::text,
                      .meaning = "file of the image or audio",
                      .where = kLabelParameters},
                     {.name = "top",
                      .type = integer,
                      .unit = "labels",
                      .meaning = "requested number of labels",
                      .where = kLabelParameters},
                     edits_hash_parameter()}};
}

RowKind text_label_rows() {
  RowKind kind = {
      .name = "text_label",
      .command = "predict",
      .option = "labels",
      .meaning =
          "one of the most likely labels of a text or token, or one of the most likely "
          "answers",
      .place = {model_field(),
                stack_field(),
                sequence_of_row(),
                {.name = "position",
                 .type = integer,
                 .heading = "position",
                 .meaning = "position of the labeled token, or of the first token of the answer, "
                            "from 0; absent for labels of a whole text",
                 .where = kLabelSection,
                 .optional = true},
                {.name = "last_position",
                 .type = integer,
                 .heading = "last",
                 .meaning = "question answering: position of the last token of the answer, from 0",
                 .where = kLabelSection,
                 .optional = true},
                {.name = "rank",
                 .type = integer,
                 .heading = "rank",
                 .meaning = "rank by logit; 1: most likely",
                 .where = kLabelSection}},
      .fields = {{.name = "label_id",
                  .type = integer,
                  .nulls = Nulls::whole,
                  .heading = "id",
                  .meaning = "label id; null for answers",
                  .where = kLabelSection},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .heading = "text",
                  .meaning = "name of the label; question answering: the answer. Null for answers "
                             "without a tokenizer.",
                  .where = kLabelSection},
                 {.name = "logit",
                  .heading = "logit",
                  .meaning = "logit of the label; question answering: sum of the logits of the "
                             "first and the last token",
                  .where = kLabelSection},
                 {.name = "probability",
                  .nulls = Nulls::whole,
                  .heading = "probability",
                  .meaning = "softmax over the labels, or sigmoid for multi-label classification "
                             "and for a single label; question answering: product of the softmaxes "
                             "of first and last token. Null for regression.",
                  .where = kLabelSection}},
      .models = model_facts(),
      .parameters = {{.name = "labels",
                      .type = FieldType::text,
                      .meaning = "what the classifier labels: sequence, token or span",
                      .where = kLabelParameters,
                      .choices = {"sequence", "token", "span"}},
                     source_parameter(),
                     {.name = "top",
                      .type = integer,
                      .unit = "labels",
                      .meaning = "requested number of labels",
                      .where = kLabelParameters},
                     edits_hash_parameter()}};
  add_chat_parameter_fields(kind.parameters);
  kind.models.push_back({.name = "tokens",
                         .type = record,
                         .form = list,
                         .meaning = "tokens of the text",
                         .where = kModelFacts,
                         .fields = token_fields()});
  return kind;
}

}  // namespace attnscope
