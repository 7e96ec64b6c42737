// Rows of `plan` (compression methods at several sizes, or the layers and matrices of one plan) and
// of `shrink` (the tensors that it wrote).
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
          .meaning = "compression method",
          .where = kPlan,
          .choices = kForms};
}

/// For a whole plan, which may combine several methods.
Field plan_forms_field() {
  return {.name = "method",
          .type = text,
          .meaning = "compression method, or several in the order applied",
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
      field("source", text, Nulls::none, "file of the calibration text"),
      field("sequences", integer, Nulls::none, "number of calibration windows"),
      field("length", integer, Nulls::none, "tokens per calibration window"),
      field("seed", integer, Nulls::whole,
            "seed of the random windows; null: consecutive windows from the start"),
      field("eval_file", text, Nulls::whole,
            "file of the evaluation text; null: the last tenth of the source text, which is not "
            "used for calibration"),
      field("eval_windows", integer, Nulls::none, "number of evaluation windows"),
      field("method", text, Nulls::whole,
            "requested compression methods; null: all that the architecture allows"),
      field("rank_allocation", text, Nulls::none, "low-rank: how ranks are allocated to matrices"),
      field("ridge", number, Nulls::none,
            "low-rank: ridge added to the diagonal of the second-moment matrix, relative to the "
            "mean of this diagonal"),
      field("probe_tokens", integer, Nulls::none,
            "low-rank: number of tokens on which the sensitivity of each matrix is measured"),
      field("eval_sequences", integer, Nulls::none,
            "number of evaluation windows used to search and compare methods")};
  const auto before_by = std::find_if(fields.begin(), fields.end(),
                                      [](const Field& each) { return each.name == "method"; });
  const std::vector<Field> examples = example_parameter_fields();
  fields.insert(before_by, examples.begin(), examples.end());
  fields.push_back(matrix_parameter());
  fields.push_back(layers_parameter());
  fields.push_back(hash_field("tokens_hash", "hash of the calibration windows"));
  fields.push_back(hash_field("eval_hash", "hash of the evaluation windows"));
  fields.push_back(
      {.name = "target",
       .type = text,
       .meaning = "target of the plan, such as \"keep 0.8\"; absent if methods are compared",
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
      .meaning = "the plan: method, remaining sizes and measured perplexity",
      .where = kPlan,
      .fields = {
          plan_forms_field(),
          {.name = "description",
           .type = text,
           .meaning =
               "what the plan keeps, such as \"6 → 5 (without 2)\": 5 of 6 layers, without layer 2",
           .where = kPlan},
          count_field("size",
                      "remaining size in the unit of the method, such as layers or neurons; null "
                      "for several methods",
                      Nulls::whole),
          {.name = "sizes",
           .type = integer,
           .form = list,
           .meaning = "remaining size for each method, in the unit of that method",
           .where = kPlan},
          count_field(
              "joint",
              "mla: number of non-rotary dimensions of the cached latent; 0 for other methods"),
          {.name = "exact",
           .type = flag,
           .meaning = "mla: true if all kept key dimensions are rotary",
           .where = kPlan},
          count_field("parameters_before", "parameters of the original model"),
          count_field("parameters_after",
                      "number of parameters of the compressed model; low-rank: those of the "
                      "factors are counted"),
          count_field("kv_cache_bytes_per_token_before",
                      "KV-cache bytes per token of the original model, at 16 bits"),
          count_field("kv_cache_bytes_per_token_after",
                      "KV-cache bytes per token of the compressed model, at 16 bits"),
          flops_field(
              "flops_per_token_before",
              "FLOPs per generated token of the original model, at half the context length"),
          flops_field(
              "flops_per_token_after",
              "FLOPs per generated token of the compressed model, at half the context length"),
          count_field("parts", "number of rows of the plan"),
          nats_field("mean_nll_before",
                     "mean negative log-likelihood of the original model on the evaluation text"),
          nats_field("mean_nll_after",
                     "mean negative log-likelihood of the compressed model on the evaluation text"),
          perplexity_number("perplexity_before",
                            "perplexity of the original model on the evaluation text"),
          perplexity_number("perplexity_after",
                            "perplexity of the compressed model on the evaluation text"),
          nats_field("predicted_kl",
                     "low-rank: KL divergence predicted from the measured sensitivities; null if "
                     "no sensitivities were measured",
                     Nulls::whole),
          {.name = "loadable",
           .type = flag,
           .meaning = "whether transformers loads the compressed model at its smaller size",
           .where = kPlan},
          {.name = "note",
           .type = text,
           .meaning = "how transformers loads the model, or why it cannot; may be empty",
           .where = kPlan},
          hash_field("model_hash", "hash of the model's config and weights")}};
}

}  // namespace

RowKind plan_comparison_rows() {
  return {
      .name = "plan",
      .command = "plan",
      .meaning = "measured results of one compression method at one size",
      .place = {model_field(), plan_form_field()},
      .fields =
          {{.name = "description",
            .type = text,
            .heading = "description",
            .meaning = "what the method keeps, such as \"6 → 5 (without 2)\"",
            .where = kPlan},
           count_field("size",
                       "remaining size in the unit of the method, such as layers or neurons"),
           {.name = "parameters",
            .type = integer,
            .heading = "parameters",
            .meaning = "number of parameters of the compressed model; low-rank: those of the "
                       "factors are counted",
            .where = kPlan},
           {.name = "kv_cache_bytes_per_token",
            .type = integer,
            .unit = "bytes",
            .heading = "KV bytes",
            .meaning = "KV-cache bytes per token of the compressed model, at 16 bits",
            .where = kPlan},
           flops_field("flops_per_token",
                       "FLOPs per generated token at half the context length; with MLA, keys and "
                       "values of earlier tokens are recomputed from their latents"),
           {.name = "relative_flops",
            .heading = "FLOPs",
            .meaning =
                "FLOPs per token of the compressed model, divided by those of the original model",
            .where = kPlan},
           nats_field(
               "mean_nll",
               "mean negative log-likelihood of the compressed model on the evaluation text"),
           {.name = "perplexity",
            .heading = "perplexity",
            .meaning = "perplexity of the compressed model on the evaluation text",
            .where = kPlan},
           nats_field("loss_increase",
                      "increase in mean negative log-likelihood compared with the original model"),
           {.name = "loadable",
            .type = flag,
            .heading = "loads in transformers",
            .meaning = "whether transformers loads the compressed model at its smaller size",
            .where = kPlan},
           {.name = "target",
            .type = text,
            .meaning =
                "option and value that select this plan for its method, such as \"keep 0.75\"",
            .where = kPlan},
           {.name = "note",
            .type = text,
            .meaning = "how transformers loads the model, or why it cannot; may be empty",
            .where = kPlan}},
      .models = with_model_facts(
          {nats_field("mean_nll",
                      "mean negative log-likelihood of the original model on the evaluation text"),
           perplexity_number("perplexity",
                             "perplexity of the original model on the evaluation text")}),
      .parameters = plan_parameters()};
}

RowKind plan_part_rows() {
  return {
      .name = "plan_part",
      .command = "plan",
      .option = "target",
      .meaning = "one layer or matrix of a plan, or the whole model",
      .place = {model_field(),
                plan_form_field(),
                {.name = "layer",
                 .type = integer,
                 .nulls = Nulls::whole,
                 .meaning = "layer, from 0; null: whole model",
                 .where = kPlan},
                {.name = "matrix",
                 .type = text,
                 .nulls = Nulls::whole,
                 .meaning = "low-rank: matrix; null for other methods",
                 .where = kPlan}},
      .fields =
          {count_field("parameters", "parameters of the layer, matrix or model before compression"),
           count_field("parameters_after",
                       "number of parameters that remain after compression; low-rank: those of the "
                       "factors are counted"),
           {.name = "kept",
            .type = integer,
            .form = list,
            .nulls = Nulls::whole,
            .meaning = "indices of the kept neurons, heads, experts or rotary pairs; null for "
                       "methods without such a list",
            .where = kPlan},
           count_field("rank", "low-rank: planned rank; null if the matrix is not factored",
                       Nulls::whole),
           count_field("break_even_rank",
                       "low-rank: largest rank at which the factors are smaller than the matrix",
                       Nulls::whole),
           count_field("max_possible_rank", "low-rank: maximum possible rank, min(rows, columns)",
                       Nulls::whole),
           nats_field("sensitivity",
                      "low-rank: KL divergence from the original model if only this matrix is "
                      "reduced to half its break-even rank",
                      Nulls::whole),
           nats_field("predicted_kl",
                      "low-rank: KL divergence predicted from the sensitivity at the planned rank",
                      Nulls::whole),
           influence_field("block_influence",
                           "depth: 1 − mean cosine similarity of the layer's input and output"),
           influence_field("attention_influence",
                           "depth: 1 − mean cosine similarity of the residual stream before and "
                           "after attention; null if attention and MLP run in parallel"),
           influence_field("mlp_influence",
                           "depth: 1 − mean cosine similarity of the residual stream before and "
                           "after the MLP; null if attention and MLP run in parallel"),
           nats_field("loss_increase", "depth: loss increase if only this layer is removed",
                      Nulls::whole),
           nats_field("attention_loss_increase",
                      "depth: loss increase if only this layer's attention output is zero; null "
                      "without attention",
                      Nulls::whole),
           nats_field(
               "mlp_loss_increase",
               "depth: loss increase if only this layer's MLP output is zero; null without an MLP",
               Nulls::whole),
           count_field("order",
                       "depth: removal order, from 1; 0 if the plan has no order; null if the "
                       "layer is kept",
                       Nulls::whole)},
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
      .meaning = "one tensor of the original or compressed model",
      .place =
          {model_field(),
           {.name = "tensor", .type = text, .meaning = "tensor name in the files", .where = kPlan}},
      .fields = {shape("shape_before", "shape in the original model; null for a new tensor"),
                 shape("shape_after", "shape in the compressed model; null for a removed tensor"),
                 {.name = "change",
                  .type = text,
                  .meaning = "how the tensor changed",
                  .where = kPlan,
                  .choices = {"kept", "cut", "replaced", "new", "removed"}}},
      .models = with_model_facts(
          {{.name = "compressed",
            .type = record,
            .meaning = "size and perplexity of the written model, measured after reopening it",
            .where = kPlan,
            .fields = {plan_forms_field(),
                       {.name = "description",
                        .type = text,
                        .meaning = "what the plan keeps, such as \"6 → 5 (without 2)\": 5 of 6 "
                                   "layers, without layer 2",
                        .where = kPlan},
                       count_field("parameters", "parameters of the written model"),
                       count_field("kv_cache_bytes_per_token",
                                   "KV-cache bytes per token of the written model, at 16 bits"),
                       flops_field("flops_per_token",
                                   "FLOPs per generated token of the written model, at half the "
                                   "context length"),
                       count_field("bytes", "total size of the weights files, in bytes"),
                       perplexity_number("planned_perplexity", "perplexity that the plan reports"),
                       perplexity_number("perplexity", "perplexity measured on the written model"),
                       nats_field("mean_nll",
                                  "mean negative log-likelihood of the written model on the "
                                  "evaluation text")}}}),
      .parameters = {parameter("plan", "file of the plan"), parameter("folder", "output folder")}};
}

}  // namespace attnscope
