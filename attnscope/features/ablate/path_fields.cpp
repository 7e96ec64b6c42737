// Rows of `ablate --sender`: path patching.
#include "attnscope/features/ablate/effect_fields.h"
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

RowKind ablate_path_rows() {
  using enum FieldType;
  constexpr std::string_view kSection = "metrics.md#path-patching";
  RowKind kind = {.name = "ablate_path",
                  .command = "ablate",
                  .option = "sender",
                  .meaning =
                      "effect of the path from some heads to inputs of later heads or to the "
                      "logits, on clean and corrupted prompts",
                  .place = {model_field(), stack_field()},
                  .models = model_facts()};
  const auto words = [&](std::string_view name, std::string_view heading,
                         std::string_view meaning) {
    return Field{
        .name = name, .type = text, .heading = heading, .meaning = meaning, .where = kSection};
  };
  kind.fields = {words("sender", "sender",
                       "heads that send their output on the other prompt: L0H1,L0H3, or layer 0 "
                       "for all heads of a layer"),
                 words("receiver", "receiver",
                       "inputs that receive it: queries (L5H3.q), or keys or values of a key/value "
                       "head (L5H3.k, L5H3.v); layer 5.q for all heads of a layer; logits")};
  for (Field& field : effect_fields()) kind.fields.push_back(std::move(field));
  kind.fields.push_back(
      {.name = "composition",
       .nulls = Nulls::whole,
       .heading = "composition",
       .meaning = "composition score of the senders with the receivers from the weights, mean over "
                  "all pairs of heads. Null for the logits, and if a circuit cannot be analyzed.",
       .where = kSection});
  add_certainty_fields(kind);
  const auto parameter = [](std::string_view name, FieldType type, std::string_view meaning,
                            std::vector<std::string_view> choices = {}) {
    return Field{.name = name,
                 .type = type,
                 .meaning = meaning,
                 .where = "formats.md#parameters",
                 .choices = std::move(choices)};
  };
  kind.parameters = {
      prompts_parameter_field(),
      parameter("sender", text, "heads whose output is patched: heads, each-layer or each-head"),
      layers_parameter(),
      {.name = "receiver",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "receivers, such as L5H3.q, or logits. Null: every later layer, and the logits.",
       .where = "formats.md#parameters"},
      parameter("through_mlps", flag, "true: MLPs between senders and receivers are recomputed"),
      parameter("freeze_norms", flag, "true: the norm before the receivers keeps its scale"),
      parameter("metric", text, "measure of a run on a prompt",
                {"logit-difference", "probability", "kl", "loss"}),
      parameter("patching", text, "direction of patching", {"both", "denoising", "noising"})};
  for (Field& field : example_parameter_fields()) {
    if (field.name == "score_positions") kind.parameters.push_back(std::move(field));
  }
  return kind;
}

}  // namespace attnscope
