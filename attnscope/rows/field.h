// What every field of a report means, said once: columns of CSV, views of a store, headings of
// tables, the JSON Schema and `explain` are made from these descriptions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Of a single value, or of each entry of a list or map.
enum class FieldType { text, integer, number, flag, record };

/// Whether it is one value or several, and what names each of several.
enum class FieldForm {
  single,
  list,
  matrix,        // a list of lists of equal length
  by_threshold,  // a map whose keys are the shares of energy that were asked for: "0.9"
  by_rank,       // a map whose keys are the ranks that were asked for: "512", "0.1D"
  by_fraction,   // a map whose keys are fixed fractions: "0.05"
};

/// Whether null may stand where a measure has no value: nowhere, in place of the field, or in place
/// of entries of its list or map.
enum class Nulls { none, whole, entries };

/// One named value of a row, of a model's facts or of a report's parameters.
struct Field {
  std::string_view name = {};
  FieldType type = FieldType::number;
  FieldForm form = FieldForm::single;
  Nulls nulls = Nulls::none;
  std::string_view unit = {};           // empty: a pure number, or no number
  std::string_view heading = {};        // over its column of a table; empty: not shown by name
  std::string_view short_heading = {};  // where many models are compared; empty: not shown there
  std::string_view meaning = {};        // one line
  std::string_view words = {};          // of a flag: what it says, within a sentence of the page
  std::string_view where = {};          // "metrics.md#spectrum": the file in docs/ and its section
  std::string_view with = {};           // the parameter that adds the field; empty: always there
  std::string_view mean_of = {};        // stores' array (sequences, heads) whose mean it is
  bool optional = false;                // absent from some rows, as `meaning` says
  /// The only texts there are; beside a number: words that may stand in its place.
  std::vector<std::string_view> choices = {};
  /// Keys or positions that have a column of their own in a store's view.
  std::vector<std::string_view> columns = {};
  std::vector<Field> fields = {};  // of a record
};

/// One kind of row, and the report that has such rows.
struct RowKind {
  std::string_view name = {};      // "spectrum", "mla", …; a store's analysis has the same
  std::string_view command = {};   // whose report has such rows
  std::string_view option = {};    // its parameter that asks for them; empty: its usual rows
  std::string_view meaning = {};   // one line
  int revision = 1;                // raised when the numbers or the fields of rows change
  std::vector<Field> place = {};   // the row's first fields: of which model, layer, matrix, head
  std::vector<Field> fields = {};  // what the analysis found, in the order of the row
  std::vector<Field> models = {};  // of each entry of `models`
  std::vector<Field> parameters = {};  // of the report
  /// Parameters that are columns of the store's view, which holds rows of several sets.
  std::vector<std::string_view> variant = {};
  bool has_view = false;  // whether stores have a view of these rows
  /// Rows of some kinds are kept in parts: each of `fields` is a record of the same form, and a
  /// store keeps each as a row of its own, under this name. Empty: rows are kept whole.
  std::string_view part = {};
};

/// Every kind; those of one command stand together, its usual one first. The list is in
/// features/all_row_kinds.cpp.
const std::vector<RowKind>& row_kinds();
/// Throws std::out_of_range: only code can name a kind that is not there.
const RowKind& find_row_kind(std::string_view name);
/// What a store asks of the kind; 1 for rows that are of none.
int revision_of(std::string_view kind);
/// The kind of a report's rows.
const RowKind& row_kind_of(std::string_view command, const Record& parameters);

/// The facts that every model has.
const std::vector<Field>& model_facts();
/// One of them; throws std::out_of_range.
const Field& model_fact(std::string_view name);
/// Of each entry of a report's `skipped`.
const std::vector<Field>& skipped_fields();

/// All fields that rows of this kind may have, in their order.
std::vector<const Field*> fields_of_rows(const RowKind& kind);
/// Those that every row of a report with these parameters has.
std::vector<const Field*> fields_of_rows(const RowKind& kind, const Record& parameters);

/// What stands over the field's column in a table; throws std::out_of_range where the kind has no
/// such field.
std::string heading(std::string_view kind, std::string_view field);

/// A field and where it stands.
struct FieldLocation {
  const RowKind* kind = nullptr;  // null: of every report that has such a part
  std::string_view part;          // of the report: "rows", "models", "parameters", "skipped"
  std::string path;               // its name, after those of the records that hold it: "kv.rank"
  const Field* field = nullptr;
};

/// Every field of every kind, those inside records after them.
const std::vector<FieldLocation>& field_locations();
/// Those with this name or path.
std::vector<FieldLocation> find_fields(std::string_view name);

}  // namespace attnscope
