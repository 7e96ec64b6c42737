// Rows of `attention`: measures of the attention maps of each head and layer, as means over
// sequences.
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
  fields.push_back({.name = name_of_error,
                    .nulls = Nulls::whole,
                    .unit = unit,
                    .meaning = of_heads ? "head: standard error over sequences; the field name "
                                          "without _error names the mean. Null for one sequence."
                                        : "layer: standard error over sequences; the field name "
                                          "without _error names the mean. Null for one sequence.",
                    .where = kAttentionSection,
                    .optional = true});
}

/// The value of a measure under uniform attention.
Field uniform_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .meaning = meaning, .where = kAttentionSection, .optional = true};
}

Field query_head_field() {
  return {.name = "head",
          .type = integer,
          .meaning = "query head index, from 0",
          .where = "formats.md#rows"};
}

/// For layer rows. Null for cross-attention, which shares the residual stream of the decoder's own
/// rows, and for user maps.
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
               "layer: largest absolute activation of the residual stream after the layer. Null "
               "for cross-attention and user maps."),
      of_layer("activation_ratio", number, "over median",
               "layer: max_activation divided by the median absolute activation of its sequence. "
               "Null if the median is 0, for cross-attention and for user maps."),
      of_layer("activation_dimension", integer, "dimension",
               "layer: dimension of the residual stream with the largest absolute activation, from "
               "0. Null for cross-attention and user maps."),
      of_layer("activation_position", integer, "position",
               "layer: position with the largest absolute activation, from 0. Null for "
               "cross-attention and user maps."),
      of_layer("outlier_count", integer, "outliers",
               "layer: number of dimensions of the attention input whose magnitude is at least 6 "
               "at 6% or more of the positions. Null for cross-attention and user maps."),
      of_layer("outlier_dimensions", integer, "",
               "layer: outlier dimensions of the attention input, most frequent first, at most 16. "
               "Null for cross-attention and user maps.")};
  fields.back().form = list;
  return fields;
}

std::vector<Field> own_fields() {
  std::vector<Field> fields = {{.name = "sequences",
                                .type = integer,
                                .unit = "sequences",
                                .meaning = "number of sequences, or of windows of images, over "
                                           "which the means are taken",
                                .where = kAttentionSection}};
  const auto of_head = [&](auto name, auto error, auto heading, auto meaning, auto... unit) {
    add_mean(fields, name, error, heading, meaning, /*of_heads=*/true, unit...);
  };
  of_head("energy_rank", "energy_rank_error", "rank",
          "head: energy rank of its attention map: number of singular values that hold the share "
          "`energy` of the squared Frobenius norm",
          "singular values");
  of_head("energy_columns", "energy_columns_error", "columns",
          "head: smallest number of columns (keys) that hold the share `energy` of all squared "
          "attention weights",
          "columns");
  fields.push_back(
      {.name = "top_columns",
       .type = integer,
       .form = list,
       .meaning = "head: indices, from 0, of the columns (keys) that are among the largest columns "
                  "in the most sequences",
       .where = kAttentionSection,
       .optional = true});
  of_head("first_column_share", "first_column_share_error", "in first",
          "head: share of the sum of squared attention weights that lies in the largest column "
          "(key)");
  of_head("entropy", "entropy_error", "entropy",
          "head: attention entropy per query, mean over queries", "nats");
  of_head("sink_mass", "sink_mass_error", "sink", "head: mean attention to the first key");
  fields.push_back(uniform_field("uniform_sink_mass", "head: sink_mass under uniform attention"));
  of_head("previous_token", "previous_token_error", "previous",
          "head: mean attention to the previous token. Null for texts of one token.");
  fields.push_back(
      uniform_field("uniform_previous_token",
                    "head: previous_token under uniform attention. Null for texts of one token."));
  fields.back().nulls = Nulls::whole;
  of_head("current_token", "current_token_error", "current token",
          "head: mean attention to the current token (the query's own position)");
  of_head("mean_distance", "mean_distance_error", "distance",
          "head: mean distance from query to key, weighted by attention", "tokens");
  fields[fields.size() - 2].mean_of = "distance";
  of_head(
      "learned_sink_mass", "learned_sink_mass_error", "learned sink",
      "head: attention mass on the learned sink, or on the padding of a window of an image, mean "
      "over queries. 0 without either.");
  of_head("patch_distance", "patch_distance_error", "patch distance",
          "head, image inputs: mean distance from a patch to the attended patches, weighted by "
          "attention",
          "patches");
  fields.push_back(uniform_field("uniform_patch_distance",
                                 "head, image inputs: patch_distance under uniform attention"));
  of_head("diagonality", "diagonality_error", "diagonality",
          "head, cross-attention: how close its attention is to the diagonal from the first to the "
          "last token of source and target. 1 if all attention is on the diagonal. Null for a "
          "source of one token.");
  fields.push_back(uniform_field("uniform_diagonality",
                                 "head, cross-attention: diagonality under uniform attention. Null "
                                 "for a source of one token."));
  fields.back().nulls = Nulls::whole;
  of_head("monotonicity", "monotonicity_error", "monotonicity",
          "head, cross-attention: share of pairs of target tokens whose mean attended source "
          "positions are in the same order as the target tokens. Null if source or target has one "
          "token.");
  fields.push_back(uniform_field(
      "uniform_monotonicity", "head, cross-attention: monotonicity under uniform attention: 0.5"));
  of_head("a_to_b", "a_to_b_error", "A→B",
          "head, pairs of texts: mean attention from a token of text A to all tokens of text B; "
          "special tokens belong to neither text");
  fields.push_back(
      uniform_field("uniform_a_to_b", "head, pairs of texts: a_to_b under uniform attention"));
  of_head("b_to_a", "b_to_a_error", "B→A",
          "head, pairs of texts: mean attention from a token of text B to all tokens of text A; "
          "special tokens belong to neither text");
  fields.push_back(
      uniform_field("uniform_b_to_a", "head, pairs of texts: b_to_a under uniform attention"));
  const auto with_uniform = [&](std::string_view name, std::string_view name_of_error,
                                std::string_view name_of_uniform, std::string_view heading,
                                std::string_view meaning, std::string_view meaning_of_uniform) {
    of_head(name, name_of_error, heading, meaning);
    fields.push_back(uniform_field(name_of_uniform, meaning_of_uniform));
  };
  with_uniform("system_mass", "system_mass_error", "uniform_system_mass", "system",
               "head, chats: mean attention from a query to all tokens of messages of the roles "
               "system and developer",
               "head, chats: system_mass under uniform attention");
  with_uniform("user_mass", "user_mass_error", "uniform_user_mass", "user",
               "head, chats: mean attention from a query to all tokens of user messages",
               "head, chats: user_mass under uniform attention");
  with_uniform("assistant_mass", "assistant_mass_error", "uniform_assistant_mass", "assistant",
               "head, chats: mean attention from a query to all tokens of assistant messages",
               "head, chats: assistant_mass under uniform attention");
  with_uniform("tool_mass", "tool_mass_error", "uniform_tool_mass", "tool",
               "head, chats: mean attention from a query to all tokens of tool messages",
               "head, chats: tool_mass under uniform attention");
  with_uniform("template_mass", "template_mass_error", "uniform_template_mass", "template",
               "head, chats: mean attention from a query to all tokens of the chat template, such "
               "as special tokens",
               "head, chats: template_mass under uniform attention");
  of_head("attended_token_effect", "attended_token_effect_error", "attended token effect",
          "head: direct effect of the head on the attended token's logit, relative to the mean "
          "over the text's tokens, averaged over queries. Null if the logits are not a sum of "
          "component outputs, or if the last layer is not run.",
          "logits");
  of_head("output_ratio", "output_ratio_error", "output norm",
          "head: norm of the head output divided by the norm of the residual stream before the "
          "layer, mean over tokens. Null for user maps.",
          "share of the residual stream norm");
  fields.push_back({.name = "max_rank",
                    .nulls = Nulls::whole,
                    .unit = "singular values",
                    .heading = "max rank",
                    .meaning = "layer: largest energy_rank of any of its heads",
                    .where = kAttentionSection,
                    .optional = true});
  add_mean(fields, "mean_max_rank", "mean_max_rank_error", "mean max",
           "layer: largest energy rank of its heads in each sequence, mean over sequences",
           /*of_heads=*/false, "singular values");
  add_mean(fields, "mean_energy_columns", "mean_energy_columns_error", "columns",
           "layer: mean of energy_columns over heads and sequences", /*of_heads=*/false, "columns");
  fields.push_back(
      uniform_field("uniform_energy_columns", "layer: energy_columns under uniform attention"));
  fields.push_back({.name = "collapsed",
                    .type = flag,
                    .nulls = Nulls::whole,
                    .meaning =
                        "layer: true if mean_max_rank and mean_energy_columns are both below 2. "
                        "Null if `energy` is not 0.9 or there are fewer than 16 keys.",
                    .words = "on average, fewer than 2 directions in the head of highest rank and "
                             "fewer than 2 energy columns",
                    .where = kAttentionSection,
                    .optional = true});
  for (Field& field : activation_fields()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

Field tokens_hash_parameter() {
  return {.name = "tokens_hash",
          .type = text,
          .meaning = "hash of the token ids; equal for runs on the same tokens",
          .where = "formats.md#parameters"};
}

Field edits_hash_parameter() {
  return {.name = "edits_hash",
          .type = text,
          .meaning = "hash of the edits of activations; equal for runs with the same edits",
          .where = "formats.md#parameters",
          .with = "edits",
          .optional = true};
}

std::vector<Field> text_parameter_fields() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  std::vector<Field> fields = {
      {.name = "source",
       .type = text,
       .meaning = "source of the tokens: text, tokens, random, or a file name",
       .where = kParameters},
      {.name = "sequences",
       .type = integer,
       .meaning = "number of sequences that were run",
       .where = kParameters},
      {.name = "length",
       .type = integer,
       .unit = "tokens",
       .meaning = "length of each sequence, or of the longest one",
       .where = kParameters},
      {.name = "seed",
       .type = integer,
       .nulls = Nulls::whole,
       .meaning = "seed of random windows or tokens. Null for consecutive windows.",
       .where = kParameters},
      {.name = "target_length",
       .type = integer,
       .unit = "tokens",
       .meaning = "encoder-decoder models: length of the target, or of the longest one; "
                  "`length` is then the length of the source",
       .where = kParameters,
       .optional = true}};
  add_chat_parameter_fields(fields);
  return fields;
}

std::vector<Field> example_parameter_fields() {
  constexpr std::string_view kParameters = "formats.md#parameters";
  return {
      {.name = "lines",
       .type = flag,
       .meaning = "true: each line of the text is a separate example",
       .where = kParameters,
       .with = "lines",
       .optional = true},
      {.name = "score_positions",
       .type = text,
       .meaning =
           "positions of the tokens that count in losses and means, or the name of the mask file",
       .where = kParameters,
       .with = "score_positions",
       .optional = true}};
}

RowKind attention_rows() {
  RowKind kind = {
      .name = "attention",
      .command = "attention",
      .meaning = "measures of the attention maps of one head or layer on the input",
      .revision = 8,
      .place = place_of_part("query head index, from 0. Null for rows of a whole layer."),
      .fields = own_fields(),
      .models = model_facts(),
      .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back({.name = "energy",
                             .unit = "share of the energy",
                             .meaning = "energy threshold of energy_rank and energy_columns",
                             .where = "formats.md#parameters"});
  kind.parameters.push_back(
      {.name = "exclude_first_token",
       .type = flag,
       .meaning = "true: energy_rank and energy_columns exclude the first key",
       .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  kind.parameters.push_back(edits_hash_parameter());
  return kind;
}

RowKind induction_rows() {
  RowKind kind = {.name = "induction",
                  .command = "attention",
                  .option = "induction",
                  .meaning = "induction and duplicate-token scores of one head",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field(), query_head_field()},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  add_mean(kind.fields, "induction", "induction_error", "induction",
           "induction score: mean attention from a repeated token to the token after its first "
           "occurrence",
           /*of_heads=*/true);
  kind.fields.push_back(
      uniform_field("uniform_induction", "induction score under uniform attention"));
  add_mean(kind.fields, "duplicate_token", "duplicate_token_error", "duplicate",
           "duplicate-token score: mean attention from a repeated token to its first occurrence",
           /*of_heads=*/true);
  kind.fields.push_back(
      uniform_field("uniform_duplicate_token", "duplicate-token score under uniform attention"));
  for (Field& field : kind.fields) field.optional = false;  // all rows are of heads
  kind.parameters.insert(kind.parameters.begin(),
                         Field{.name = "induction",
                               .type = flag,
                               .meaning = "true: rows are computed on random tokens repeated twice",
                               .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  return kind;
}

RowKind attention_map_rows() {
  RowKind kind = {.name = "attention_map",
                  .command = "attention",
                  .option = "heatmap",
                  .meaning = "one row of the attention map of a head: the attention of one query",
                  .place = {model_field(), stack_field(), layer_field(), query_head_field()},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  kind.models.push_back(source_tokens_fact());
  kind.fields = {{.name = "query",
                  .type = integer,
                  .meaning = "position of the query in the sequence, from 0",
                  .where = "formats.md#rows"},
                 {.name = "token",
                  .type = integer,
                  .nulls = Nulls::whole,
                  .meaning = "token id at the query position. Null for images and audio.",
                  .where = "formats.md#rows"},
                 {.name = "text",
                  .type = text,
                  .nulls = Nulls::whole,
                  .meaning = "text of the token at the query position. Null without a tokenizer.",
                  .where = "formats.md#rows"},
                 message_role_field(),
                 {.name = "weights",
                  .form = list,
                  .meaning = "attention of the query to each key; sums to 1 minus the mass on a "
                             "learned sink. For cross-attention, keys are source positions.",
                  .where = kAttentionSection}};
  const std::vector<Field> own = {{.name = "heatmap",
                                   .type = integer,
                                   .form = list,
                                   .meaning = "requested layer and head",
                                   .where = "formats.md#parameters"},
                                  {.name = "log",
                                   .type = flag,
                                   .meaning = "true: the heatmap has a logarithmic scale",
                                   .where = "formats.md#parameters"}};
  kind.parameters.insert(kind.parameters.begin(), own.begin(), own.end());
  kind.parameters.push_back(edits_hash_parameter());
  return kind;
}

}  // namespace attnscope
