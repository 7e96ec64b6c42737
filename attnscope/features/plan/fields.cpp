// Rows of `plan`: methods of compression at several sizes, or the parts of one plan; and of
// `shrink`: the tensors that it wrote.
#include "attnscope/features/common/fields.h"
#include <algorithm>
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kPlan = "plan.md#rows";
constexpr std::string_view kPlanParameters = "plan.md#parameters";

const std::vector<std::string_view> kForms = {"depth", "mlp", "hidden-size", "head-dim", "kv-heads",
                                              "heads", "mla", "experts",     "low-rank"};

Field plan_form_field() {
  return {.name = "method",
          .type = text,
          .heading = "method",
          .meaning = "the form that the smaller model takes",
          .where = kPlan,
          .choices = kForms};
}

/// Of a whole plan, which may combine several.
Field plan_forms_field() {
  return {.name = "method",
          .type = text,
          .meaning = "the form that the smaller model takes, or several, in their order",
          .where = kPlan};
}

Field count_field(std::string_view name, std::string_view meaning, Nulls nulls = Nulls::none) {
  return {.name = name, .type = integer, .nulls = nulls, .meaning = meaning, .where = kPlan};
}

Field nats_field(std::string_view name, std::string_view meaning, Nulls nulls = Nulls::none) {
  return {.name = name, .nulls = nulls, .unit = "nats", .meaning = meaning, .where = kPlan};
}

Field influence_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .nulls = Nulls::whole, .meaning = meaning, .where = kPlan};
}

Field perplexity_number(std::string_view name, std::string_view meaning) {
  return {.name = name, .meaning = meaning, .where = kPlan};
}

Field flops_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .unit = "FLOPs", .meaning = meaning, .where = kPlan};
}

Field hash_field(std::string_view name, std::string_view meaning) {
  return {.name = name, .type = text, .meaning = meaning, .where = kPlanParameters};
}

std::vector<Field> plan_parameters() {
  const auto field = [](std::string_view name, FieldType type, Nulls nulls,
                        std::string_view meaning) {
    return Field{
        .name = name, .type = type, .nulls = nulls, .meaning = meaning, .where = kPlanParameters};
  };
  std::vector<Field> fields = {
      field("source", text, Nulls::none, "the file of the text that is fitted to"),
      field("sequences", integer, Nulls::none, "windows of it"),
      field("length", integer, Nulls::none, "tokens of each window"),
      field("seed", integer, Nulls::whole, "the seed of random windows; null: from the start on"),
      field("eval_file", text, Nulls::whole,
            "the file that perplexity is measured on; null: the last tenth of the text"),
      field("eval_windows", integer, Nulls::none, "windows of it"),
      field("method", text, Nulls::whole, "the form, or several; null: all that there are"),
      field("rank_allocation", text, Nulls::none, "how ranks are allocated"),
      field("ridge", number, Nulls::none,
            "of ranks: the share of the mean second moment that is added to each"),
      field("probe_tokens", integer, Nulls::none,
            "of ranks: tokens on which each matrix is probed"),
      field("eval_sequences", integer, Nulls::none,
            "windows on which orders and the menu are measured")};
  const auto before_by = std::find_if(fields.begin(), fields.end(),
                                      [](const Field& each) { return each.name == "method"; });
  const std::vector<Field> examples = example_parameter_fields();
  fields.insert(before_by, examples.begin(), examples.end());
  fields.push_back(matrix_parameter());
  fields.push_back(layers_parameter());
  fields.push_back(hash_field("tokens_hash", "a hash of the windows that are fitted to"));
  fields.push_back(hash_field("eval_hash", "a hash of the windows that are measured on"));
  fields.push_back({.name = "target",
                    .type = text,
                    .meaning = "what the plan must come to; without it, rows are a menu",
                    .where = kPlanParameters,
                    .with = "target"});
  return fields;
}

std::vector<Field> with_model_facts(std::vector<Field> more) {
  std::vector<Field> fields = model_facts();
  for (Field& field : more) fields.push_back(std::move(field));
  return fields;
}

Field planned_field() {
  return {
      .name = "plan",
      .type = record,
      .meaning = "what the plan makes of the model",
      .where = kPlan,
      .fields = {
          plan_forms_field(),
          {.name = "description", .type = text, .meaning = "in words", .where = kPlan},
          count_field("size", "what is left, in the form's own unit; null of several",
                      Nulls::whole),
          {.name = "sizes",
           .type = integer,
           .form = list,
           .meaning = "the same of each form",
           .where = kPlan},
          count_field("joint", "of latent: elements beside the rotary ones"),
          {.name = "exact",
           .type = flag,
           .meaning = "of latent: all that is kept of keys turns",
           .where = kPlan},
          count_field("parameters_before", "parameters of the model"),
          count_field("parameters_after", "what is left of them; of ranks as factors"),
          count_field("kv_cache_bytes_per_token_before", "bytes of its cache, 16 bit"),
          count_field("kv_cache_bytes_per_token_after", "what is left of them"),
          flops_field("flops_per_token_before", "to generate a token half way through the context"),
          flops_field("flops_per_token_after", "what is left of it"),
          count_field("parts", "rows of the plan"),
          nats_field("mean_nll_before", "mean negative log likelihood, held out"),
          nats_field("mean_nll_after", "the same of the smaller model"),
          perplexity_number("perplexity_before", "e to mean_nll_before"),
          perplexity_number("perplexity_after", "e to mean_nll_after"),
          nats_field("predicted_kl", "of ranks: what probes foretell; else null", Nulls::whole),
          {.name = "loadable",
           .type = flag,
           .meaning = "whether stock transformers loads it, smaller than before",
           .where = kPlan},
          {.name = "note",
           .type = text,
           .meaning = "as what it is loaded; may be empty",
           .where = kPlan},
          hash_field("model_hash", "a hash of the model's config and weights")}};
}

}  // namespace

RowKind plan_comparison_rows() {
  return {.name = "plan",
          .command = "plan",
          .meaning = "a form of a smaller model at one size, measured",
          .place = {model_field(), plan_form_field()},
          .fields = {{.name = "description",
                      .type = text,
                      .heading = "what",
                      .meaning = "what is left, in words",
                      .where = kPlan},
                     count_field("size", "what is left, in the form's own unit"),
                     {.name = "parameters",
                      .type = integer,
                      .heading = "parameters",
                      .meaning = "of the smaller model; of ranks as factors",
                      .where = kPlan},
                     {.name = "kv_cache_bytes_per_token",
                      .type = integer,
                      .unit = "bytes",
                      .heading = "KV bytes",
                      .meaning = "that its cache takes of each token, at 16 bits",
                      .where = kPlan},
                     flops_field("flops_per_token",
                                 "to generate a token half way through the context; latents of the "
                                 "tokens before it are expanded anew"),
                     {.name = "relative_flops",
                      .heading = "relative_flops",
                      .meaning = "flops_per_token over that of the model as it is",
                      .where = kPlan},
                     nats_field("mean_nll", "mean negative log likelihood on the held-out text"),
                     {.name = "perplexity",
                      .heading = "perplexity",
                      .meaning = "e to mean_nll",
                      .where = kPlan},
                     nats_field("loss_increase", "the rise of mean_nll"),
                     {.name = "loadable",
                      .type = flag,
                      .heading = "loads in transformers",
                      .meaning = "whether stock transformers loads it, smaller than before",
                      .where = kPlan},
                     {.name = "target",
                      .type = text,
                      .meaning = "what asks for this plan, with its form: the option and its value",
                      .where = kPlan},
                     {.name = "note",
                      .type = text,
                      .meaning = "as what it is loaded; may be empty",
                      .where = kPlan}},
          .models = with_model_facts(
              {nats_field("mean_nll", "mean negative log likelihood of the model as it is"),
               perplexity_number("perplexity", "e to mean_nll")}),
          .parameters = plan_parameters()};
}

RowKind plan_part_rows() {
  return {
      .name = "plan_part",
      .command = "plan",
      .option = "target",
      .meaning = "a layer or matrix of a plan, or the whole",
      .place = {model_field(),
                plan_form_field(),
                {.name = "layer",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "the layer, from 0; null: all",
                 .where = kPlan},
                {.name = "matrix",
                 .type = text,
                 .nulls = Nulls::whole,
                 .meaning = "of ranks: the matrix; else null",
                 .where = kPlan}},
      .fields =
          {count_field("parameters", "of the layer, matrix or model"),
           count_field("parameters_after", "what is left of them; of ranks as factors"),
           {.name = "kept",
            .type = integer,
            .form = list,
            .nulls = Nulls::whole,
            .meaning = "numbers of the neurons, heads or rotary pairs that stay",
            .where = kPlan},
           count_field("rank", "of ranks: the planned rank; null: it stays whole", Nulls::whole),
           count_field("break_even_rank", "of ranks: the largest at which factors are smaller",
                       Nulls::whole),
           count_field("max_possible_rank", "of ranks: the largest that there can be",
                       Nulls::whole),
           nats_field("sensitivity",
                      "of ranks: the divergence of the model with the matrix at half its "
                      "break-even rank",
                      Nulls::whole),
           nats_field("predicted_kl", "of ranks: what that foretells at the planned rank",
                      Nulls::whole),
           influence_field("block_influence",
                           "of layers: 1 less the mean cosine of what enters and leaves it"),
           influence_field(
               "attention_influence",
               "of layers: the same of its attention; null where no stream lies between "
               "that and an MLP"),
           influence_field("mlp_influence",
                           "of layers: the same of its MLP; null where no stream lies between the "
                           "two"),
           nats_field("loss_increase", "of layers: the rise of mean_nll where it alone is gone",
                      Nulls::whole),
           nats_field("attention_loss_increase",
                      "of layers: the rise of mean_nll where its attention adds nothing; null "
                      "without one",
                      Nulls::whole),
           nats_field("mlp_loss_increase",
                      "of layers: the rise of mean_nll where its MLP adds nothing; null without "
                      "one",
                      Nulls::whole),
           count_field("order", "of layers: 1 of the first to go; null: it stays", Nulls::whole)},
      .models = with_model_facts({planned_field()}),
      .parameters = plan_parameters()};
}

RowKind shrink_rows() {
  const auto shape = [](std::string_view name, std::string_view meaning) {
    return Field{.name = name,
                 .type = integer,
                 .form = list,
                 .nulls = Nulls::whole,
                 .meaning = meaning,
                 .where = kPlan};
  };
  const auto parameter = [](std::string_view name, std::string_view meaning) {
    return Field{.name = name, .type = text, .meaning = meaning, .where = kPlanParameters};
  };
  return {
      .name = "shrink",
      .command = "shrink",
      .meaning = "a tensor of the smaller model, or of the one before",
      .place =
          {model_field(),
           {.name = "tensor", .type = text, .meaning = "its name in the files", .where = kPlan}},
      .fields = {shape("shape_before", "its shape; null: it is new"),
                 shape("shape_after", "its shape now; null: it is gone"),
                 {.name = "change",
                  .type = text,
                  .meaning = "what became of it",
                  .where = kPlan,
                  .choices = {"kept", "cut", "replaced", "new", "removed"}}},
      .models = with_model_facts(
          {{.name = "compressed",
            .type = record,
            .meaning = "the model that was written, opened again",
            .where = kPlan,
            .fields = {plan_forms_field(),
                       {.name = "description", .type = text, .meaning = "in words", .where = kPlan},
                       count_field("parameters", "of what was written"),
                       count_field("kv_cache_bytes_per_token", "of its cache, 16 bit"),
                       flops_field("flops_per_token",
                                   "to generate a token half way through the context"),
                       count_field("bytes", "of its weights' files"),
                       perplexity_number("planned_perplexity", "what the plan says"),
                       perplexity_number("perplexity", "what was measured of the files"),
                       nats_field("mean_nll", "its logarithm")}}}),
      .parameters = {parameter("plan", "the file of the plan"),
                     parameter("folder", "the folder that was written")}};
}

}  // namespace attnscope
