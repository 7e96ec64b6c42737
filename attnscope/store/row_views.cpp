#include "attnscope/store/row_views.h"

#include <algorithm>
#include <string_view>

#include "attnscope/results/field.h"

namespace attnscope {
namespace {

/// json_extract(…) of what `path` names in a column of stored_rows.
std::string json_column(std::string_view json, const std::string& path, const std::string& name) {
  return ",\n       json_extract(" + std::string(json) + ", '$." + path + "') AS \"" + name + '"';
}

/// A column for one key of a map (which may hold dots itself) or one position of a list.
std::string key_column(const std::string& outer_path, const Field& field, std::string_view key) {
  const std::string quoted_key =
      field.form == FieldForm::list ? '[' + std::string(key) + ']' : ".\"" + std::string(key) + '"';
  return json_column("fields", outer_path + std::string(field.name) + quoted_key,
                     std::string(field.name) + '_' + std::string(key));
}

/// A column for each field; neighbours with keys that have columns of their own begin with these.
/// They are whole only where a user chooses the keys, so that there may be others.
std::string field_columns(const std::string& outer_path, const std::vector<Field>& fields) {
  std::string sql;
  const auto add_whole = [&](const Field& field) {
    sql += json_column("fields", outer_path + std::string(field.name), std::string(field.name));
  };
  for (auto at = fields.begin(); at != fields.end();) {
    const auto end =
        std::find_if(at, fields.end(), [](const Field& field) { return field.columns.empty(); });
    std::for_each(at, end, [&](const Field& field) {
      for (const auto key : field.columns) sql += key_column(outer_path, field, key);
    });
    std::for_each(at, end, [&](const Field& field) {
      if (field.form == FieldForm::by_threshold) add_whole(field);
    });
    if (end != fields.end()) add_whole(*end);
    at = end == fields.end() ? end : std::next(end);
  }
  return sql;
}

/// Which of the columns that stored_rows has say where the row stands.
std::string place_columns(const RowKind& kind) {
  std::string sql;
  for (const Field& field : kind.place) {
    const std::string name(field.name);
    if (name == "model") continue;
    const bool same_name = name == "layer" || name == "matrix" || name == "head";
    sql += same_name ? ", " + name : ", matrix AS " + name;
  }
  return kind.part.empty() ? sql : sql + ", matrix";
}

std::string view_of(const RowKind& kind) {
  const std::string name(kind.name);
  std::string sql =
      "CREATE VIEW " + name + " AS\nSELECT \"set\", model, path" + place_columns(kind);
  sql += kind.part.empty()
             ? field_columns("", kind.fields)
             : field_columns(std::string(kind.part) + ".", kind.fields.front().fields);
  for (const auto parameter : kind.variant) {
    sql += json_column("parameters", std::string(parameter), std::string(parameter));
  }
  // Rows that name their place themselves are none where nothing was computed.
  const bool named_by_fields = kind.place.size() == 1;
  if (!named_by_fields) sql += ",\n       skipped, note";
  sql += "\nFROM stored_rows WHERE analysis = '" + name + "'";
  if (!named_by_fields) return sql;
  return sql + " AND json_extract(fields, '$." + std::string(kind.fields.front().name) +
         "') IS NOT NULL";
}

}  // namespace

std::vector<std::string> row_views() {
  std::vector<std::string> views;
  for (const RowKind& kind : row_kinds()) {
    if (kind.has_view) views.push_back(view_of(kind));
  }
  return views;
}

}  // namespace attnscope
