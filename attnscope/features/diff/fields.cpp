// Rows of `diff`: what a fine-tune changed in a matrix or head.
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
  return {.name = name,
          .type = record,
          .nulls = Nulls::whole,
          .meaning = meaning,
          .where = kDiffSection,
          .fields = {{.name = "overlap",
                      .meaning = "the mean squared cosine of the principal angles: 1 where the "
                                 "smaller space lies in the other",
                      .where = kDiffSection},
                     {.name = "random_overlap",
                      .meaning = "what is expected of a random space of that dimension",
                      .where = kDiffSection},
                     {.name = "angle",
                      .unit = "degrees",
                      .meaning = "the smallest principal angle",
                      .where = kDiffSection}}};
}

}  // namespace

RowKind diff_rows() {
  return {.name = "diff",
          .command = "diff",
          .meaning = "what changed in one matrix or head between a base and a fine-tuned model",
          .place = place_of_matrix(),
          .fields = {{.name = "shape",
                      .type = integer,
                      .form = list,
                      .meaning = "rows and columns of the matrix in canonical orientation",
                      .where = "metrics.md#matrices",
                      .columns = {"0", "1"}},
                     {.name = "relative_change",
                      .nulls = Nulls::whole,
                      .heading = "change",
                      .meaning = "the Frobenius norm of the change over that of the base's "
                                 "matrix; null where that is zero",
                      .where = kDiffSection},
                     {.name = "change_norm",
                      .meaning = "the Frobenius norm of the change",
                      .where = kDiffSection},
                     {.name = "weight_norm",
                      .meaning = "the Frobenius norm of the base's matrix",
                      .where = kDiffSection},
                     rank_field("energy_rank", "rank at",
                                "the fewest singular values that hold that share of the change's "
                                "squared sum"),
                     rank_field("random_energy_rank", "null",
                                "the energy rank that a Gaussian matrix of this shape is expected "
                                "to need"),
                     rank_field("weight_energy_rank", "", "the energy rank of the base's matrix"),
                     possible_rank_field(),
                     space_field("output_space",
                                 "how the outputs that the change reaches lie in those that the "
                                 "base's matrix reaches, both at the first threshold; null for "
                                 "heads, and where nothing changed"),
                     space_field("input_space", "the same of the inputs that they read")},
          .models = model_facts(),
          .parameters = {energy_parameter(), matrix_parameter(), layers_parameter(),
                         per_head_parameter()}};
}

}  // namespace attnscope
