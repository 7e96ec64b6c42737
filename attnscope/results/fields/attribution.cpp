// Rows of `predict --attribution`: what each part of a model adds to a logit.
#include "attnscope/results/fields/kinds.h"

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
                 {.name = "direct",
                  .unit = "logits",
                  .heading = "direct",
                  .meaning = "what it adds, mean over places; all parts sum to the logit",
                  .where = kSection}},
      .models = model_facts(),
      .parameters = {{.name = "attribution",
                      .type = flag,
                      .meaning = "that rows are what parts of the model add to a logit",
                      .where = kParameters},
                     {.name = "source",
                      .type = text,
                      .meaning = "where the tokens come from: text, a file's name, tokens",
                      .where = kParameters}}};
  kind.models.push_back({.name = "attributed",
                         .type = record,
                         .meaning = "which logit",
                         .where = kSection,
                         .fields = {token,
                                    against,
                                    {.name = "places",
                                     .type = integer,
                                     .unit = "tokens",
                                     .meaning = "how many places the means are over",
                                     .where = kSection},
                                    {.name = "logit",
                                     .unit = "logits",
                                     .meaning = "what the model itself gives, less the mean over "
                                                "the vocabulary or the other token's",
                                     .where = kSection}}});
  return kind;
}

}  // namespace attnscope
