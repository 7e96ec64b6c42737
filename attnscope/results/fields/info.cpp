// The facts of models, rows of `info`, and what is said of work that was skipped.
#include "attnscope/results/fields/kinds.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kWhereModels = "formats.md#models";
constexpr std::string_view kWhereRows = "formats.md#rows";

const std::vector<Field>& model_facts() {
  static const std::vector<Field> facts = {
      {.name = "name",
       .type = text,
       .meaning = "that the model's rows carry: its folder or file",
       .where = kWhereModels},
      {.name = "architecture",
       .type = text,
       .heading = "architecture",
       .short_heading = "architecture",
       .meaning = "the family that the weights are read as",
       .where = kWhereModels},
      {.name = "parameters",
       .type = integer,
       .heading = "parameters",
       .short_heading = "parameters",
       .meaning = "all weights and biases; tied and shared ones once, buffers left out",
       .where = kWhereModels},
      {.name = "attention_parameters",
       .type = integer,
       .heading = "in attention",
       .short_heading = "attention",
       .meaning = "those of Q, K, V and O, with their biases",
       .where = kWhereModels},
      {.name = "layers",
       .type = integer,
       .heading = "layers",
       .short_heading = "layers",
       .meaning = "how many layers there are",
       .where = kWhereModels},
      {.name = "heads",
       .type = integer,
       .heading = "heads",
       .short_heading = "heads",
       .meaning = "query heads of a layer",
       .where = kWhereModels},
      {.name = "kv_heads",
       .type = integer,
       .heading = "key/value heads",
       .short_heading = "key/value",
       .meaning = "key/value heads of a layer, fewer than heads where queries share them",
       .where = kWhereModels},
      {.name = "head_dim",
       .type = integer,
       .heading = "head dimension",
       .short_heading = "of",
       .meaning = "the dimension of a head's queries and keys",
       .where = kWhereModels},
      {.name = "width",
       .type = integer,
       .heading = "width",
       .short_heading = "width",
       .meaning = "the width of the residual stream",
       .where = kWhereModels},
      {.name = "mlp_width",
       .type = integer,
       .nulls = Nulls::whole,
       .heading = "MLP width",
       .meaning = "the inner width of a layer's MLP",
       .where = kWhereModels},
      {.name = "vocabulary",
       .type = integer,
       .nulls = Nulls::whole,
       .unit = "tokens",
       .heading = "vocabulary",
       .meaning = "how many tokens the model knows",
       .where = kWhereModels},
      {.name = "context",
       .type = integer,
       .nulls = Nulls::whole,
       .unit = "tokens",
       .heading = "context, tokens",
       .meaning = "the longest input that the model was made for",
       .where = kWhereModels},
      {.name = "dtype",
       .type = text,
       .heading = "dtype",
       .meaning = "the type that most of the weights' bytes have",
       .where = kWhereModels},
      {.name = "bytes",
       .type = integer,
       .unit = "bytes",
       .heading = "bytes on disk",
       .meaning = "the size of the files that hold the weights",
       .where = kWhereModels},
      {.name = "kv_cache_bytes_per_token",
       .type = integer,
       .nulls = Nulls::whole,
       .unit = "bytes",
       .heading = "KV cache, bytes a token (16 bit)",
       .short_heading = "KV bytes",
       .meaning = "what all layers keep of a token, in 16 bits; null where tokens see both ways",
       .where = kWhereModels},
      {.name = "tied_embedding",
       .type = flag,
       .nulls = Nulls::whole,
       .heading = "output head tied to embedding",
       .meaning = "whether the output head is the embedding; null where there is none",
       .where = kWhereModels},
      {.name = "causal",
       .type = flag,
       .heading = "tokens see only those before them",
       .meaning = "whether a token sees none after it; false for encoders, and for decoders whose "
                  "config lets tokens see both ways",
       .where = kWhereModels},
  };
  return facts;
}

const std::vector<Field>& skipped_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all = place_of_matrix();
    for (Field& field : all) {
      field.where = "formats.md#skipped";
      if (field.name == "layer") field.nulls = Nulls::whole;
      if (field.name == "matrix") field.choices.clear();  // of a tensor its name
    }
    all.push_back({.name = "reason",
                   .type = text,
                   .meaning = "why it could not be analysed",
                   .where = "formats.md#skipped"});
    return all;
  }();
  return fields;
}

RowKind info_rows() {
  return {.name = "info",
          .command = "info",
          .meaning = "one tensor of a file, and what it is to the model",
          .place = {model_field()},
          .fields = {{.name = "name",
                      .type = text,
                      .heading = "name",
                      .meaning = "the tensor's name",
                      .where = kWhereRows},
                     {.name = "dtype",
                      .type = text,
                      .heading = "dtype",
                      .meaning = "its type, or how a quantised weight is stored",
                      .where = kWhereRows},
                     {.name = "shape",
                      .type = integer,
                      .form = list,
                      .heading = "shape",
                      .meaning = "its dimensions, as they are in the file",
                      .where = kWhereRows},
                     {.name = "bytes",
                      .type = integer,
                      .unit = "bytes",
                      .heading = "bytes",
                      .meaning = "its size in the file",
                      .where = kWhereRows},
                     {.name = "role",
                      .type = text,
                      .heading = "role",
                      .meaning = "what it is to the model: q, q+k+v, q.bias, norm, embedding, …",
                      .where = kWhereRows},
                     {.name = "layer",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .meaning = "its layer, from 0; null where it belongs to none or to several",
                      .where = kWhereRows},
                     {.name = "tied_to",
                      .type = text,
                      .nulls = Nulls::whole,
                      .meaning = "the tensor that it is the same as",
                      .where = kWhereRows}},
          .models = model_facts()};
}

RowKind system_rows() {
  return {
      .name = "system",
      .command = "info",
      .option = "system",
      .meaning = "one fact of this machine",
      .fields = {{.name = "item",
                  .type = text,
                  .meaning = "what it is about: attnscope, cpu, cores, memory, kernels, blas, …",
                  .where = kWhereRows},
                 {.name = "value",
                  .type = text,
                  .meaning = "what this machine has or does",
                  .where = kWhereRows}},
      .parameters = {{.name = "system",
                      .type = flag,
                      .meaning = "that rows are about the machine, not about models",
                      .where = "formats.md#parameters"}}};
}

}  // namespace attnscope
