// Rows of `export --list`: what a store holds.
#include "attnscope/features/common/fields.h"
#include "attnscope/rows/field.h"

namespace attnscope {

using enum FieldType;

RowKind stored_set_rows() {
  constexpr std::string_view kWhere = "formats.md#rows";
  return {.name = "stored_set",
          .command = "export",
          .option = "list",
          .meaning =
              "what a store holds of one model in one set: the rows of one analysis with the "
              "same parameters",
          .place = {{.name = "set",
                     .type = integer,
                     .heading = "set",
                     .meaning = "the number by which `export` is told to print the set",
                     .where = kWhere},
                    model_field()},
          .fields = {{.name = "command",
                      .type = text,
                      .heading = "command",
                      .meaning = "the command that computed the rows",
                      .where = kWhere},
                     {.name = "analysis",
                      .type = text,
                      .meaning = "which of the command's analyses they are of: the name of their "
                                 "view",
                      .where = kWhere},
                     {.name = "parameters",
                      .type = text,
                      .heading = "parameters",
                      .meaning = "what was asked, as JSON, as `export` says it: null is what "
                                 "differs between the runs of a set",
                      .where = kWhere},
                     {.name = "revision",
                      .type = integer,
                      .meaning = "which way of counting the numbers are of; it rises when an "
                                 "update of attnscope changes them",
                      .where = kWhere},
                     {.name = "rows",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .unit = "rows",
                      .heading = "rows",
                      .meaning = "how many rows `export` prints of this model; null of an analysis "
                                 "that this attnscope does not know",
                      .where = kWhere},
                     {.name = "skipped",
                      .type = integer,
                      .nulls = Nulls::whole,
                      .heading = "skipped",
                      .meaning = "how many matrices and heads could not be analysed",
                      .where = kWhere},
                     {.name = "finished",
                      .type = text,
                      .heading = "finished, UTC",
                      .meaning = "when the last of them was computed, ISO 8601, UTC",
                      .where = kWhere}},
          .parameters = {{.name = "list",
                          .type = flag,
                          .meaning = "that rows say what the store holds",
                          .where = "formats.md#parameters"}}};
}

}  // namespace attnscope
