// Rows of `weights`: distribution of the values of a matrix.
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
      .meaning = "distribution of the values of one matrix or head",
      .place = place_of_matrix(),
      .fields = {{.name = "count",
                  .type = integer,
                  .unit = "values",
                  .meaning = "number of values",
                  .where = kWhere},
                 {.name = "mean", .meaning = "mean of the values", .where = kWhere},
                 {.name = "std",
                  .meaning = "population standard deviation of the values",
                  .where = kWhere},
                 {.name = "min", .meaning = "smallest value", .where = kWhere},
                 {.name = "max", .meaning = "largest value", .where = kWhere},
                 {.name = "skewness",
                  .nulls = Nulls::whole,
                  .meaning =
                      "third standardized moment of the values; null if all values are equal",
                  .where = kWhere},
                 {.name = "excess_kurtosis",
                  .nulls = Nulls::whole,
                  .meaning = "fourth standardized moment of the values minus 3 (0 for a Gaussian); "
                             "null if all values are equal",
                  .where = kWhere},
                 {.name = "quantiles",
                  .form = by_fraction,
                  .meaning = "quantiles of the values: the value below which the given fraction of "
                             "all values lies",
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
