// Rows of `spectrum`: matrices and heads, or one tensor by name.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kSpectrumSection = "metrics.md#spectrum";

std::vector<Field> spectrum_measures() {
  return {
      {.name = "shape",
       .type = integer,
       .form = list,
       .meaning = "rows and columns of the matrix in canonical orientation",
       .where = "metrics.md#matrices",
       .columns = {"0", "1"}},
      {.name = "energy_rank",
       .type = integer,
       .form = by_threshold,
       .unit = "singular values",
       .heading = "rank at",
       .meaning = "number of singular values needed for the given share of the energy (sum of "
                  "squared singular values)",
       .where = kSpectrumSection,
       .columns = {"0.9", "0.99"}},
      {.name = "random_energy_rank",
       .type = integer,
       .form = by_threshold,
       .unit = "singular values",
       .heading = "random",
       .meaning = "expected energy rank of a Gaussian matrix of the same shape",
       .where = "metrics.md#random-baseline-of-a-spectrum",
       .columns = {"0.9", "0.99"}},
      {.name = "energy_at_rank",
       .form = by_rank,
       .nulls = Nulls::entries,
       .unit = "share of the energy",
       .heading = "energy at",
       .meaning = "share of the energy (sum of squares) in the given number of largest singular "
                  "values; null for a zero matrix",
       .where = kSpectrumSection,
       .with = "rank"},
      {.name = "random_energy_at_rank",
       .form = by_rank,
       .unit = "share of the energy",
       .heading = "random",
       .meaning =
           "expected share of the energy at the given rank for a Gaussian matrix of the same shape",
       .where = "metrics.md#random-baseline-of-a-spectrum",
       .with = "rank"},
      {.name = "stable_rank",
       .heading = "stable rank",
       .meaning = "sum of squared singular values divided by the largest square",
       .where = kSpectrumSection},
      {.name = "effective_rank",
       .heading = "effective rank",
       .meaning = "exponential of the entropy of the singular values, normalized to sum 1 (Roy & "
                  "Vetterli 2007)",
       .where = kSpectrumSection},
      {.name = "participation_ratio",
       .meaning = "squared sum of the squared singular values, divided by the sum of their fourth "
                  "powers: how many singular values share the energy",
       .where = kSpectrumSection},
      {.name = "numerical_rank",
       .type = integer,
       .unit = "singular values",
       .meaning = "Number of singular values above eps × max(rows, columns) × the largest singular "
                  "value, as in numpy.linalg.matrix_rank. eps: machine epsilon of float64 for "
                  "float64 input, else of float32.",
       .where = kSpectrumSection},
      possible_rank_field(),
      {.name = "spectral_norm",
       .heading = "spectral norm",
       .meaning = "largest singular value",
       .where = kSpectrumSection},
      frobenius_norm_field(),
      {.name = "nuclear_norm", .meaning = "sum of the singular values", .where = kSpectrumSection},
      {.name = "condition_number",
       .nulls = Nulls::whole,
       .meaning = "Largest singular value divided by the smallest. Null if the smallest is below "
                  "1e-6 times the largest. For float64 input: null if numerical_rank does not "
                  "count the smallest.",
       .where = kSpectrumSection},
      {.name = "singular_values",
       .form = list,
       .meaning = "All singular values in descending order. Errors are below 1e-6 of the largest "
                  "value; for float64 input, below a small multiple of 2^-52 of the largest value.",
       .where = kSpectrumSection,
       .with = "values"},
      {.name = "cumulative_energy",
       .form = list,
       .unit = "share of the energy",
       .meaning = "share of the energy (sum of squares) in the first 1, 2, 3, … singular values",
       .where = kSpectrumSection,
       .with = "values"},
      {.name = "random_singular_values",
       .form = list,
       .meaning =
           "expected singular values of a Gaussian matrix with the same shape and Frobenius norm",
       .where = kSpectrumSection,
       .with = "values"},
  };
}

std::vector<Field> spread_of_experts() {
  const auto spread = [](std::string_view name, std::string_view meaning) {
    return Field{.name = name,
                 .type = integer,
                 .form = by_threshold,
                 .unit = "singular values",
                 .meaning = meaning,
                 .where = "metrics.md#experts",
                 .optional = true,
                 .columns = {"0.9", "0.99"}};
  };
  return {spread("least_energy_rank", "lowest energy rank of the experts that the row summarizes"),
          spread("lower_quartile_energy_rank",
                 "lower quartile of the energy ranks of the experts that the row summarizes"),
          spread("upper_quartile_energy_rank",
                 "upper quartile of the energy ranks of the experts that the row summarizes"),
          spread("most_energy_rank", "highest energy rank of the experts that the row summarizes")};
}

std::vector<Field> common_parameters() {
  return {energy_parameter(),
          {.name = "values",
           .type = flag,
           .meaning = "true: rows list all singular values",
           .where = "formats.md#parameters"},
          {.name = "rank",
           .type = text,
           .form = list,
           .meaning = "ranks at which the kept energy is reported: integers, or shares of the "
                      "hidden size such as 0.1D",
           .where = "formats.md#parameters",
           .with = "rank"}};
}

}  // namespace

RowKind spectrum_rows() {
  RowKind kind = {.name = "spectrum",
                  .command = "spectrum",
                  .meaning = "ranks and norms of one matrix or head",
                  .revision = 4,
                  .place = place_of_matrix(),
                  .fields = expert_fields(),
                  .models = model_facts(),
                  .lists_any_file = true,
                  .parameters = common_parameters(),
                  .has_view = true};
  for (const std::vector<Field>& more : {spectrum_measures(), spread_of_experts()}) {
    kind.fields.insert(kind.fields.end(), more.begin(), more.end());
  }
  kind.fields.push_back(latent_rms_field());
  for (Field field :
       {matrix_parameter(), layers_parameter(), per_head_parameter(), experts_parameter_field()}) {
    kind.parameters.push_back(std::move(field));
  }
  for (Field& field : mla_text_parameter_fields()) kind.parameters.push_back(std::move(field));
  return kind;
}

RowKind tensor_rows() {
  RowKind kind = {.name = "tensor",
                  .command = "spectrum",
                  .option = "tensor",
                  .meaning = "ranks and norms of one tensor, selected by name",
                  .place = place_of_matrix(),
                  .fields = spectrum_measures(),
                  .parameters = common_parameters()};
  for (Field& field : kind.place) {
    if (field.name == "layer") field.nulls = Nulls::whole;
    if (field.name == "matrix") {
      field.meaning = "name of the tensor; layer and head are null";
      field.where = "formats.md#rows";
      field.choices.clear();
    }
  }
  for (const Field& fact : model_facts()) {
    if (fact.name == "name" || fact.name == "bytes") kind.models.push_back(fact);
  }
  kind.parameters.push_back({.name = "tensor",
                             .type = text,
                             .meaning = "name of the analyzed tensor",
                             .where = "formats.md#parameters"});
  return kind;
}

// Rows of `spectrum --activations`: ranks of matrices on a text.
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kActivations = "metrics.md#ranks-on-a-text";

Field rank_on_text(std::string_view name, std::string_view head, std::string_view meaning) {
  return {.name = name,
          .type = integer,
          .form = by_threshold,
          .unit = "directions",
          .heading = head,
          .meaning = meaning,
          .where = kActivations,
          .columns = {"0.9", "0.99"}};
}

}  // namespace

RowKind activation_rows() {
  return {.name = "activations",
          .command = "spectrum",
          .option = "activations",
          .meaning = "ranks of one matrix, its inputs and its outputs on a text",
          .place = place_of_whole_matrix(),
          .fields = {{.name = "shape",
                      .type = integer,
                      .form = list,
                      .meaning = "rows and columns of the matrix in canonical orientation",
                      .where = "metrics.md#matrices",
                      .columns = {"0", "1"}},
                     rank_on_text("energy_rank", "rank at",
                                  "number of singular values of the matrix needed for the given "
                                  "share of its energy (sum of squares)"),
                     rank_on_text("random_energy_rank", "random",
                                  "expected energy rank of a Gaussian matrix of the same shape"),
                     rank_on_text("activation_energy_rank", "outputs",
                                  "number of directions (uncentered PCA) needed for the given "
                                  "share of the mean squared output of the matrix on the text"),
                     rank_on_text("input_energy_rank", "inputs",
                                  "number of directions (uncentered PCA) needed for the given "
                                  "share of the mean squared input of the matrix on the text"),
                     {.name = "input_top_share",
                      .nulls = Nulls::whole,
                      .unit = "share of the energy",
                      .meaning = "share of the mean squared input of the matrix along its leading "
                                 "direction (uncentered PCA); null if all inputs are zero",
                      .where = kActivations},
                     possible_rank_field()},
          .models = model_facts(),
          .parameters = {energy_parameter(),
                         matrix_parameter(),
                         layers_parameter(),
                         {.name = "activations",
                          .type = text,
                          .meaning = "name of the text file",
                          .where = "formats.md#parameters"},
                         {.name = "sequences",
                          .type = integer,
                          .meaning = "number of windows of the text",
                          .where = "formats.md#parameters"},
                         {.name = "length",
                          .type = integer,
                          .meaning = "tokens per window",
                          .where = "formats.md#parameters"}}};
}

}  // namespace attnscope
