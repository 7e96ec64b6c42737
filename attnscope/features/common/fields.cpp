// Fields shared by several kinds of rows.
#include "attnscope/features/common/fields.h"
#include "attnscope/base/role.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

std::vector<Field> place_of_matrix() {
  std::vector<Field> fields = place_of_whole_matrix();
  fields.push_back({.name = "head",
                    .type = integer,
                    .nulls = Nulls::whole,
                    .meaning = "head index, from 0; a key/value head for k, v and kv. Null for the "
                               "whole matrix.",
                    .where = "formats.md#rows"});
  return fields;
}

std::vector<Field> place_of_whole_matrix() {
  return {model_field(),
          stack_field(),
          layer_field(),
          {.name = "matrix",
           .type = text,
           .meaning = "weight matrix or product: q, gate, qk, …",
           .where = "metrics.md#matrices",
           .choices = {kRoleNames.begin(), kRoleNames.end()}}};
}

std::vector<Field> place_of_part(std::string_view head) {
  return {model_field(),
          stack_field(),
          layer_field(),
          {.name = "head",
           .type = integer,
           .nulls = Nulls::whole,
           .meaning = head,
           .where = "formats.md#rows"}};
}

Field replaced_part_field(std::string_view where) {
  return {.name = "component",
          .type = text,
          .meaning =
              "ablated component: the output of one head before the output projection (head), of "
              "all heads of a layer (attention), of its mixer (mixer), or of its MLP (mlp). A "
              "mixer, such as a state-space layer, is used in place of attention or in parallel "
              "with it.",
          .where = where,
          .choices = {"head", "attention", "mixer", "mlp"}};
}

std::vector<Field> expert_fields() {
  constexpr std::string_view kWhere = "metrics.md#experts";
  return {{.name = "expert",
           .type = integer,
           .meaning = "expert index, from 0. Absent if the matrix does not belong to an expert.",
           .where = kWhere,
           .optional = true},
          {.name = "experts",
           .type = integer,
           .meaning = "number of experts that this row summarizes. The row's values are medians "
                      "over these experts; for an even number, the lower of the two middle values. "
                      "Absent from other rows.",
           .where = kWhere,
           .optional = true}};
}

Field experts_parameter_field() {
  return {.name = "experts",
          .type = text,
          .meaning = "requested experts of each layer",
          .where = "formats.md#parameters",
          .with = "experts"};
}

Field model_field() {
  return {.name = "model",
          .type = text,
          .heading = "model",
          .meaning = "model name, as in models",
          .where = "formats.md#rows"};
}

Field stack_field() {
  return {.name = "stack",
          .type = text,
          .meaning =
              "stack of the model: encoder, decoder, cross (the decoder's cross-attention), "
              "text or vision. Absent if the model has a single stack.",
          .where = "formats.md#stacks",
          .optional = true};
}

Field layer_field() {
  return {.name = "layer",
          .type = integer,
          .heading = "layer",
          .meaning = "layer index, from 0",
          .where = "formats.md#rows"};
}

Field possible_rank_field() {
  return {.name = "max_possible_rank",
          .type = integer,
          .unit = "singular values",
          .heading = "of",
          .meaning = "maximum possible rank of a matrix or product of this shape",
          .where = "metrics.md#matrices"};
}

Field frobenius_norm_field() {
  return {.name = "frobenius_norm",
          .heading = "Frobenius",
          .meaning = "Frobenius norm: square root of the sum of squared entries",
          .where = "metrics.md#spectrum"};
}

Field latent_rms_field() {
  constexpr std::string_view kWhere = "metrics.md#latents";
  return {
      .name = "latent_rms",
      .type = record,
      .meaning =
          "RMS of the MLA latents, used as the divisor in their RMSNorms. Absent if the matrix "
          "contains no latent projection.",
      .where = kWhere,
      .optional = true,
      .fields = {
          {.name = "q",
           .meaning = "RMS used for the query latent. Absent if queries have no latent.",
           .where = kWhere,
           .optional = true},
          {.name = "kv",
           .meaning = "RMS used for the key/value latent. Absent if the matrix does not use it.",
           .where = kWhere,
           .optional = true}}};
}

std::vector<Field> mla_text_parameter_fields() {
  std::vector<Field> fields = text_parameter_fields();
  fields.push_back(tokens_hash_parameter());
  for (Field& field : fields) {
    if (field.with.empty()) field.with = "tokens_hash";
  }
  return fields;
}

Field message_role_field() {
  return {.name = "message_role",
          .type = text,
          .nulls = Nulls::whole,
          .meaning =
              "role of the message that the token comes from, or template. Null if the chat "
              "template changes the messages.",
          .where = "metrics.md#chats",
          .with = "chat_date"};
}

void add_chat_parameter_fields(std::vector<Field>& fields) {
  constexpr std::string_view kParameters = "formats.md#parameters";
  fields.push_back({.name = "chat_date",
                    .type = text,
                    .meaning = "date that the chat template sees",
                    .where = kParameters,
                    .with = "chat_date",
                    .optional = true});
  fields.push_back({.name = "chat_template",
                    .type = text,
                    .meaning = "name of the chat template, if requested",
                    .where = kParameters,
                    .with = "chat_template",
                    .optional = true});
  fields.push_back({.name = "no_generation_prompt",
                    .type = flag,
                    .meaning = "true: the chat does not end with the start of an answer",
                    .where = kParameters,
                    .with = "no_generation_prompt",
                    .optional = true});
}

Field histogram_field() {
  constexpr std::string_view kWhere = "metrics.md#distribution-of-weights";
  return {.name = "histogram",
          .type = record,
          .nulls = Nulls::whole,
          .meaning = "histogram of the values",
          .where = kWhere,
          .with = "histogram",
          .fields = {{.name = "edges",
                      .form = list,
                      .meaning = "bin edges in ascending order; there is one more edge than bins",
                      .where = kWhere},
                     {.name = "counts",
                      .type = integer,
                      .form = list,
                      .unit = "values",
                      .meaning = "number of values per bin; the last bin includes both edges",
                      .where = kWhere},
                     {.name = "density",
                      .form = list,
                      .nulls = Nulls::whole,
                      .unit = "share of values per unit of width",
                      .meaning = "counts divided by the bin width and by the sum of all counts",
                      .where = kWhere},
                     {.name = "outside",
                      .type = integer,
                      .unit = "values",
                      .meaning = "number of values outside all bins",
                      .where = kWhere}}};
}

std::vector<Field> matrix_row_fields() {
  return {{.name = "row",
           .type = integer,
           .meaning = "row index of the matrix, from 0",
           .where = "formats.md#rows"},
          {.name = "values",
           .form = list,
           .nulls = Nulls::entries,
           .meaning = "entries of the row. Null where an entry is not finite.",
           .where = "formats.md#rows"}};
}

Field energy_parameter() {
  return {.name = "energy",
          .form = list,
          .unit = "share of the energy",
          .meaning = "energy thresholds of the energy ranks, in ascending order",
          .where = "formats.md#parameters"};
}

Field matrix_parameter() {
  return {.name = "matrix",
          .type = text,
          .form = list,
          .nulls = Nulls::whole,
          .meaning = "requested matrices. Null for the command's default.",
          .where = "formats.md#parameters"};
}

Field layers_parameter() {
  return {.name = "layers",
          .type = text,
          .nulls = Nulls::whole,
          .meaning = "requested layers. Null for all layers.",
          .where = "formats.md#parameters"};
}

Field per_head_parameter() {
  return {.name = "per_head",
          .type = flag,
          .meaning = "true if there is a row per head",
          .where = "formats.md#parameters"};
}

std::vector<Field> histogram_parameters() {
  return {{.name = "histogram",
           .type = flag,
           .meaning = "true if histograms were requested",
           .where = "formats.md#parameters"},
          {.name = "bins",
           .type = integer,
           .meaning = "number of bins per histogram; fd: Freedman-Diaconis rule",
           .where = "formats.md#parameters",
           .with = "histogram",
           .choices = {"fd"}},
          {.name = "range",
           .form = list,
           .nulls = Nulls::whole,
           .meaning = "lowest and highest bin edge. Null: the smallest and largest value are used.",
           .where = "formats.md#parameters",
           .with = "histogram"}};
}

}  // namespace attnscope
