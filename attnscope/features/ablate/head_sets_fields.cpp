// Rows of `ablate --heads`, `--pairs` and `--cumulative`: the loss on a text when several heads are
// ablated together.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;

constexpr std::string_view kSetSection = "metrics.md#sets-of-heads";

Field set_number(std::string_view name, Nulls nulls, std::string_view unit,
                 std::string_view heading, std::string_view meaning) {
  return {.name = name,
          .nulls = nulls,
          .unit = unit,
          .heading = heading,
          .meaning = meaning,
          .where = kSetSection};
}

Field set_ablation_field(std::string_view meaning, std::string_view where) {
  return {.name = "ablation",
          .type = text,
          .meaning = meaning,
          .where = where,
          .choices = {"mean", "zero", "resample"}};
}

/// From `ablation` to `top_token_changed`.
void add_effect_fields(std::vector<Field>& fields) {
  fields.push_back(set_ablation_field(
      "ablation: replace the output of each head by its mean over the text (mean), by zeros "
      "(zero), or by its output on the next window or pair (resample)",
      kSetSection));
  fields.push_back(set_number("loss_increase", Nulls::none, "nats", "loss increase",
                              "increase of the mean loss when the heads are ablated together"));
  fields.push_back(set_number("loss_increase_error", Nulls::whole, "nats", "",
                              "standard error of loss_increase over windows or pairs. Null for a "
                              "single window or pair."));
  fields.push_back(set_number("kl", Nulls::none, "nats", "kl",
                              "mean KL divergence of the ablated model's predictions from the "
                              "original: KL(original ‖ ablated)"));
  fields.push_back(set_number("top_token_changed", Nulls::none, "share of positions",
                              "top-1 changed",
                              "share of positions whose top-1 token changes when the heads are "
                              "ablated together"));
}

void add_baseline_fields(std::vector<Field>& fields) {
  fields.push_back(
      set_number("loss", Nulls::none, "nats", "loss", "mean loss of the unmodified model"));
  fields.push_back({.name = "predicted",
                    .type = integer,
                    .unit = "tokens",
                    .meaning = "number of predicted tokens over which losses are averaged",
                    .where = kSetSection});
}

/// The parameters after the one that requests the rows.
void add_set_parameters(RowKind& kind, Nulls heads) {
  kind.parameters.push_back(
      {.name = "heads",
       .type = text,
       .nulls = heads,
       .meaning = heads == Nulls::none
                      ? "heads that are ablated together, such as L0H1,L2H3"
                      : "heads among which sets are chosen. Null: all heads of the layers.",
       .where = "formats.md#parameters"});
  for (Field& field : text_parameter_fields()) kind.parameters.push_back(std::move(field));
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.parameters.push_back(set_ablation_field("type of ablation", "formats.md#parameters"));
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  kind.models = model_facts();
}

std::vector<Field> set_fields() {
  std::vector<Field> fields = {
      {.name = "heads",
       .type = text,
       .meaning = "heads that are ablated together, such as L0H1,L2H3",
       .where = kSetSection},
      {.name = "count", .type = integer, .meaning = "number of these heads", .where = kSetSection}};
  add_effect_fields(fields);
  fields.push_back(set_number("sum_of_increases", Nulls::whole, "nats", "sum",
                              "sum of the loss increases of the heads, each ablated alone. Null "
                              "for one head."));
  fields.push_back(set_number("interaction", Nulls::whole, "nats", "interaction",
                              "loss_increase − sum_of_increases. Positive: together, the heads "
                              "matter more than alone, as if one replaces the other. Negative: "
                              "they matter less, as if one needs the other. Null for one head."));
  fields.push_back(set_number("interaction_error", Nulls::whole, "nats", "",
                              "standard error of interaction over windows or pairs. Null for one "
                              "head, and for a single window or pair."));
  add_baseline_fields(fields);
  return fields;
}

}  // namespace

RowKind ablate_heads_rows() {
  RowKind kind = {.name = "ablate_heads",
                  .command = "ablate",
                  .option = "heads",
                  .meaning = "effect of ablating several heads together, and each alone",
                  .place = {model_field(), stack_field()},
                  .fields = set_fields()};
  add_set_parameters(kind, Nulls::none);
  return kind;
}

RowKind ablate_pairs_rows() {
  RowKind kind = {.name = "ablate_pairs",
                  .command = "ablate",
                  .option = "pairs",
                  .meaning = "effect of ablating two heads together, and each alone",
                  .place = {model_field(), stack_field()},
                  .fields = set_fields()};
  kind.parameters.push_back({.name = "pairs",
                             .type = integer,
                             .meaning = "number of heads, those with the largest effects, of which "
                                        "each pair is ablated",
                             .where = "formats.md#parameters"});
  add_set_parameters(kind, Nulls::whole);
  return kind;
}

RowKind ablate_cumulative_rows() {
  RowKind kind = {.name = "ablate_cumulative",
                  .command = "ablate",
                  .option = "cumulative",
                  .meaning = "effect of ablating more and more heads",
                  .place = {model_field(), stack_field()}};
  kind.fields = {
      {.name = "order",
       .type = text,
       .meaning = "order in which heads are ablated: by their loss increase when ablated alone, "
                  "the smallest first (effect), or at random (random)",
       .where = kSetSection,
       .choices = {"effect", "random"}},
      {.name = "draw",
       .type = integer,
       .nulls = Nulls::whole,
       .meaning = "index of the random order, from 0. Null for the order by effect.",
       .where = kSetSection},
      {.name = "removed",
       .type = integer,
       .unit = "heads",
       .heading = "heads ablated",
       .meaning = "number of heads that are ablated together",
       .where = kSetSection},
      {.name = "heads",
       .type = text,
       .meaning = "heads that are ablated in addition to those of the previous row of this order",
       .where = kSetSection}};
  add_effect_fields(kind.fields);
  add_baseline_fields(kind.fields);
  kind.parameters.push_back({.name = "cumulative",
                             .type = flag,
                             .meaning = "true: more and more heads are ablated",
                             .where = "formats.md#parameters"});
  add_set_parameters(kind, Nulls::whole);
  return kind;
}

}  // namespace attnscope
