// Rows of `export --list`: the contents of a store.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;

RowKind stored_set_rows() {
  constexpr std::string_view kWhere = "formats.md#rows";
  return {
      .name = "stored_set",
      .command = "export",
      .option = "list",
      .meaning = "stored rows of one model in one set; a set is one analysis with fixed parameters",
      .place = {{.name = "set",
                 .type = integer,
                 .heading = "set",
                 .meaning = "number of the set, as passed to `export --set`",
                 .where = kWhere},
                model_field()},
      .fields =
          {{.name = "command",
            .type = text,
            .heading = "command",
            .meaning = "command that computed the rows",
            .where = kWhere},
           {.name = "analysis",
            .type = text,
            .meaning =
                "analysis of the command that computed the rows; also the name of the SQL view",
            .where = kWhere},
           {.name = "parameters",
            .type = text,
            .heading = "parameters",
            .meaning = "Parameters of the analysis as JSON, as in the output of `export`. A "
                       "null value means that the runs of the set differ in this parameter.",
            .where = kWhere},
           {.name = "revision",
            .type = integer,
            .meaning = "analysis version; incremented when a release changes the results",
            .where = kWhere},
           {.name = "rows",
            .type = integer,
            .nulls = Nulls::whole,
            .unit = "rows",
            .heading = "rows",
            .meaning = "number of rows that `export` prints for this model; null if this "
                       "version of attnscope does not know the analysis",
            .where = kWhere},
           {.name = "skipped",
            .type = integer,
            .nulls = Nulls::whole,
            .heading = "skipped",
            .meaning = "number of matrices and heads that were skipped",
            .where = kWhere},
           {.name = "finished",
            .type = text,
            .heading = "finished (UTC)",
            .meaning = "time at which the last row was computed (ISO 8601, UTC)",
            .where = kWhere}},
      .parameters = {{.name = "list",
                      .type = flag,
                      .meaning = "true: rows list the contents of the store",
                      .where = "formats.md#parameters"}}};
}

}  // namespace attnscope
