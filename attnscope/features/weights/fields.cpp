// Rows of `weights`: how the values of a matrix are distributed.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;
using enum FieldForm;

RowKind weights_rows() {
  constexpr std::string_view kWhere = "metrics.md#distribution-of-weights";
  RowKind kind = {
      .name = "weights",
      .command = "weights",
      .meaning = "how the values of one matrix or head are distributed",
      .place = place_of_matrix(),
      .fields = {{.name = "count",
                  .type = integer,
                  .unit = "values",
                  .meaning = "how many values the matrix has",
                  .where = kWhere},
                 {.name = "mean", .meaning = "the mean of the values", .where = kWhere},
                 {.name = "std",
                  .meaning = "their standard deviation, of the population",
                  .where = kWhere},
                 {.name = "min", .meaning = "the smallest value", .where = kWhere},
                 {.name = "max", .meaning = "the largest value", .where = kWhere},
                 {.name = "skewness",
                  .nulls = Nulls::whole,
                  .meaning = "their third standardised moment; null where all values are equal",
                  .where = kWhere},
                 {.name = "excess_kurtosis",
                  .nulls = Nulls::whole,
                  .meaning = "their fourth standardised moment less 3, which is 0 for a Gaussian; "
                             "null where all values are equal",
                  .where = kWhere},
                 {.name = "quantiles",
                  .form = by_fraction,
                  .meaning = "the values below which that fraction of all values lies",
                  .where = kWhere,
                  .columns = {"0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99"}},
                 histogram_field()},
      .models = model_facts(),
      .parameters = {matrix_parameter(), layers_parameter(), per_head_parameter(),
                     experts_parameter_field()},
      .has_view = true};
  const std::vector<Field> of_experts = expert_fields();
  kind.fields.insert(kind.fields.begin(), of_experts.begin(), of_experts.end());
  for (Field& field : histogram_parameters()) kind.parameters.push_back(std::move(field));
  return kind;
}

}  // namespace attnscope
