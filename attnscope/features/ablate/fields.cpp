// Rows of `ablate`: what a text's loss is without a part of a model.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

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
      {.name = "ablation",
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
      number("top_token_changed", Nulls::none, "share of places", "top_token_changed",
             "share of places with another likeliest token"),
      number("direct_effect", Nulls::whole, "logits", "direct_effect",
             "what it adds itself to the logit of the text's token, less the mean over the "
             "vocabulary; null where logits are no sum of what parts write, and of an encoder's"),
      number("direct_effect_error", Nulls::whole, "logits", "",
             "the standard error of that over windows or pairs; null of one"),
      number("loss", Nulls::none, "nats", "loss", "the model's own, mean"),
      {.name = "predicted",
       .type = integer,
       .unit = "tokens",
       .meaning = "how many tokens the losses are over",
       .where = kSection}};
  kind.parameters.push_back({.name = "ablation",
                             .type = text,
                             .meaning = "what parts are replaced by",
                             .where = "formats.md#parameters",
                             .choices = {"mean", "zero", "resample"}});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

// Rows of `ablate --induction`: a head and a later one.

using enum FieldType;
using enum FieldForm;

RowKind ablate_induction_rows() {
  constexpr std::string_view kSection = "metrics.md#ablation";
  const auto number = [&](std::string_view name, std::string_view unit, std::string_view head,
                          std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = unit,
                 .heading = head,
                 .meaning = meaning,
                 .where = kSection};
  };
  const auto place = [&](std::string_view name, Nulls nulls, std::string_view meaning) {
    return Field{.name = name,
                 .type = integer,
                 .nulls = nulls,
                 .meaning = meaning,
                 .where = "formats.md#rows"};
  };
  RowKind kind = {.name = "ablate_induction",
                  .command = "ablate",
                  .option = "induction",
                  .meaning = "what a later head's induction is without an earlier head",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field(),
                            place("head", Nulls::none, "the head that is replaced, from 0")},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  kind.fields = {
      {.name = "receiver_input",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "Input of the receiver head that the earlier head's output is removed from: its "
                  "queries (q), keys (k) or values (v). Null if the earlier head is ablated "
                  "everywhere.",
       .where = kSection,
       .choices = {"q", "k", "v"}},
      place("receiver_layer", Nulls::whole, "the later head's layer; null: there is none"),
      place("receiver_head", Nulls::whole, "the later head"),
      number("induction_before", "", "induction",
             "of the later head as it is: mean weight from a repeated token to the one after its "
             "first occurrence"),
      number("induction", "", "without", "the same without the earlier head"),
      number("write_change", "share of what it gives", "",
             "of a path: by how much what the later head gives to the output projection changes, "
             "‖difference‖ / ‖as it is‖; null where heads are replaced everywhere"),
      number("loss_increase", "nats", "loss increase",
             "by how much the mean loss of the second half rises; null of a path"),
      number("loss_increase_error", "nats", "",
             "the standard error of that over sequences; null of one sequence and of a path"),
      number("loss", "nats", "loss", "the model's own on the second half; null of a path")};
  kind.parameters.insert(kind.parameters.begin(),
                         Field{.name = "induction",
                               .type = flag,
                               .meaning = "that rows are of random tokens repeated twice",
                               .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back({.name = "receiver",
                             .type = text,
                             .nulls = Nulls::whole,
                             .meaning = "Head whose inputs are changed, such as L5H3, or one input "
                                        "of it, such as L5H3.q. Null if heads are ablated "
                                        "everywhere.",
                             .where = "formats.md#parameters"});
  return kind;
}

// Rows of `ablate --prompts`: whose doing it is that a model prefers the right answers.

using enum FieldType;

Field prompts_parameter_field() {
  return {.name = "prompts",
          .type = text,
          .meaning = "the name of the file of prompts with answers",
          .where = "formats.md#parameters",
          .with = "prompts"};
}

std::vector<Field> preference_fields() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  return {{.name = "logit_difference",
           .unit = "logits",
           .meaning = "logit(right) − logit(wrong) after clean prompts, mean",
           .where = kSection},
          {.name = "corrupted_logit_difference",
           .nulls = Nulls::whole,
           .unit = "logits",
           .meaning = "the same after corrupted ones; null where there are none",
           .where = kSection},
          {.name = "prompts",
           .type = integer,
           .meaning = "how many prompts the means are over",
           .where = kSection}};
}

RowKind ablate_prompts_rows() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  RowKind kind = {.name = "ablate_prompts",
                  .command = "ablate",
                  .option = "prompts",
                  .meaning = "what share of the preference for right answers is a part's doing",
                  .place = place_of_part(),
                  .models = model_facts()};
  const auto share = [&](std::string_view name, std::string_view heading,
                         std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = "share of the preference",
                 .heading = heading,
                 .meaning = meaning,
                 .where = kSection};
  };
  kind.fields = {
      replaced_part_field(kSection),
      {.name = "ablation",
       .type = text,
       .meaning = "by what: what it gives after the corrupted prompt, its mean over the prompts, "
                  "or zeros",
       .where = kSection,
       .choices = {"corrupted", "mean", "zero"}},
      share("denoising_effect", "denoising_effect",
            "what it brings back after corrupted prompts where it is as after the clean ones; null "
            "without corrupted ones, or a preference"),
      share("denoising_effect_error", "",
            "the standard error of that over prompts; null of one prompt"),
      share("noising_effect", "noising_effect",
            "what is lost after clean prompts where it is replaced; null without a preference"),
      share("noising_effect_error", "",
            "the standard error of that over prompts; null of one prompt")};
  for (Field& field : preference_fields()) kind.fields.push_back(std::move(field));
  kind.parameters = {prompts_parameter_field(),
                     {.name = "ablation",
                      .type = text,
                      .meaning = "what parts are replaced by",
                      .where = "formats.md#parameters",
                      .choices = {"corrupted", "mean", "zero"}},
                     layers_parameter()};
  return kind;
}

}  // namespace attnscope
