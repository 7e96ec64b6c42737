// Rows of `diff`: the change of a matrix or head between a base and a fine-tuned model.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kDiffSection = "metrics.md#difference-of-two-models";

Field rank_field(std::string_view name, std::string_view head, std::string_view meaning) {
  return {.name = name,
          .type = integer,
          .form = by_threshold,
          .unit = "singular values",
          .heading = head,
          .meaning = meaning,
          .where = kDiffSection,
          .columns = {"0.9", "0.99"}};
}

Field space_field(std::string_view name, std::string_view meaning) {
  return {
      .name = name,
      .type = record,
      .nulls = Nulls::whole,
      .meaning = meaning,
      .where = kDiffSection,
      .fields = {{.name = "overlap",
                  .meaning = "subspace overlap: mean squared cosine of the principal angles. 1 if "
                             "the smaller space lies inside the other.",
                  .where = kDiffSection},
                 {.name = "random_overlap",
                  .meaning = "expected subspace overlap with a random space of the same dimension",
                  .where = kDiffSection},
                 {.name = "angle",
                  .unit = "degrees",
                  .meaning = "smallest principal angle of the two spaces",
                  .where = kDiffSection}}};
}

}  // namespace

RowKind diff_rows() {
  return {
      .name = "diff",
      .command = "diff",
      .meaning = "change of one matrix or head between a base and a fine-tuned model",
      .place = place_of_matrix(),
      .fields =
          {{.name = "shape",
            .type = integer,
            .form = list,
            .meaning = "number of rows and columns of the matrix in canonical orientation",
            .where = "metrics.md#matrices",
            .columns = {"0", "1"}},
           {.name = "relative_change",
            .nulls = Nulls::whole,
            .heading = "change",
            .meaning = "Frobenius norm of the change divided by the Frobenius norm of the base "
                       "matrix. Null if the base matrix is zero.",
            .where = kDiffSection},
           {.name = "change_norm",
            .meaning = "Frobenius norm of the change",
            .where = kDiffSection},
           {.name = "weight_norm",
            .meaning = "Frobenius norm of the base matrix",
            .where = kDiffSection},
           rank_field("energy_rank", "rank at",
                      "energy rank of the change: number of singular values needed for this share "
                      "of its energy"),
           rank_field("random_energy_rank", "random",
                      "expected energy rank of a random Gaussian matrix of the same shape"),
           rank_field("weight_energy_rank", "", "energy rank of the base matrix"),
           possible_rank_field(),
           space_field(
               "output_space",
               "overlap of the output spaces (leading left singular vectors) of the change and the "
               "base matrix, both at the first threshold. Null for heads, and if nothing changed."),
           space_field("input_space",
                       "overlap of the input spaces (leading right singular vectors) of the change "
                       "and the base matrix, both at the first threshold. Null for heads, and if "
                       "nothing changed.")},
      .models = model_facts(),
      .parameters = {energy_parameter(), matrix_parameter(), layers_parameter(),
                     per_head_parameter()}};
}

}  // namespace attnscope
