#include "attnscope/store/attention_views.h"

#include <array>
#include <span>
#include <string_view>

namespace attnscope {
namespace {

/// A number of each head's map of each sequence, and the field of rows that is its mean.
struct Measure {
  std::string_view kept;
  std::string_view field;
  bool may_lack = false;  // -1 stands for none
};

constexpr std::array kOfMaps = {
    Measure{"energy_rank", "energy_rank"},
    Measure{"columns", "columns"},
    Measure{"first_column_share", "first_column_share", /*may_lack=*/true},
    Measure{"entropy", "entropy"},
    Measure{"sink_mass", "sink_mass"},
    Measure{"previous_token", "previous_token", /*may_lack=*/true},
    Measure{"diagonal", "diagonal"},
    Measure{"distance", "mean_distance"},
};
constexpr std::array kOfInduction = {Measure{"induction", "induction"},
                                     Measure{"duplicate_token", "duplicate_token"}};

constexpr const char* kPlace = R"("set", model, path, layer)";

/// A row for each head of each sequence: an outcome holds them as arrays (sequences, heads), and
/// its `matrix` is "sequences 5-9". `more`: columns after the measures.
std::string each_head(std::string_view analysis, std::span<const Measure> measures,
                      std::string_view more = "") {
  std::string sql =
      "SELECT \"set\", model, stored_rows.path AS path, json_extract(fields, '$.layer') AS layer,\n"
      "       head.key AS head,\n"
      "       CAST(substr(matrix, 11) AS INTEGER) + sequence.key AS sequence";
  for (const Measure& measure : measures) {
    const std::string number = "json_extract(fields, '$." + std::string(measure.kept) +
                               "[' || sequence.key || '][' || head.key || ']')";
    sql += ",\n       " + (measure.may_lack ? "nullif(" + number + ", -1)" : number) + " AS " +
           std::string(measure.field);
  }
  return sql + std::string(more) + "\nFROM stored_rows, json_each(fields, '$." +
         std::string(measures.front().kept) +
         "') AS sequence, json_each(sequence.value) AS head\nWHERE analysis = '" +
         std::string(analysis) + "'";
}

std::string means(std::span<const Measure> measures) {
  std::string sql;
  for (const Measure& measure : measures) {
    const std::string field(measure.field);
    sql += ",\n       avg(" + field + ") AS " + field;
  }
  return sql;
}

std::string maps_view() {
  return "CREATE VIEW attention_maps AS\n" +
         each_head("attention", kOfMaps,
                   ",\n       json_extract(parameters, '$.energy') AS energy,\n"
                   "       json_extract(parameters, '$.without_first') AS without_first");
}

/// Heads, and each layer as a whole, whose head is NULL.
std::string attention_view() {
  std::string nothing;
  for (std::size_t count = 0; count < kOfMaps.size(); ++count) nothing += ", NULL";
  const std::string place = kPlace;
  return "CREATE VIEW attention AS\nSELECT " + place +
         ", head, count(*) AS sequences, energy, without_first" + means(kOfMaps) +
         ",\n       NULL AS mean_max_rank, NULL AS mean_columns\nFROM attention_maps GROUP BY " +
         place + ", head\nUNION ALL\nSELECT " + place + ", NULL, count(*), energy, without_first" +
         nothing + ",\n       avg(largest), avg(columns)\nFROM (SELECT " + place +
         ", sequence, energy, without_first, max(energy_rank) AS largest,\n             "
         "avg(columns) AS columns FROM attention_maps GROUP BY " +
         place + ", sequence)\nGROUP BY " + place;
}

std::string induction_view() {
  return "CREATE VIEW induction AS\nSELECT " + std::string(kPlace) +
         ", head, count(*) AS sequences" + means(kOfInduction) + "\nFROM (" +
         each_head("induction", kOfInduction) + ")\nGROUP BY " + kPlace + ", head";
}

}  // namespace

std::vector<std::string> attention_views() {
  return {maps_view(), attention_view(), induction_view()};
}

}  // namespace attnscope
