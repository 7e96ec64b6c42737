// Definitions of every field of a report. CSV columns, views of a store, table headings, the JSON
// Schema and `explain` are generated from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Type of the value, or of each entry if the field is a list or map.
enum class FieldType { text, integer, number, flag, record };

/// Whether the field is one value or several, and the keys of several values.
enum class FieldForm {
  single,
  list,
  matrix,        // a list of lists of equal length
  by_threshold,  // a map whose keys are the requested shares of energy: "0.9"
  by_rank,       // a map whose keys are the requested ranks: "512", "0.1D"
  by_fraction,   // a map whose keys are fixed fractions: "0.05"
};

/// Where null may occur if a measure has no value: nowhere, as the whole field, or as entries of
/// its list or map.
enum class Nulls { none, whole, entries };

/// One named value of a row, of a model's metadata or of a report's parameters.
struct Field {
  std::string_view name = {};
  FieldType type = FieldType::number;
  FieldForm form = FieldForm::single;
  Nulls nulls = Nulls::none;
  std::string_view unit = {};           // empty: dimensionless, or not a number
  std::string_view heading = {};        // column heading in tables; empty: not shown by name
  std::string_view short_heading = {};  // heading when many models are compared; empty: not shown
  std::string_view meaning = {};        // one line
  std::string_view words = {};          // for a flag: its statement within a sentence of the page
  std::string_view where = {};          // "metrics.md#spectrum": the file in docs/ and its section
  std::string_view with = {};           // the parameter that adds the field; empty: always there
  std::string_view mean_of = {};        // array (sequences, heads) averaged by this field
  bool optional = false;                // absent from some rows, as described in `meaning`
  /// All possible texts; for a number, texts that may replace it.
  std::vector<std::string_view> choices = {};
  /// Keys or indices with their own column in a store's view.
  std::vector<std::string_view> columns = {};
  std::vector<Field> fields = {};  // fields of a record
};

/// One kind of row, and the report that has such rows.
struct RowKind {
  std::string_view name = {};      // "spectrum", "mla", …; also the name of the store's analysis
  std::string_view command = {};   // command whose report has such rows
  std::string_view option = {};    // parameter that requests these rows; empty: default rows
  std::string_view meaning = {};   // one line
  int revision = 1;                // raised when the numbers or the fields of rows change
  std::vector<Field> place = {};   // first fields of a row: model, layer, matrix, head
  std::vector<Field> fields = {};  // results of the analysis, in row order
  std::vector<Field> models = {};  // fields of each entry of `models`
  bool lists_any_file = false;     // a model without a config has only `name` and `bytes`
  std::vector<Field> parameters = {};  // parameters of the report
  /// Parameters that are columns of the store's view, because the view has rows of several sets.
  std::vector<std::string_view> variant = {};
  bool has_view = false;  // whether stores have a view of these rows.
  /// Rows of some kinds are stored in parts: each of `fields` is a record of the same form, stored
  /// as a separate row under this name. Empty: rows are stored whole.
  std::string_view part = {};
};

/// Every kind, grouped by command; the default kind of a command comes first. The list is in
/// features/all_row_kinds.cpp.
const std::vector<RowKind>& row_kinds();
/// Throws std::out_of_range, because only code can pass an unknown kind.
const RowKind& find_row_kind(std::string_view name);
/// The revision that a store requires of the kind; 1 for rows without a kind.
int revision_of(std::string_view kind);
/// The kind of a report's rows.
const RowKind& row_kind_of(std::string_view command, const Record& parameters);

/// The metadata fields that every model has.
const std::vector<Field>& model_facts();
/// One metadata field; throws std::out_of_range.
const Field& model_fact(std::string_view name);
/// Fields of each entry of a report's `skipped`.
const std::vector<Field>& skipped_fields();

/// All fields that rows of this kind may have, in row order.
std::vector<const Field*> fields_of_rows(const RowKind& kind);
/// The fields that every row of a report with these parameters has.
std::vector<const Field*> fields_of_rows(const RowKind& kind, const Record& parameters);

/// The column heading of the field in tables; throws std::out_of_range if the kind has no such
/// field.
std::string heading(std::string_view kind, std::string_view field);

/// A field and its location.
struct FieldLocation {
  const RowKind* kind = nullptr;  // null: every report that has such a part
  std::string_view part;          // part of the report: "rows", "models", "parameters", "skipped"
  std::string path;               // name with its enclosing records: "kv.rank"
  const Field* field = nullptr;
};

/// Every field of every kind; fields inside records follow the record.
const std::vector<FieldLocation>& field_locations();
/// The fields with this name or path.
std::vector<FieldLocation> find_fields(std::string_view name);

}  // namespace attnscope
