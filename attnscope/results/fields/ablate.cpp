// Rows of `ablate`: what a text's loss is without a part of a model.
#include "attnscope/results/fields/kinds.h"

namespace attnscope {

using enum FieldType;

RowKind ablate_rows() {
  constexpr std::string_view kSection = "metrics.md#ablation";
  const auto number = [&](std::string_view name, Nulls nulls, std::string_view unit,
                          std::string_view head, std::string_view meaning) {
    return Field{.name = name,
                 .nulls = nulls,
                 .unit = unit,
                 .heading = head,
                 .meaning = meaning,
                 .where = kSection};
  };
  RowKind kind = {.name = "ablate",
                  .command = "ablate",
                  .meaning = "what a text's loss is where a part of a layer is replaced",
                  .revision = 2,
                  .place = place_of_part(),
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.fields = {
      replaced_part_field(kSection),
      {.name = "how",
       .type = text,
       .meaning =
           "by what: its mean over the text, zeros, or what it gave in the next window or pair",
       .where = kSection,
       .choices = {"mean", "zero", "resample"}},
      number("loss_increase", Nulls::none, "nats", "loss increase",
             "by how much the mean loss rises"),
      number("loss_increase_error", Nulls::whole, "nats", "",
             "the standard error of that over windows or pairs; null of one"),
      number("kl", Nulls::none, "nats", "kl", "KL(the model ‖ the model without it), mean"),
      number("changed", Nulls::none, "share of places", "changed",
             "share of places with another likeliest token"),
      number("direct", Nulls::whole, "logits", "direct",
             "what it adds itself to the logit of the text's token, less the mean over the "
             "vocabulary; null where logits are no sum of what parts write, and of an encoder's"),
      number("direct_error", Nulls::whole, "logits", "",
             "the standard error of that over windows or pairs; null of one"),
      number("loss", Nulls::none, "nats", "loss", "the model's own, mean"),
      {.name = "predicted",
       .type = integer,
       .unit = "tokens",
       .meaning = "how many tokens the losses are over",
       .where = kSection}};
  kind.parameters.push_back({.name = "how",
                             .type = text,
                             .meaning = "what parts are replaced by",
                             .where = "formats.md#parameters",
                             .choices = {"mean", "zero", "resample"}});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

}  // namespace attnscope
