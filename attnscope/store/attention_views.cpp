#include "attnscope/store/attention_views.h"

#include <string_view>

#include "attnscope/results/field.h"

namespace attnscope {
namespace {

/// The fields of a kind of rows that are means of each head's number of each sequence.
std::vector<const Field*> means_of(std::string_view kind) {
  std::vector<const Field*> means;
  for (const Field& field : find_row_kind(kind).fields) {
    if (!field.mean_of.empty()) means.push_back(&field);
  }
  return means;
}

constexpr const char* kPlace = R"("set", model, path, layer)";

/// A row for each head of each sequence: an outcome holds them as arrays (sequences, heads), and
/// its `matrix` is "sequences 5-9"; -1 stands for none. `more`: columns after the measures.
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
         each_head("attention",
                   ",\n       json_extract(parameters, '$.energy') AS energy,\n"
                   "       json_extract(parameters, '$.without_first') AS without_first");
}

/// Heads, and each layer as a whole, whose head is NULL.
std::string attention_view() {
  std::string nothing;
  for (std::size_t count = means_of("attention").size(); count > 0; --count) nothing += ", NULL";
  const std::string place = kPlace;
  return "CREATE VIEW attention AS\nSELECT " + place +
         ", head, count(*) AS sequences, energy, without_first" + averages("attention") +
         ",\n       NULL AS mean_max_rank, NULL AS mean_columns\nFROM attention_maps GROUP BY " +
         place + ", head\nUNION ALL\nSELECT " + place + ", NULL, count(*), energy, without_first" +
         nothing + ",\n       avg(largest), avg(columns)\nFROM (SELECT " + place +
         ", sequence, energy, without_first, max(energy_rank) AS largest,\n             "
         "avg(columns) AS columns FROM attention_maps GROUP BY " +
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
