// Rows of `attention`: what attention maps say of each head and layer, as means over sequences.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

namespace {

constexpr std::string_view kAttentionSection = "metrics.md#attention-maps";

/// A mean over sequences and its standard error, which is null for one sequence.
void add_mean(std::vector<Field>& fields, std::string_view name, std::string_view name_of_error,
              std::string_view heading, std::string_view meaning, bool of_heads,
              std::string_view unit = {}) {
  fields.push_back({.name = name,
                    .nulls = Nulls::whole,
                    .unit = unit,
                    .heading = heading,
                    .meaning = meaning,
                    .where = kAttentionSection,
                    .mean_of = of_heads ? name : "",
                    .optional = true});
  fields.push_back(
      {.name = name_of_error,
       .nulls = Nulls::whole,
       .unit = unit,
       .meaning = of_heads ? "the standard error of the mean before it; null of one sequence"
                           : "the standard error of the layer's mean before it; null of one "
                             "sequence",
       .where = kAttentionSection,
       .optional = true});
}

/// What queries would give that look alike at all keys that they see.
Field uniform_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .meaning = meaning, .where = kAttentionSection, .optional = true};
}

Field query_head_field() {
  return {.name = "head",
          .type = integer,
          .meaning = "the query head, from 0",
          .where = "formats.md#rows"};
}

/// Of layers. Null for cross-attention, whose stream is that of the decoder's own rows, and for
/// given maps.
std::vector<Field> activation_fields() {
  const auto of_layer = [](std::string_view name, FieldType type, std::string_view heading,
                           std::string_view meaning) {
    return Field{.name = name,
                 .type = type,
                 .nulls = Nulls::whole,
                 .heading = heading,
                 .meaning = meaning,
                 .where = kAttentionSection,
                 .optional = true};
  };
  std::vector<Field> fields = {
      of_layer("max_activation", number, "max activation",
               "Of a layer: largest absolute activation of the residual stream after it. Null for "
               "cross-attention and given maps."),
      of_layer("activation_ratio", number, "over median",
               "Of a layer: that activation over the median absolute activation of its sequence. "
               "Null if the median is 0, for cross-attention and given maps."),
      of_layer("activation_dimension", integer, "dimension",
               "Of a layer: dimension of the residual stream with that activation, from 0. Null "
               "for cross-attention and given maps."),
      of_layer("activation_position", integer, "position",
               "Of a layer: position with that activation, from 0. Null for cross-attention and "
               "given maps."),
      of_layer("outlier_count", integer, "outliers",
               "Of a layer: number of dimensions of its attention's input whose magnitude is at "
               "least 6 at 6% of the positions. Null for cross-attention and given maps."),
      of_layer("outlier_dimensions", integer, "",
               "Of a layer: those dimensions, the most frequent first, at most 16. Null for "
               "cross-attention and given maps.")};
  fields.back().form = list;
  return fields;
}

std::vector<Field> own_fields() {
  std::vector<Field> fields = {{.name = "sequences",
                                .type = integer,
                                .unit = "sequences",
                                .meaning = "how many sequences the means are over",
                                .where = kAttentionSection}};
  const auto of_head = [&](auto name, auto error, auto heading, auto meaning, auto... unit) {
    add_mean(fields, name, error, heading, meaning, /*of_heads=*/true, unit...);
  };
  of_head("energy_rank", "energy_rank_error", "rank",
          "of a head: singular values of its map that hold `energy` of the sum of their squares",
          "singular values");
  of_head("energy_columns", "energy_columns_error", "energy_columns",
          "of a head: fewest columns (keys) that hold `energy` of all squared weights",
          "energy_columns");
  fields.push_back({.name = "top_columns",
                    .type = integer,
                    .form = list,
                    .meaning = "of a head: the columns that were among those most often, from 0",
                    .where = kAttentionSection,
                    .optional = true});
  of_head("first_column_share", "first_column_share_error", "in first",
          "of a head: share of all squared weights in the column that has most of them");
  of_head("entropy", "entropy_error", "entropy",
          "of a head: entropy of a query's weights, mean over queries", "nats");
  of_head("sink_mass", "sink_mass_error", "sink", "of a head: mean weight on key 0");
  fields.push_back(uniform_field("uniform_sink_mass", "of a head: that of even attention"));
  of_head("previous_token", "previous_token_error", "previous",
          "of a head: mean weight on the key before the query; null of texts of one token");
  fields.push_back(uniform_field("uniform_previous_token",
                                 "of a head: that of even attention; null of texts of one token"));
  fields.back().nulls = Nulls::whole;
  of_head("current_token", "current_token_error", "itself",
          "of a head: mean weight on the query's own key");
  of_head("mean_distance", "mean_distance_error", "distance",
          "of a head: mean distance from query to key, by weight", "tokens");
  fields[fields.size() - 2].mean_of = "distance";
  of_head("learned_sink_mass", "learned_sink_mass_error", "learned_sink_mass",
          "of a head: weight that a query gives to no key, mean over queries; 0 without learned "
          "sinks");
  of_head("patch_distance", "patch_distance_error", "patches away",
          "of a head, on images: mean distance from a patch to the patches that it looks at, by "
          "weight",
          "patches");
  fields.push_back(
      uniform_field("uniform_patch_distance", "of a head, on images: that of even attention"));
  of_head("diagonality", "diagonality_error", "current_token",
          "of a head of cross attention: how near its weights are to the line from the first token "
          "of both texts to the last; null of a source of one token");
  fields.push_back(
      uniform_field("uniform_diagonality",
                    "of a head of cross attention: that of even attention; null of a source "
                    "of one token"));
  fields.back().nulls = Nulls::whole;
  of_head("monotonicity", "monotonicity_error", "in order",
          "of a head of cross attention: share of pairs of target tokens that look at the source "
          "in their own order; null of one token");
  fields.push_back(uniform_field("uniform_monotonicity",
                                 "of a head of cross attention: that of even attention, 0.5"));
  of_head("attended_token_effect", "attended_token_effect_error", "attended_token_effect",
          "of a head: what it adds directly to the logits of the tokens that it reads, against the "
          "text's mean token, mean over queries; null where logits are no sum of what heads write, "
          "or the run ends before the last layer",
          "logits");
  of_head("output_ratio", "output_ratio_error", "output",
          "Of a head: norm of its output over the norm of the residual stream that enters the "
          "layer, mean over tokens. Null for given maps.",
          "share of the stream");
  fields.push_back({.name = "max_rank",
                    .nulls = Nulls::whole,
                    .unit = "singular values",
                    .heading = "max rank",
                    .meaning = "of a layer: the largest of its heads' mean energy ranks",
                    .where = kAttentionSection,
                    .optional = true});
  add_mean(fields, "mean_max_rank", "mean_max_rank_error", "mean max",
           "of a layer: the largest energy rank among its heads, mean over sequences",
           /*of_heads=*/false, "singular values");
  add_mean(fields, "mean_energy_columns", "mean_energy_columns_error", "energy_columns",
           "of a layer: columns, mean over heads and sequences", /*of_heads=*/false,
           "energy_columns");
  fields.push_back(
      uniform_field("uniform_energy_columns", "of a layer: columns of even attention"));
  fields.back().type = integer;
  fields.push_back({.name = "collapsed",
                    .type = flag,
                    .nulls = Nulls::whole,
                    .meaning =
                        "of a layer: whether mean_max_rank and mean_energy_columns are below 2; "
                        "null: not judged, at another energy than 0.9 or of fewer than 16 "
                        "keys",
                    .words = "fewer than two directions in the richest head and fewer than two "
                             "columns in the mean",
                    .where = kAttentionSection,
                    .optional = true});
  for (Field& field : activation_fields()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

Field tokens_hash_parameter() {
  return {.name = "tokens_hash",
          .type = text,
          .meaning = "equal where the same token ids were run",
          .where = "formats.md#parameters"};
}

std::vector<Field> text_parameter_fields() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  return {
      {.name = "source",
       .type = text,
       .meaning = "where the tokens come from: text, a file's name, tokens, or random",
       .where = kParameters},
      {.name = "sequences",
       .type = integer,
       .meaning = "how many sequences were run",
       .where = kParameters},
      {.name = "length",
       .type = integer,
       .unit = "tokens",
       .meaning = "of each sequence, or of the longest",
       .where = kParameters},
      {.name = "seed",
       .type = integer,
       .nulls = Nulls::whole,
       .meaning = "the seed of random windows or tokens; null: windows follow each other",
       .where = kParameters},
      {.name = "target_length",
       .type = integer,
       .unit = "tokens",
       .meaning = "of an encoder-decoder: what its decoder ran on; `length` is then that of the "
                  "source",
       .where = kParameters,
       .optional = true}};
}

std::vector<Field> example_parameter_fields() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  return {
      {.name = "lines",
       .type = flag,
       .meaning = "that each line of the text is an example of its own",
       .where = kParameters,
       .with = "lines",
       .optional = true},
      {.name = "score_positions",
       .type = text,
       .meaning = "the positions of the tokens that count in losses and means, or the name of a "
                  "mask's file",
       .where = kParameters,
       .with = "score_positions",
       .optional = true}};
}

RowKind attention_rows() {
  RowKind kind = {
      .name = "attention",
      .command = "attention",
      .meaning = "what the attention maps of one head, or of a layer, are like on text or images",
      .revision = 7,
      .place = place_of_part("the query head, from 0; null: the layer as a whole"),
      .fields = own_fields(),
      .models = model_facts(),
      .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back({.name = "energy",
                             .unit = "share of the energy",
                             .meaning = "the threshold of energy_rank and columns",
                             .where = "formats.md#parameters"});
  kind.parameters.push_back({.name = "exclude_first_token",
                             .type = flag,
                             .meaning = "whether key 0 is left out of energy_rank and columns",
                             .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

RowKind induction_rows() {
  RowKind kind = {.name = "induction",
                  .command = "attention",
                  .option = "induction",
                  .meaning = "how much a head looks at what followed a token before",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field(), query_head_field()},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  add_mean(kind.fields, "induction", "induction_error", "induction",
           "mean weight from a repeated token to the one after its first occurrence",
           /*of_heads=*/true);
  kind.fields.push_back(uniform_field("uniform_induction", "that of even attention"));
  add_mean(kind.fields, "duplicate_token", "duplicate_token_error", "duplicate",
           "mean weight from a repeated token to its first occurrence", /*of_heads=*/true);
  kind.fields.push_back(uniform_field("uniform_duplicate_token", "that of even attention"));
  for (Field& field : kind.fields) field.optional = false;  // all rows are of heads
  kind.parameters.insert(kind.parameters.begin(),
                         Field{.name = "induction",
                               .type = flag,
                               .meaning = "that rows are of random tokens repeated twice",
                               .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  return kind;
}

RowKind attention_map_rows() {
  RowKind kind = {.name = "attention_map",
                  .command = "attention",
                  .option = "heatmap",
                  .meaning = "one row of the attention map of a head: where one query looks",
                  .place = {model_field(), stack_field(), layer_field(), query_head_field()},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  kind.models.push_back(source_tokens_fact());
  kind.fields = {{.name = "query",
                  .type = integer,
                  .meaning = "the place of the query in the sequence, from 0",
                  .where = "formats.md#rows"},
                 {.name = "token",
                  .type = integer,
                  .nulls = Nulls::whole,
                  .meaning = "the id of the token there; null of an image or sound",
                  .where = "formats.md#rows"},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .meaning = "the token as people read it; null of a model without a tokenizer",
                  .where = "formats.md#rows"},
                 {.name = "weights",
                  .form = list,
                  .meaning = "how much the query looks at each key, from 0: they sum to 1, but for "
                             "what a learned sink takes; of cross attention, keys are the source's",
                  .where = kAttentionSection}};
  const std::vector<Field> own = {{.name = "heatmap",
                                   .type = integer,
                                   .form = list,
                                   .meaning = "the layer and the head that were asked for",
                                   .where = "formats.md#parameters"},
                                  {.name = "log",
                                   .type = flag,
                                   .meaning = "whether a drawing of them has a logarithmic scale",
                                   .where = "formats.md#parameters"}};
  kind.parameters.insert(kind.parameters.begin(), own.begin(), own.end());
  return kind;
}

}  // namespace attnscope
