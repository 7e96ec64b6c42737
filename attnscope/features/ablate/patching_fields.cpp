// Rows of `ablate --patch-positions`: activation patching.
#include "attnscope/features/ablate/effect_fields.h"
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

RowKind ablate_patching_rows() {
  using enum FieldType;
  constexpr std::string_view kSection = "metrics.md#activation-patching";
  RowKind kind = {
      .name = "ablate_patching",
      .command = "ablate",
      .option = "patch_positions",
      .meaning =
          "effect of patching one activation at one position between clean and corrupted "
          "prompts",
      .place = place_of_part("head index, from 0: a query head, or a key/value head for k and v. "
                             "Null for rows of a whole layer."),
      .models = model_facts()};
  kind.fields = {
      {.name = "component",
       .type = text,
       .meaning =
           "patched activation: residual stream before the layer (resid_pre), MLP output (mlp), "
           "mixer output (mixer), or the input of the output projection of all heads (attention) "
           "or one head (head). Or the queries, keys or values of one head (q, k, v).",
       .where = kSection,
       .choices = {"resid_pre", "attention", "mixer", "mlp", "head", "q", "k", "v"}},
      {.name = "position",
       .type = integer,
       .nulls = Nulls::whole,
       .meaning = "patched position, from 0; negative: from the end, in prompts of different "
                  "lengths. Null if all positions are patched together, or labeled ones.",
       .where = kSection},
      {.name = "token",
       .type = text,
       .nulls = Nulls::whole,
       .meaning = "label of the patched positions in the prompt file, or the token of the first "
                  "clean prompt there. Null if all positions are patched together, or without a "
                  "tokenizer.",
       .where = kSection}};
  for (Field& field : effect_fields()) kind.fields.push_back(std::move(field));
  add_certainty_fields(kind);
  const auto parameter = [](std::string_view name, std::string_view meaning,
                            std::vector<std::string_view> choices = {}) {
    return Field{.name = name,
                 .type = text,
                 .meaning = meaning,
                 .where = "formats.md#parameters",
                 .choices = std::move(choices)};
  };
  kind.parameters = {
      prompts_parameter_field(),
      parameter("patch_positions",
                "positions that are patched separately: each, or a list; all: together"),
      parameter("metric", "measure of a run on a prompt",
                {"logit-difference", "probability", "kl", "loss"}),
      parameter("patching", "direction of patching", {"both", "denoising", "noising"})};
  for (Field& field : example_parameter_fields()) {
    if (field.name == "score_positions") kind.parameters.push_back(std::move(field));
  }
  kind.parameters.push_back(layers_parameter());
  return kind;
}

}  // namespace attnscope
