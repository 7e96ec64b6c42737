// A run of a command: looking up stored items and saving new ones.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/engine/store/connection.h"
#include "attnscope/engine/store/digests.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

constexpr std::string_view kNow = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";

std::string with_now(std::string sql) {
  const std::size_t at = sql.find("$now");
  return sql.replace(at, 4, kNow);
}

}  // namespace

Store::Connection::Connection(const std::string& path, Database::Access access, std::string version)
    : database_(path, access), version_(std::move(version)) {}

/// Returns the id of a row, which is inserted if it does not exist. Both statements bind the same
/// texts.
std::int64_t Store::Connection::id_of(std::string_view insert, std::string_view select,
                                      std::span<const std::string> texts) {
  for (const std::string_view sql : {insert, select}) {
    Statement statement = database_.prepare(sql);
    for (const std::string& text : texts) statement.bind(text);
    if (statement.step()) return statement.integer(0);
  }
  refuse_damaged("a row that was just written is missing");
}

void Store::Connection::begin(const StoredRun& run) {
  const StoredAnalysis& analysis = run.analysis;
  const std::string parameters = record_text(analysis.parameters);
  const std::string asked = record_text(run.parameters);
  Transaction transaction(database_);
  const std::string analysis_key[] = {analysis.name, std::to_string(analysis.revision),
                                      analysis.command, parameters,
                                      analysis_digest(analysis, parameters)};
  analysis_ = id_of(
      "INSERT OR IGNORE INTO analyses (name, revision, command, parameters, digest) "
      "VALUES (?, ?, ?, ?, ?)",
      "SELECT id FROM analyses WHERE name = ? AND revision = ? AND command = ? "
      "AND parameters = ? AND digest = ?",
      analysis_key);
  database_
      .prepare(with_now("INSERT INTO runs (started, command, parameters, version, process, "
                        "computed, digest) VALUES ($now, ?, ?, ?, ?, 0, ?)"))
      .bind(analysis.command)
      .bind(asked)
      .bind(version_)
      .bind(std::int64_t{getpid()})
      .bind(digest_of_texts({analysis.command, asked}))
      .run();
  run_ = database_.last_row_id();
  older_.clear();
  Statement older = database_.prepare(
      "SELECT id FROM analyses WHERE name = ? AND parameters = ? AND revision < ?");
  older.bind(analysis.name).bind(parameters).bind(std::int64_t{analysis.revision});
  while (older.step()) older_.push_back(older.integer(0));
  models_.clear();
  found_ = 0;
  for (const StoredModel& model : run.models) {
    const std::string facts = record_text(model.facts);
    database_
        .prepare(
            "INSERT INTO models (path, description, described) VALUES (?, ?, ?) "
            "ON CONFLICT (path, description) DO NOTHING")
        .bind(model.path)
        .bind(model.description)
        .bind(model.described)
        .run();
    Statement found =
        database_.prepare("SELECT id, described FROM models WHERE path = ? AND description = ?");
    found.bind(model.path).bind(model.description);
    if (!found.step()) refuse_damaged("a row that was just written is missing");
    models_.push_back(found.integer(0));
    const bool as_described = found.text(1) == model.described;
    database_
        .prepare(
            "INSERT INTO analysed_models (analysis, model, name, facts, digest) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (analysis, model) DO UPDATE "
            "SET name = excluded.name, facts = excluded.facts, digest = excluded.digest")
        .bind(analysis_)
        .bind(models_.back())
        .bind(model.name)
        .bind(facts)
        .bind(digest_of_texts({model.name, facts}))
        .run();
    drop_outdated_places(models_.back(), model, as_described);
    database_.prepare("UPDATE models SET described = ? WHERE id = ?")
        .bind(model.described)
        .bind(models_.back())
        .run();
  }
  transaction.commit();
}

std::optional<StoredTensor> Store::Connection::known_tensor(const StoredFile& file,
                                                            const std::string& name) {
  // The indexes on files and tensors lead to a hash, which must be confirmed in the tables. A
  // damaged index could return the hash of another tensor, and the lookup would find the wrong
  // rows.
  const auto bind_key = [&](Statement& statement) {
    statement.bind(file.path)
        .bind(signed_bytes(file))
        .bind(file.modified_ns)
        .bind(file.changed_ns)
        .bind(name);
  };
  Statement found = database_.prepare(
      "SELECT tensors.id, hash FROM files JOIN tensors ON tensors.file = files.id "
      "WHERE path = ? AND bytes = ? AND modified_ns = ? AND changed_ns = ? AND name = ?");
  Statement confirmed = database_.prepare(
      "SELECT hashed_ns FROM tensors NOT INDEXED "
      "JOIN files NOT INDEXED ON files.id = tensors.file "
      "WHERE path = ? AND bytes = ? AND modified_ns = ? AND changed_ns = ? AND name = ? "
      "AND tensors.id = ? AND hash = ?");
  StoredTensor tensor{.file = file, .name = name};
  bind_key(found);
  while (found.step()) {
    bind_key(confirmed);
    confirmed.bind(found.integer(0)).bind(found.text(1));
    if (!confirmed.step()) refuse_damaged("the hash of a tensor does not match");
    if (tensor.hash.empty() || confirmed.integer(0) > tensor.hashed_ns) {
      tensor.hash = found.text(1);
      tensor.hashed_ns = confirmed.integer(0);
    }
    confirmed.reset();
  }
  if (tensor.hash.empty() || !tensor.is_settled()) return std::nullopt;
  return tensor;
}

std::optional<Store::Connection::Item> Store::Connection::find_item(const std::string& inputs) {
  Statement statement =
      database_.prepare("SELECT id, digest FROM items WHERE analysis = ? AND inputs = ?");
  statement.bind(analysis_).bind(inputs);
  if (!statement.step()) return std::nullopt;
  return Item{statement.integer(0), statement.text(1)};
}

std::vector<Outcome> Store::Connection::outcomes_of(std::int64_t item, const std::string& inputs,
                                                    const std::string& digest) {
  Statement statement = database_.prepare(
      "SELECT head, fields, skipped, note FROM outcomes WHERE item = ? ORDER BY ordinal");
  statement.bind(item);
  std::vector<Outcome> outcomes;
  while (statement.step()) {
    outcomes.push_back({.head = statement.optional_integer(0),
                        .fields = parse_record(statement.text(1), database_.path()),
                        .skipped = statement.text(2),
                        .note = statement.text(3)});
  }
  if (item_digest(inputs, outcomes) != digest)
    refuse_damaged("a stored row does not match its digest");
  return outcomes;
}

std::optional<std::vector<Outcome>> Store::Connection::find(const std::string& inputs,
                                                            std::span<const StoredPlace> places) {
  const auto item = find_item(inputs);
  if (!item) return std::nullopt;
  std::vector<Outcome> outcomes = outcomes_of(item->id, inputs, item->digest);
  const bool all_recorded = std::all_of(
      places.begin(), places.end(), [&](const auto& place) { return is_recorded(*item, place); });
  if (!all_recorded) {
    Transaction transaction(database_);
    for (const StoredPlace& place : places) record(*item, place);
    transaction.commit();
  }
  ++found_;
  return outcomes;
}

void Store::Connection::save(const std::string& inputs, std::span<const Outcome> outcomes,
                             std::span<const StoredPlace> places) {
  Transaction transaction(database_);
  const std::string digest = item_digest(inputs, outcomes);
  database_
      .prepare(with_now("INSERT INTO items (analysis, inputs, run, finished, digest) "
                        "VALUES (?, ?, ?, $now, ?) ON CONFLICT (analysis, inputs) DO NOTHING"))
      .bind(analysis_)
      .bind(inputs)
      .bind(run_)
      .bind(digest)
      .run();
  const bool first = database_.changes() == 1;
  const auto item = find_item(inputs);
  if (!item) refuse_damaged("a row that was just written is missing");
  // Prepared once, because an item may have thousands of rows.
  Statement insert = database_.prepare(
      "INSERT INTO outcomes (item, ordinal, head, fields, skipped, note) "
      "VALUES (?, ?, ?, ?, ?, ?)");
  for (std::size_t ordinal = 0; first && ordinal < outcomes.size(); ++ordinal) {
    const Outcome& outcome = outcomes[ordinal];
    insert.bind(item->id)
        .bind(static_cast<std::int64_t>(ordinal))
        .bind(outcome.head)
        .bind(record_text(outcome.fields))
        .bind(outcome.skipped)
        .bind(outcome.note)
        .run();
  }
  for (const StoredPlace& place : places) record(*item, place);
  // Counted even if another process saved the item first: the column counts items computed by this
  // run.
  database_.prepare("UPDATE runs SET computed = computed + 1 WHERE id = ?").bind(run_).run();
  transaction.commit();
}

void Store::Connection::finish() {
  database_.prepare(with_now("UPDATE runs SET finished = $now, found = ? WHERE id = ?"))
      .bind(found_)
      .bind(run_)
      .run();
}

void Store::Connection::refuse_damaged(const std::string& what) const {
  throw Error(ErrorKind::format, {.file = database_.path(),
                                  .problem = "is damaged: " + what,
                                  .hint = "pass a new file to recompute the rows"});
}

}  // namespace attnscope
