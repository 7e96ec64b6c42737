// Rows of `similarity`: cosines between weight vectors, overlap of heads, one head's cosines; and
// rows of `matrix`, which are of the same form as the last.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

using enum FieldType;
using enum FieldForm;

constexpr std::string_view kCosines = "metrics.md#cosine-similarity-of-weight-vectors";
constexpr std::string_view kOverlap = "metrics.md#overlap-of-heads";

}  // namespace

RowKind similarity_rows() {
  RowKind kind = {
      .name = "similarity",
      .command = "similarity",
      .meaning = "cosines between the weight vectors of one projection",
      .revision = 2,
      .place = place_of_whole_matrix(),
      .fields = {{.name = "scope",
                  .type = text,
                  .meaning = "which pairs: of rows of one head, of two heads, or of all rows",
                  .where = kCosines,
                  .choices = {"within_head", "across_head", "all"}},
                 {.name = "pairs",
                  .type = integer,
                  .meaning = "how many pairs of vectors there are",
                  .where = kCosines},
                 {.name = "zero_vectors",
                  .type = integer,
                  .meaning = "how many vectors have no direction, and are left out of the pairs",
                  .where = kCosines},
                 {.name = "mean",
                  .nulls = Nulls::whole,
                  .meaning = "the mean of the pairs' cosines; null where there are none",
                  .where = kCosines},
                 {.name = "std",
                  .nulls = Nulls::whole,
                  .meaning = "their standard deviation, of the population; null likewise",
                  .where = kCosines},
                 histogram_field()},
      .models = model_facts(),
      .parameters = {matrix_parameter(), layers_parameter(), experts_parameter_field()},
      .has_view = true};
  const std::vector<Field> experts = expert_fields();
  kind.fields.insert(kind.fields.begin(), experts.begin(), experts.end());
  for (Field& field : histogram_parameters()) kind.parameters.push_back(std::move(field));
  return kind;
}

RowKind head_overlap_rows() {
  return {.name = "head_overlap",
          .command = "similarity",
          .option = "overlap",
          .meaning = "how far the heads of one projection read or write the same space",
          .place = place_of_whole_matrix(),
          .fields = {{.name = "overlap",
                      .form = matrix,
                      .nulls = Nulls::entries,
                      .meaning = "for each two heads the mean squared cosine between the spaces of "
                                 "their rows; null beside a zero head",
                      .where = kOverlap},
                     {.name = "ranks",
                      .type = integer,
                      .form = list,
                      .meaning = "the dimension of each head's space",
                      .where = kOverlap}},
          .models = model_facts(),
          .parameters = {matrix_parameter(),
                         layers_parameter(),
                         {.name = "overlap",
                          .type = flag,
                          .meaning = "that rows say how far heads overlap",
                          .where = "formats.md#parameters"}},
          .has_view = true};
}

RowKind head_matrix_rows() {
  RowKind kind = {.name = "head_matrix",
                  .command = "similarity",
                  .option = "head_matrix",
                  .meaning = "cosines of one weight vector of a head with all of that head",
                  .place = place_of_matrix(),
                  .fields = matrix_row_fields(),
                  .models = model_facts(),
                  .parameters = {matrix_parameter(),
                                 layers_parameter(),
                                 {.name = "head_matrix",
                                  .type = integer,
                                  .form = list,
                                  .nulls = Nulls::whole,
                                  .meaning = "the layer and the head that were asked for",
                                  .where = "formats.md#parameters"}},
                  .has_view = true};
  for (Field& field : kind.fields) field.where = kCosines;
  return kind;
}

RowKind matrix_rows() {
  RowKind kind = {.name = "matrix",
                  .command = "matrix",
                  .meaning = "one row of a matrix in canonical orientation",
                  .place = place_of_matrix(),
                  .fields = matrix_row_fields(),
                  .models = model_facts(),
                  .parameters = {{.name = "layer",
                                  .type = integer,
                                  .meaning = "the layer that was asked for",
                                  .where = "formats.md#parameters"},
                                 {.name = "matrix",
                                  .type = text,
                                  .meaning = "the matrix that was asked for",
                                  .where = "formats.md#parameters"},
                                 {.name = "head",
                                  .type = integer,
                                  .nulls = Nulls::whole,
                                  .meaning = "the head that was asked for; null: the whole matrix",
                                  .where = "formats.md#parameters"},
                                 {.name = "expert",
                                  .type = integer,
                                  .meaning = "the expert that was asked for",
                                  .where = "formats.md#parameters",
                                  .with = "expert"}}};
  kind.fields.insert(kind.fields.begin(), expert_fields().front());
  return kind;
}

}  // namespace attnscope
