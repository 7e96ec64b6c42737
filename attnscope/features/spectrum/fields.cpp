// Rows of `spectrum`: of matrices and heads, and of one tensor by its name.
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
       .meaning = "the fewest singular values that hold that share of the sum of their squares",
       .where = kSpectrumSection,
       .columns = {"0.9", "0.99"}},
      {.name = "random_energy_rank",
       .type = integer,
       .form = by_threshold,
       .unit = "singular values",
       .heading = "null",
       .meaning = "the energy rank that a Gaussian matrix of this shape is expected to need",
       .where = "metrics.md#random-baseline-of-a-spectrum",
       .columns = {"0.9", "0.99"}},
      {.name = "energy_at_rank",
       .form = by_rank,
       .nulls = Nulls::entries,
       .unit = "share of the energy",
       .heading = "energy at",
       .meaning = "the share of the sum of squares that so many largest singular values hold",
       .where = kSpectrumSection,
       .with = "rank"},
      {.name = "random_energy_at_rank",
       .form = by_rank,
       .unit = "share of the energy",
       .heading = "null",
       .meaning = "the same share for a Gaussian matrix of this shape",
       .where = "metrics.md#random-baseline-of-a-spectrum",
       .with = "rank"},
      {.name = "stable_rank",
       .heading = "stable",
       .meaning = "the sum of squared singular values over the largest square",
       .where = kSpectrumSection},
      {.name = "effective_rank",
       .heading = "entropy",
       .meaning = "e to the entropy of the singular values as shares of their sum",
       .where = kSpectrumSection},
      {.name = "participation_ratio",
       .meaning = "the squared sum of the squares over the sum of their squares: how many "
                  "singular values share the energy",
       .where = kSpectrumSection},
      {.name = "numerical_rank",
       .type = integer,
       .unit = "singular values",
       .meaning = "number of singular values above eps * max(rows, columns) times the largest, as "
                  "numpy.linalg.matrix_rank counts them; eps is that of float64 for float64 input, "
                  "else that of float32",
       .where = kSpectrumSection},
      possible_rank_field(),
      {.name = "spectral_norm",
       .heading = "largest",
       .meaning = "the largest singular value",
       .where = kSpectrumSection},
      frobenius_norm_field(),
      {.name = "nuclear_norm",
       .meaning = "the sum of the singular values",
       .where = kSpectrumSection},
      {.name = "condition_number",
       .nulls = Nulls::whole,
       .meaning = "largest singular value over the smallest; null if the smallest is below 1e-6 of "
                  "the largest (float64 input: if numerical_rank does not count it)",
       .where = kSpectrumSection},
      {.name = "singular_values",
       .form = list,
       .meaning = "All singular values, descending. Each is accurate to 1e-6 of the largest; for "
                  "float64 input to a small multiple of 2^-52 of the largest.",
       .where = kSpectrumSection,
       .with = "values"},
      {.name = "cumulative_energy",
       .form = list,
       .unit = "share of the energy",
       .meaning = "the share of the sum of squares in the first, the first two, … singular values",
       .where = kSpectrumSection,
       .with = "values"},
      {.name = "random_singular_values",
       .form = list,
       .meaning = "singular values that a random matrix of the same shape and norm would have",
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
  return {spread("least_energy_rank", "the smallest energy rank of the experts that a row sums up"),
          spread("lower_quartile_energy_rank", "the energy rank that a quarter of them lies below"),
          spread("upper_quartile_energy_rank", "the energy rank that a quarter of them lies above"),
          spread("most_energy_rank", "the largest energy rank of the experts that a row sums up")};
}

std::vector<Field> common_parameters() {
  return {energy_parameter(),
          {.name = "values",
           .type = flag,
           .meaning = "whether all singular values were asked for",
           .where = "formats.md#parameters"},
          {.name = "rank",
           .type = text,
           .form = list,
           .meaning = "the ranks at which the kept energy is given: numbers, or shares of the "
                      "width such as 0.1D",
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
                  .meaning = "the same of one tensor, by its name in the file",
                  .place = place_of_matrix(),
                  .fields = spectrum_measures(),
                  .parameters = common_parameters()};
  for (Field& field : kind.place) {
    if (field.name == "layer") field.nulls = Nulls::whole;
    if (field.name == "matrix") {
      field.meaning = "the tensor's name; its layer and head are null";
      field.where = "formats.md#rows";
      field.choices.clear();
    }
  }
  for (const Field& fact : model_facts()) {
    if (fact.name == "name" || fact.name == "bytes") kind.models.push_back(fact);
  }
  kind.parameters.push_back({.name = "tensor",
                             .type = text,
                             .meaning = "the name of the tensor",
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
          .meaning = "the ranks of one matrix on a text",
          .place = place_of_whole_matrix(),
          .fields = {{.name = "shape",
                      .type = integer,
                      .form = list,
                      .meaning = "rows and columns of the matrix in canonical orientation",
                      .where = "metrics.md#matrices",
                      .columns = {"0", "1"}},
                     rank_on_text("energy_rank", "rank at",
                                  "the fewest singular values of the matrix that hold that share "
                                  "of the sum of their squares"),
                     rank_on_text("random_energy_rank", "null",
                                  "the energy rank that a Gaussian matrix of this shape is "
                                  "expected to need"),
                     rank_on_text("activation_energy_rank", "on the text",
                                  "the fewest directions that hold that share of the mean square "
                                  "of what the matrix gives on the text"),
                     rank_on_text("input_energy_rank", "of its input", "the same of what it reads"),
                     {.name = "input_top_share",
                      .nulls = Nulls::whole,
                      .unit = "share of the energy",
                      .meaning = "the share of the mean square of what it reads that lies in one "
                                 "direction; null where all is zero",
                      .where = kActivations},
                     possible_rank_field()},
          .models = model_facts(),
          .parameters = {energy_parameter(),
                         matrix_parameter(),
                         layers_parameter(),
                         {.name = "activations",
                          .type = text,
                          .meaning = "the file of the text",
                          .where = "formats.md#parameters"},
                         {.name = "sequences",
                          .type = integer,
                          .meaning = "windows of it",
                          .where = "formats.md#parameters"},
                         {.name = "length",
                          .type = integer,
                          .meaning = "tokens of each",
                          .where = "formats.md#parameters"}}};
}

}  // namespace attnscope
