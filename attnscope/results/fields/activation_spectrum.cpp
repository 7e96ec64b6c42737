// Rows of `spectrum --activations`: ranks of matrices on a text.
#include "attnscope/results/fields/kinds.h"

namespace attnscope {
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
                     rank_on_text("null_energy_rank", "null",
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
