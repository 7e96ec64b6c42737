// Rows of `similarity`: cosines between weight vectors, overlap of heads, cosines of one head. Also
// rows of `matrix`, which have the same form as the latter.
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
      .meaning = "distribution of the cosines between weight vectors of one projection",
      .revision = 2,
      .place = place_of_whole_matrix(),
      .fields = {{.name = "scope",
                  .type = text,
                  .meaning =
                      "pairs of rows that are compared: within one head, across two heads, or all",
                  .where = kCosines,
                  .choices = {"within_head", "across_head", "all"}},
                 {.name = "pairs",
                  .type = integer,
                  .meaning = "number of pairs of weight vectors",
                  .where = kCosines},
                 {.name = "zero_vectors",
                  .type = integer,
                  .meaning = "number of zero vectors, which are excluded from the pairs",
                  .where = kCosines},
                 {.name = "mean",
                  .nulls = Nulls::whole,
                  .meaning = "mean cosine over all pairs; null if there are no pairs",
                  .where = kCosines},
                 {.name = "std",
                  .nulls = Nulls::whole,
                  .meaning =
                      "population standard deviation of the cosines; null if there are no pairs",
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
          .meaning = "overlap between the subspaces that heads of one projection read or write",
          .place = place_of_whole_matrix(),
          .fields = {{.name = "overlap",
                      .form = matrix,
                      .nulls = Nulls::entries,
                      .meaning = "mean squared cosine of the principal angles between the row "
                                 "spaces of each pair of heads; null if the matrix of either head "
                                 "is zero",
                      .where = kOverlap},
                     {.name = "ranks",
                      .type = integer,
                      .form = list,
                      .meaning = "dimension of each head's row space",
                      .where = kOverlap}},
          .models = model_facts(),
          .parameters = {matrix_parameter(),
                         layers_parameter(),
                         {.name = "overlap",
                          .type = flag,
                          .meaning = "true: rows report the overlap of heads",
                          .where = "formats.md#parameters"}},
          .has_view = true};
}

RowKind head_matrix_rows() {
  RowKind kind = {
      .name = "head_matrix",
      .command = "similarity",
      .option = "head_matrix",
      .meaning = "cosines between one weight vector of a head and all weight vectors of that head",
      .place = place_of_matrix(),
      .fields = matrix_row_fields(),
      .models = model_facts(),
      .parameters = {matrix_parameter(),
                     layers_parameter(),
                     {.name = "head_matrix",
                      .type = integer,
                      .form = list,
                      .nulls = Nulls::whole,
                      .meaning = "requested layer and head",
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
                                  .meaning = "requested layer",
                                  .where = "formats.md#parameters"},
                                 {.name = "matrix",
                                  .type = text,
                                  .meaning = "requested matrix",
                                  .where = "formats.md#parameters"},
                                 {.name = "head",
                                  .type = integer,
                                  .nulls = Nulls::whole,
                                  .meaning = "requested head; null: the whole matrix",
                                  .where = "formats.md#parameters"},
                                 {.name = "expert",
                                  .type = integer,
                                  .meaning = "requested expert",
                                  .where = "formats.md#parameters",
                                  .with = "expert"}}};
  kind.fields.insert(kind.fields.begin(), expert_fields().front());
  return kind;
}

}  // namespace attnscope
