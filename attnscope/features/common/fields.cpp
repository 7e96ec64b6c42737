// Fields that rows of several kinds have.
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
                    .meaning = "the head, from 0 (of k, v and kv a key/value head); null: the "
                               "whole matrix",
                    .where = "formats.md#rows"});
  return fields;
}

std::vector<Field> place_of_whole_matrix() {
  return {model_field(),
          stack_field(),
          layer_field(),
          {.name = "matrix",
           .type = text,
           .meaning = "the projection or product, by its name: q, gate, qk, …",
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
              "what is replaced: what one head gives to the output projection, or all of a "
              "layer's heads, or what its MLP gives",
          .where = where,
          .choices = {"head", "attention", "mlp"}};
}

std::vector<Field> expert_fields() {
  constexpr std::string_view kWhere = "metrics.md#experts";
  return {{.name = "expert",
           .type = integer,
           .meaning = "the expert whose matrix it is, from 0; absent from rows of other matrices",
           .where = kWhere,
           .optional = true},
          {.name = "experts",
           .type = integer,
           .meaning = "of a row that sums up the experts of a layer: how many; its numbers are "
                      "their medians, of two middle ones the lower",
           .where = kWhere,
           .optional = true}};
}

Field experts_parameter_field() {
  return {.name = "experts",
          .type = text,
          .meaning = "the experts of each layer that were asked for",
          .where = "formats.md#parameters",
          .with = "experts"};
}

Field model_field() {
  return {.name = "model",
          .type = text,
          .heading = "model",
          .meaning = "the model, by its name in models",
          .where = "formats.md#rows"};
}

Field stack_field() {
  return {.name = "stack",
          .type = text,
          .meaning =
              "which stack of the model: encoder, decoder, cross (the decoder's attention "
              "to what the encoder gives), text or vision; absent where it has one",
          .where = "formats.md#stacks",
          .optional = true};
}

Field layer_field() {
  return {.name = "layer",
          .type = integer,
          .heading = "layer",
          .meaning = "the layer, from 0",
          .where = "formats.md#rows"};
}

Field possible_rank_field() {
  return {.name = "max_possible_rank",
          .type = integer,
          .unit = "singular values",
          .heading = "of",
          .meaning = "the largest rank that a matrix of this shape, or such a product, can have",
          .where = "metrics.md#matrices"};
}

Field frobenius_norm_field() {
  return {.name = "frobenius_norm",
          .heading = "Frobenius",
          .meaning = "the square root of the sum of squared entries",
          .where = "metrics.md#spectrum"};
}

Field latent_rms_field() {
  constexpr std::string_view kWhere = "metrics.md#latents";
  return {.name = "latent_rms",
          .type = record,
          .meaning = "of a matrix that is made of latents: what their norms are taken to divide by",
          .where = kWhere,
          .optional = true,
          .fields = {{.name = "q",
                      .meaning = "that of the latent of queries, where they have one",
                      .where = kWhere,
                      .optional = true},
                     {.name = "kv",
                      .meaning = "that of the latent of keys and values, where it is in the matrix",
                      .where = kWhere,
                      .optional = true}}};
}

std::vector<Field> mla_text_parameter_fields() {
  std::vector<Field> fields = text_parameter_fields();
  fields.push_back(tokens_hash_parameter());
  for (Field& field : fields) field.with = "tokens_hash";
  return fields;
}

Field histogram_field() {
  constexpr std::string_view kWhere = "metrics.md#distribution-of-weights";
  return {.name = "histogram",
          .type = record,
          .nulls = Nulls::whole,
          .meaning = "how many values lie in each bin",
          .where = kWhere,
          .with = "histogram",
          .fields = {{.name = "edges",
                      .form = list,
                      .meaning = "the edges of the bins, ascending, one more than bins",
                      .where = kWhere},
                     {.name = "counts",
                      .type = integer,
                      .form = list,
                      .unit = "values",
                      .meaning = "how many values each bin holds; the last one has both its edges",
                      .where = kWhere},
                     {.name = "density",
                      .form = list,
                      .nulls = Nulls::whole,
                      .unit = "share of values per unit of width",
                      .meaning = "counts over the bins' widths and the sum of counts",
                      .where = kWhere},
                     {.name = "outside",
                      .type = integer,
                      .unit = "values",
                      .meaning = "how many values lie in no bin",
                      .where = kWhere}}};
}

std::vector<Field> matrix_row_fields() {
  return {{.name = "row",
           .type = integer,
           .meaning = "the row of the matrix, from 0",
           .where = "formats.md#rows"},
          {.name = "values",
           .form = list,
           .nulls = Nulls::entries,
           .meaning = "the entries of that row; null: not finite",
           .where = "formats.md#rows"}};
}

Field energy_parameter() {
  return {.name = "energy",
          .form = list,
          .unit = "share of the energy",
          .meaning = "the thresholds at which energy ranks are given, ascending",
          .where = "formats.md#parameters"};
}

Field matrix_parameter() {
  return {.name = "matrix",
          .type = text,
          .form = list,
          .nulls = Nulls::whole,
          .meaning = "the matrices that were asked for; null: the command's usual ones",
          .where = "formats.md#parameters"};
}

Field layers_parameter() {
  return {.name = "layers",
          .type = text,
          .nulls = Nulls::whole,
          .meaning = "the layers that were asked for; null: all",
          .where = "formats.md#parameters"};
}

Field per_head_parameter() {
  return {.name = "per_head",
          .type = flag,
          .meaning = "whether heads have rows of their own",
          .where = "formats.md#parameters"};
}

std::vector<Field> histogram_parameters() {
  return {{.name = "histogram",
           .type = flag,
           .meaning = "whether histograms were asked for",
           .where = "formats.md#parameters"},
          {.name = "bins",
           .type = integer,
           .meaning = "how many bins each histogram has; fd: by the rule of Freedman & Diaconis",
           .where = "formats.md#parameters",
           .with = "histogram",
           .choices = {"fd"}},
          {.name = "range",
           .form = list,
           .nulls = Nulls::whole,
           .meaning = "the lowest and the highest edge; null: from the smallest to the largest "
                      "value",
           .where = "formats.md#parameters",
           .with = "histogram"}};
}

}  // namespace attnscope
