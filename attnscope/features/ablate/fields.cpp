// Rows of `ablate`: the loss on a text when a component is ablated.
#include "attnscope/features/common/fields.h"
#include "attnscope/features/ablate/effect_fields.h"
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
                  .meaning = "effect of ablating one component on the loss of a text",
                  .revision = 3,
                  .place = place_of_part(),
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  kind.fields = {
      replaced_part_field(kSection),
      {.name = "ablation",
       .type = text,
       .meaning = "ablation: replace the output of the component by its mean over the text (mean), "
                  "by zeros (zero), or by its output on the next window or pair (resample)",
       .where = kSection,
       .choices = {"mean", "zero", "resample"}},
      number("loss_increase", Nulls::none, "nats", "loss increase",
             "increase of the mean loss when the component is ablated"),
      number("loss_increase_error", Nulls::whole, "nats", "",
             "standard error of loss_increase over windows or pairs. Null for a single window or "
             "pair."),
      number("kl", Nulls::none, "nats", "kl",
             "mean KL divergence of the ablated model's predictions from the original: KL(original "
             "‖ ablated)"),
      number("top_token_changed", Nulls::none, "share of positions", "top-1 changed",
             "share of positions whose top-1 token changes when the component is ablated"),
      number("direct_effect", Nulls::whole, "logits", "direct effect",
             "direct effect of the component on the logit of the correct token, relative to the "
             "mean over the vocabulary. Null if the logits are not a sum of component outputs, for "
             "encoders, and for models with mixers."),
      number("direct_effect_error", Nulls::whole, "logits", "",
             "standard error of direct_effect over windows or pairs. Null for a single window or "
             "pair."),
      number("loss", Nulls::none, "nats", "loss", "mean loss of the unmodified model"),
      {.name = "predicted",
       .type = integer,
       .unit = "tokens",
       .meaning = "number of predicted tokens over which losses are averaged",
       .where = kSection}};
  kind.parameters.push_back({.name = "ablation",
                             .type = text,
                             .meaning = "type of ablation",
                             .where = "formats.md#parameters",
                             .choices = {"mean", "zero", "resample"}});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back(tokens_hash_parameter());
  return kind;
}

// Rows of `ablate --induction`: an ablated head and a later head.

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
                  .meaning = "effect of ablating one head on the induction score of a later head",
                  .revision = 2,
                  .place = {model_field(), stack_field(), layer_field(),
                            place("head", Nulls::none, "index of the ablated head, from 0")},
                  .models = model_facts(),
                  .parameters = text_parameter_fields()};
  kind.fields = {
      {.name = "receiver_input",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "input of the receiver at the end of the ablated direct path: queries (q), keys "
                  "(k) or values (v). Null if the head is ablated everywhere.",
       .where = kSection,
       .choices = {"q", "k", "v"}},
      place("receiver_layer", Nulls::whole,
            "layer of the later head (the receiver). Null if there is no later head."),
      place("receiver_head", Nulls::whole,
            "index of the later head (the receiver), from 0. Null if there is no later head."),
      number("induction_before", "", "induction",
             "induction score of the later head in the unmodified model: mean attention from a "
             "repeated token to the token after its first occurrence"),
      number("induction", "", "ablated",
             "induction score of the later head when the earlier head is ablated"),
      number("write_change", "share of the output norm", "",
             "relative change of the receiver's output before the output projection when the path "
             "is ablated, ‖change‖ / ‖original output‖. Null if heads are ablated everywhere."),
      number("loss_increase", "nats", "loss increase",
             "increase of the mean loss on the second half of the tokens when the head is ablated. "
             "Null if only a direct path is ablated."),
      number("loss_increase_error", "nats", "",
             "standard error of loss_increase over sequences. Null for one sequence, and if only a "
             "direct path is ablated."),
      number("loss", "nats", "loss",
             "mean loss of the unmodified model on the second half of the tokens. Null if only "
             "direct paths are ablated.")};
  kind.parameters.insert(kind.parameters.begin(),
                         Field{.name = "induction",
                               .type = flag,
                               .meaning = "true: rows are computed on random tokens repeated twice",
                               .where = "formats.md#parameters"});
  kind.parameters.push_back(layers_parameter());
  kind.parameters.push_back({.name = "receiver",
                             .type = text,
                             .nulls = Nulls::whole,
                             .meaning = "receiver, such as L5H3, or one input of it, such as "
                                        "L5H3.q. Null if heads are ablated everywhere.",
                             .where = "formats.md#parameters"});
  return kind;
}

// Rows of `ablate --prompts`: effect of each component on the logit difference.

using enum FieldType;

Field prompts_parameter_field() {
  return {.name = "prompts",
          .type = text,
          .meaning = "name of the file of prompts with answers",
          .where = "formats.md#parameters",
          .with = "prompts"};
}

std::vector<Field> preference_fields() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  return {{.name = "logit_difference",
           .unit = "logits",
           .meaning = "mean over clean prompts of logit(correct) − logit(incorrect)",
           .where = kSection},
          {.name = "corrupted_logit_difference",
           .nulls = Nulls::whole,
           .unit = "logits",
           .meaning = "mean over corrupted prompts of logit(correct) − logit(incorrect). Null "
                      "without corrupted prompts.",
           .where = kSection},
          {.name = "prompts",
           .type = integer,
           .meaning = "number of prompts over which the means are taken",
           .where = kSection}};
}

RowKind ablate_prompts_rows() {
  constexpr std::string_view kSection = "metrics.md#prompts-with-an-answer";
  RowKind kind = {
      .name = "ablate_prompts",
      .command = "ablate",
      .option = "prompts",
      .meaning = "effect of patching or ablating one component on the logit difference of prompts",
      .place = place_of_part(),
      .models = model_facts()};
  const auto share = [&](std::string_view name, std::string_view heading,
                         std::string_view meaning) {
    return Field{.name = name,
                 .nulls = Nulls::whole,
                 .unit = "share of the logit difference",
                 .heading = heading,
                 .meaning = meaning,
                 .where = kSection};
  };
  kind.fields = {
      replaced_part_field(kSection),
      {.name = "ablation",
       .type = text,
       .meaning =
           "ablation: replace the output of the component in the clean run by its output on the "
           "corrupted prompt (corrupted), its mean over the prompts (mean), or zeros (zero)",
       .where = kSection,
       .choices = {"corrupted", "mean", "zero"}},
      share("denoising_effect", "denoising effect",
            "Share of the clean–corrupted gap in logit difference that is recovered by patching "
            "this component's clean output into the corrupted run. Null without corrupted prompts, "
            "or if the gap is not positive."),
      share("denoising_effect_error", "",
            "standard error of denoising_effect over prompts. Null for one prompt."),
      share("noising_effect", "noising effect",
            "Share of the clean–corrupted gap in logit difference that is lost by replacing this "
            "component's output in the clean run. Without corrupted prompts: lost share of the "
            "clean logit difference. Null if this gap or difference is not positive."),
      share("noising_effect_error", "",
            "standard error of noising_effect over prompts. Null for one prompt.")};
  for (Field& field : preference_fields()) kind.fields.push_back(std::move(field));
  add_certainty_fields(kind);
  kind.parameters = {prompts_parameter_field(),
                     {.name = "ablation",
                      .type = text,
                      .meaning = "type of ablation; corrupted: activation patching",
                      .where = "formats.md#parameters",
                      .choices = {"corrupted", "mean", "zero"}},
                     layers_parameter()};
  return kind;
}

RowKind ablate_label_rows() {
  constexpr std::string_view kSection = "metrics.md#ablation";
  const auto number = [&](std::string_view name, std::string_view unit, std::string_view heading,
                          std::string_view meaning, Nulls nulls = Nulls::none) {
    return Field{.name = name,
                 .nulls = nulls,
                 .unit = unit,
                 .heading = heading,
                 .meaning = meaning,
                 .where = kSection};
  };
  const Field ablation = {
      .name = "ablation",
      .type = text,
      .meaning =
          "ablation: replace the output of the component by its mean over all texts (mean), "
          "or by zeros (zero)",
      .where = kSection,
      .choices = {"mean", "zero"}};
  RowKind kind = {
      .name = "ablate_label",
      .command = "ablate",
      .option = "label",
      .meaning = "effect of ablating one component on the logit of a label",
      .place = place_of_part(),
      .fields = {replaced_part_field(kSection),
                 ablation,
                 number("label_logit_change", "logits", "logit change",
                        "change of the label's logit when the component is ablated, mean over "
                        "texts"),
                 number("label_logit_change_error", "logits", "",
                        "standard error of label_logit_change over texts. Null for one text.",
                        Nulls::whole),
                 number("top_label_changed", "share of texts", "label changed",
                        "share of texts whose most likely label changes. Null for regression, "
                        "multi-label classification and a single label.",
                        Nulls::whole),
                 number("label_logit", "logits", "",
                        "logit of the label in the unmodified model, mean over texts"),
                 {.name = "sequences",
                  .type = integer,
                  .meaning = "number of texts over which the means are taken",
                  .where = kSection}},
      .models = model_facts(),
      .parameters = {label_parameter_field()}};
  for (Field& field : text_parameter_fields()) kind.parameters.push_back(std::move(field));
  for (Field& field : example_parameter_fields()) kind.parameters.push_back(std::move(field));
  Field parameter = ablation;
  parameter.meaning = "type of ablation";
  parameter.where = "formats.md#parameters";
  kind.parameters.push_back(std::move(parameter));
  kind.parameters.push_back(layers_parameter());
  return kind;
}

}  // namespace attnscope
