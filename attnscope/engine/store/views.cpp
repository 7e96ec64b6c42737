#include "attnscope/engine/store/schema.h"

#include <algorithm>
#include <string_view>

#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

/// Returns json_extract() of `path` in a JSON column of stored_rows.
std::string json_column(std::string_view json, const std::string& path, const std::string& name) {
  return ",\n       json_extract(" + std::string(json) + ", '$." + path + "') AS \"" + name + '"';
}

/// Returns a column for one key of a map (which may contain dots), or for one position of a list.
std::string key_column(const std::string& outer_path, const Field& field, std::string_view key) {
  const std::string quoted_key =
      field.form == FieldForm::list ? '[' + std::string(key) + ']' : ".\"" + std::string(key) + '"';
  return json_column("fields", outer_path + std::string(field.name) + quoted_key,
                     std::string(field.name) + '_' + std::string(key));
}

/// Returns one column per field, or one column per key for fields with known keys. In a run of such
/// fields, the key columns come first. If the user chooses the keys, the whole field follows,
/// because there may be other keys.
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

/// Returns the columns of stored_rows that locate a row.
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
  // Rows that contain their location exist only if something was computed.
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

namespace {

/// Returns the fields of a kind of row that are means over sequences of one number per head.
std::vector<const Field*> means_of(std::string_view kind) {
  std::vector<const Field*> means;
  for (const Field& field : find_row_kind(kind).fields) {
    if (!field.mean_of.empty()) means.push_back(&field);
  }
  return means;
}

constexpr const char* kPlace = R"("set", model, path, layer)";

/// Returns a SELECT with one row per head and sequence. An outcome stores arrays (sequences,
/// heads), its `matrix` is "sequences 5-9", and -1 means no value. `more`: columns after the
/// measures.
std::string each_head(std::string_view analysis, std::string_view more = "") {
  const std::vector<const Field*> means = means_of(analysis);
  std::string sql =
      "SELECT \"set\", model, stored_rows.path AS path, json_extract(fields, '$.layer') AS layer,\n"
      "       head.key AS head,\n"
      "       CAST(substr(matrix, 11) AS INTEGER) + sequence.key AS sequence";
  for (const Field* mean : means) {
    sql += ",\n       nullif(json_extract(fields, '$." + std::string(mean->mean_of) +
           "[' || sequence.key || '][' || head.key || ']'), -1) AS " + std::string(mean->name);
  }
  return sql + std::string(more) + "\nFROM stored_rows, json_each(fields, '$." +
         std::string(means.front()->mean_of) +
         "') AS sequence, json_each(sequence.value) AS head\nWHERE analysis = '" +
         std::string(analysis) + "'";
}

std::string averages(std::string_view kind) {
  std::string sql;
  for (const Field* mean : means_of(kind)) {
    const std::string field(mean->name);
    sql += ",\n       avg(" + field + ") AS " + field;
  }
  return sql;
}

std::string maps_view() {
  return "CREATE VIEW attention_maps AS\n" +
         each_head(
             "attention",
             ",\n       json_extract(parameters, '$.energy') AS energy,\n"
             "       json_extract(parameters, '$.exclude_first_token') AS exclude_first_token");
}

/// Returns the view `attention`: one row per head, and one per layer, whose head is NULL.
std::string attention_view() {
  std::string nothing;
  for (std::size_t count = means_of("attention").size(); count > 0; --count) nothing += ", NULL";
  const std::string place = kPlace;
  return "CREATE VIEW attention AS\nSELECT " + place +
         ", head, count(*) AS sequences, energy, exclude_first_token" + averages("attention") +
         ",\n       NULL AS mean_max_rank, NULL AS mean_energy_columns\nFROM attention_maps GROUP "
         "BY " +
         place + ", head\nUNION ALL\nSELECT " + place +
         ", NULL, count(*), energy, exclude_first_token" + nothing +
         ",\n       avg(largest), avg(columns)\nFROM (SELECT " + place +
         ", sequence, energy, exclude_first_token, max(energy_rank) AS largest,\n             "
         "avg(energy_columns) AS columns FROM attention_maps GROUP BY " +
         place + ", sequence)\nGROUP BY " + place;
}

std::string induction_view() {
  return "CREATE VIEW induction AS\nSELECT " + std::string(kPlace) +
         ", head, count(*) AS sequences" + averages("induction") + "\nFROM (" +
         each_head("induction") + ")\nGROUP BY " + kPlace + ", head";
}

}  // namespace

std::vector<std::string> attention_views() {
  return {maps_view(), attention_view(), induction_view()};
}

}  // namespace attnscope
