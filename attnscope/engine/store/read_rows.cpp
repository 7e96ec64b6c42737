// Reads the rows of a store: completely checked, in the order in which they are printed, one place
// at a time.
#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/base/role.h"
#include "attnscope/engine/store/connection.h"
#include "attnscope/engine/store/digests.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

/// Returns SQL for the position of a matrix in the usual order.
std::string usual_position() {
  std::string sql = "CASE matrix";
  for (std::size_t position = 0; position < kRoleNames.size(); ++position) {
    sql += " WHEN '" + std::string(kRoleNames[position]) + "' THEN " + std::to_string(position);
  }
  return sql + " ELSE " + std::to_string(kRoleNames.size()) + " END";
}

}  // namespace

/// Checks the whole file. Digests detect a changed row, but not a missing one: a damaged page may
/// be a valid page with fewer rows. Other data then contradicts it. SQLite compares each table with
/// its index row by row, and places refer to rows of other tables.
void Store::Connection::check_whole() {
  if (whole_) return;
  Statement pages = database_.prepare("PRAGMA integrity_check(1)");
  if (!pages.step() || pages.text(0) != "ok") {
    refuse_damaged("its tables and indexes are inconsistent");
  }
  for (const std::string_view sql :
       {"PRAGMA foreign_key_check(places)", "PRAGMA foreign_key_check(analysed_models)"}) {
    if (database_.prepare(sql).step()) refuse_damaged("a row refers to a missing row");
  }
  whole_ = true;
}

/// Returns the analysis in a row of name, revision, command, parameters and digest.
StoredAnalysis Store::Connection::analysis_of(const Statement& row) const {
  const std::string parameters = row.text(3);
  StoredAnalysis analysis{.name = row.text(0),
                          .revision = static_cast<int>(row.integer(1)),
                          .command = row.text(2),
                          .parameters = parse_record(parameters, database_.path())};
  if (analysis_digest(analysis, parameters) != row.text(4)) {
    refuse_damaged("an analysis does not match its digest");
  }
  return analysis;
}

std::vector<Store::SetEntry> Store::Connection::sets() {
  const Transaction snapshot(database_, Transaction::For::reading);
  check_whole();
  std::vector<SetEntry> sets;
  Statement found = database_.prepare(
      "SELECT name, revision, command, parameters, digest, id FROM analyses "
      "WHERE EXISTS (SELECT 1 FROM places WHERE places.analysis = analyses.id) ORDER BY id");
  while (found.step()) sets.push_back({.id = found.integer(5), .analysis = analysis_of(found)});
  Statement names = database_.prepare(
      "SELECT name, facts, digest, "
      "(SELECT max(items.finished) FROM places JOIN items ON items.id = places.item "
      "WHERE places.analysis = analysed_models.analysis "
      "AND places.model = analysed_models.model) "
      "FROM analysed_models WHERE analysis = ? ORDER BY id");
  for (SetEntry& set : sets) {
    names.bind(set.id);
    while (names.step()) {
      if (digest_of_texts({names.text(0), names.text(1)}) != names.text(2)) {
        refuse_damaged("a model's info does not match its digest");
      }
      set.models.push_back({.name = names.text(0), .finished = names.text(3)});
    }
  }
  return sets;
}

/// Returns the parameters of the runs that placed the rows of the set, without duplicates.
std::vector<Record> Store::Connection::parameters_of(std::int64_t set) {
  Statement found = database_.prepare(
      "SELECT DISTINCT runs.command, runs.parameters, runs.digest FROM places "
      "JOIN runs ON runs.id = places.run WHERE places.analysis = ?");
  found.bind(set);
  std::vector<Record> parameters;
  while (found.step()) {
    if (digest_of_texts({found.text(0), found.text(1)}) != found.text(2)) {
      refuse_damaged("a run's parameters do not match their digest");
    }
    parameters.push_back(parse_record(found.text(1), database_.path()));
  }
  return parameters;
}

void Store::Connection::for_each_rows(std::int64_t id,
                                      const std::function<void(const StoredSet&)>& begin,
                                      const std::function<void(const StoredRows&)>& add) {
  const Transaction snapshot(database_, Transaction::For::reading);
  check_whole();
  StoredSet set;
  Statement analysis = database_.prepare(
      "SELECT name, revision, command, parameters, digest FROM analyses WHERE id = ?");
  analysis.bind(id);
  if (!analysis.step()) refuse_damaged("a set of rows is missing");
  set.analysis = analysis_of(analysis);
  set.parameters = parameters_of(id);

  std::vector<std::int64_t> model_ids;
  Statement models = database_.prepare(
      "SELECT models.id, path, description, name, facts, digest FROM analysed_models "
      "JOIN models ON models.id = analysed_models.model WHERE analysis = ? "
      "ORDER BY analysed_models.id");
  models.bind(id);
  while (models.step()) {
    if (digest_of_texts({models.text(3), models.text(4)}) != models.text(5)) {
      refuse_damaged("a model's info does not match its digest");
    }
    model_ids.push_back(models.integer(0));
    set.models.push_back({.path = models.text(1),
                          .description = models.text(2),
                          .name = models.text(3),
                          .facts = parse_record(models.text(4), database_.path())});
  }
  begin(set);

  // Sorts only short keys; the long columns are looked up one place at a time.
  const std::string order =
      set.parameters.size() > 1 ? usual_position() + ", position" : "position";
  Statement ordered = database_.prepare(
      "SELECT places.id FROM places LEFT JOIN analysed_models "
      "ON analysed_models.analysis = places.analysis AND analysed_models.model = places.model "
      "WHERE places.analysis = ? ORDER BY analysed_models.id, layer, " +
      order + ", matrix");
  Statement place = database_.prepare(
      "SELECT model, layer, matrix, position, places.digest, items.id, items.inputs, items.digest "
      "FROM places JOIN items ON items.id = places.item WHERE places.id = ?");
  ordered.bind(id);
  while (ordered.step()) {
    place.bind(ordered.integer(0));
    if (!place.step()) refuse_damaged("the location of a row is missing");
    const auto model = std::find(model_ids.begin(), model_ids.end(), place.integer(0));
    StoredRows rows{
        .layer = place.optional_integer(1), .matrix = place.text(2), .position = place.integer(3)};
    const std::string item = place.text(7);
    const bool audio = place_digest(id, place.integer(0), rows.layer, rows.matrix, rows.position,
                                    item) == place.text(4);
    if (model == model_ids.end() || !audio) refuse_damaged("the location of a row is inconsistent");
    rows.model = static_cast<std::size_t>(model - model_ids.begin());
    rows.outcomes = outcomes_of(place.integer(5), place.text(6), item);
    place.reset();
    add(rows);
  }
}

}  // namespace attnscope
