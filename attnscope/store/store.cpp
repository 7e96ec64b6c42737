#include "attnscope/store/store.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/store/content_hash.h"
#include "attnscope/store/database.h"
#include "attnscope/store/record_text.h"
#include "attnscope/store/schema.h"

namespace attnscope {
namespace {

constexpr std::string_view kNow = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";

std::string with_now(std::string sql) {
  const std::size_t at = sql.find("$now");
  return sql.replace(at, 4, kNow);
}

/// SQLite would not notice a number that became another on the disk.
std::string digest_of_texts(std::initializer_list<std::string_view> texts) {
  Value::List list(texts.begin(), texts.end());
  return content_hash(record_text({{"texts", std::move(list)}}));
}

std::string analysis_digest(const StoredAnalysis& analysis, const std::string& parameters) {
  return digest_of_texts(
      {analysis.name, std::to_string(analysis.revision), analysis.command, parameters});
}

std::string item_digest(const std::string& inputs, std::span<const Outcome> outcomes) {
  Value::List list;
  for (const Outcome& outcome : outcomes) {
    list.emplace_back(Record{{"head", outcome.head},
                             {"fields", record_text(outcome.fields)},
                             {"skipped", outcome.skipped},
                             {"note", outcome.note}});
  }
  return content_hash(record_text({{"inputs", inputs}, {"outcomes", std::move(list)}}));
}

std::string place_digest(std::int64_t analysis, std::int64_t model,
                         std::optional<std::int64_t> layer, const std::string& matrix,
                         std::int64_t position, const std::string& item) {
  return content_hash(record_text({{"analysis", analysis},
                                   {"model", model},
                                   {"layer", layer},
                                   {"matrix", matrix},
                                   {"position", position},
                                   {"item", item}}));
}

std::int64_t signed_bytes(const StoredFile& file) { return static_cast<std::int64_t>(file.bytes); }

}  // namespace

class Store::Connection {
 public:
  Connection(const std::string& path, Database::Access access, std::string version)
      : database_(path, access), version_(std::move(version)) {}

  Database& database() { return database_; }
  std::mutex& mutex() { return mutex_; }

  void begin(const StoredRun& run);
  std::optional<StoredTensor> known_tensor(const StoredFile& file, const std::string& name);
  std::optional<std::vector<Outcome>> find(const std::string& inputs,
                                           std::span<const StoredPlace> places);
  void save(const std::string& inputs, std::span<const Outcome> outcomes,
            std::span<const StoredPlace> places);
  void finish();
  std::vector<Outcome> outcomes_of(std::int64_t item, const std::string& inputs,
                                   const std::string& digest);
  [[noreturn]] void refuse_damaged(const std::string& what) const;

 private:
  struct Item {
    std::int64_t id = 0;
    std::string digest;
  };

  std::int64_t id_of(std::string_view insert, std::string_view select,
                     std::span<const std::string> texts);
  void drop_outdated_places(std::int64_t model, const StoredModel& now, bool as_described,
                            const StoredAnalysis& analysis);
  std::optional<Item> find_item(const std::string& inputs);
  bool is_recorded(const Item& item, const StoredPlace& place);
  void record(const Item& item, const StoredPlace& place);
  std::int64_t tensor_id(const StoredTensor& tensor);
  void drop_place(std::int64_t place);
  std::string digest_of(const Item& item, const StoredPlace& place) const;

  Database database_;
  std::mutex mutex_;  // guards all the rest
  std::string version_;
  std::int64_t run_ = 0, analysis_ = 0, found_ = 0;
  std::vector<std::int64_t> models_;  // ids of the run's models
};

// ---- A run --------------------------------------------------------------------------------------

/// The id of a row that is made where it is not there; both statements take the same texts.
std::int64_t Store::Connection::id_of(std::string_view insert, std::string_view select,
                                      std::span<const std::string> texts) {
  for (const std::string_view sql : {insert, select}) {
    Statement statement = database_.prepare(sql);
    for (const std::string& text : texts) statement.bind(text);
    if (statement.step()) return statement.integer(0);
  }
  refuse_damaged("a row that was just written is not there");
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
    if (!found.step()) refuse_damaged("a row that was just written is not there");
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
    drop_outdated_places(models_.back(), model, as_described, analysis);
    database_.prepare("UPDATE models SET described = ? WHERE id = ?")
        .bind(model.described)
        .bind(models_.back())
        .run();
  }
  transaction.commit();
}

void Store::Connection::drop_outdated_places(std::int64_t model, const StoredModel& now,
                                             bool as_described, const StoredAnalysis& analysis) {
  const Value* layers = now.facts.find("layers");
  const std::int64_t* count = layers == nullptr ? nullptr : layers->get<std::int64_t>();
  std::vector<std::int64_t> outdated;
  Statement older = database_.prepare(
      "SELECT places.id FROM places JOIN analyses ON analyses.id = places.analysis "
      "WHERE model = ? AND name = ? AND parameters = ? AND revision < ?");
  older.bind(model)
      .bind(analysis.name)
      .bind(record_text(analysis.parameters))
      .bind(std::int64_t{analysis.revision});
  while (older.step()) outdated.push_back(older.integer(0));
  Statement places = database_.prepare(
      "SELECT places.id, layer, files.path, files.bytes, files.modified_ns FROM places "
      "JOIN place_tensors ON place_tensors.place = places.id "
      "JOIN tensors ON tensors.id = place_tensors.tensor JOIN files ON files.id = tensors.file "
      "WHERE places.model = ?");
  places.bind(model);
  while (places.step()) {
    const auto layer = places.optional_integer(1);
    const std::string path = places.text(2);
    const std::int64_t bytes = places.integer(3), modified = places.integer(4);
    const bool same_file =
        std::any_of(now.files.begin(), now.files.end(), [&](const StoredFile& file) {
          return file.path == path && signed_bytes(file) == bytes && file.modified_ns == modified;
        });
    const bool has_layer = !layer || count == nullptr || *layer < *count;
    if (!same_file || !has_layer || !as_described) outdated.push_back(places.integer(0));
  }
  for (const std::int64_t place : outdated) drop_place(place);
}

std::optional<StoredTensor> Store::Connection::known_tensor(const StoredFile& file,
                                                            const std::string& name) {
  Statement statement = database_.prepare(
      "SELECT hash, hashed_ns FROM tensors JOIN files ON files.id = tensors.file "
      "WHERE path = ? AND bytes = ? AND modified_ns = ? AND changed_ns = ? AND name = ? "
      "ORDER BY hashed_ns DESC LIMIT 1");
  statement.bind(file.path)
      .bind(signed_bytes(file))
      .bind(file.modified_ns)
      .bind(file.changed_ns)
      .bind(name);
  if (!statement.step()) return std::nullopt;
  StoredTensor tensor{
      .file = file, .name = name, .hash = statement.text(0), .hashed_ns = statement.integer(1)};
  if (!tensor.is_settled()) return std::nullopt;
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
  if (item_digest(inputs, outcomes) != digest) refuse_damaged("a stored row has changed");
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
  if (!item) refuse_damaged("a row that was just written is not there");
  for (std::size_t ordinal = 0; first && ordinal < outcomes.size(); ++ordinal) {
    const Outcome& outcome = outcomes[ordinal];
    database_
        .prepare(
            "INSERT INTO outcomes (item, ordinal, head, fields, skipped, note) "
            "VALUES (?, ?, ?, ?, ?, ?)")
        .bind(item->id)
        .bind(static_cast<std::int64_t>(ordinal))
        .bind(outcome.head)
        .bind(record_text(outcome.fields))
        .bind(outcome.skipped)
        .bind(outcome.note)
        .run();
  }
  for (const StoredPlace& place : places) record(*item, place);
  // Counted though another process may have been faster: the count says what was computed here.
  database_.prepare("UPDATE runs SET computed = computed + 1 WHERE id = ?").bind(run_).run();
  transaction.commit();
}

void Store::Connection::finish() {
  database_.prepare(with_now("UPDATE runs SET finished = $now, found = ? WHERE id = ?"))
      .bind(found_)
      .bind(run_)
      .run();
}

// ---- Places -------------------------------------------------------------------------------------

std::string Store::Connection::digest_of(const Item& item, const StoredPlace& place) const {
  return place_digest(analysis_, models_[place.model], place.layer, place.matrix, place.position,
                      item.digest);
}

bool Store::Connection::is_recorded(const Item& item, const StoredPlace& place) {
  Statement found = database_.prepare(
      "SELECT id FROM places WHERE analysis = ? AND model = ? AND ifnull(layer, -1) = ? "
      "AND matrix = ? AND item = ? AND digest = ?");
  found.bind(analysis_)
      .bind(models_[place.model])
      .bind(place.layer.value_or(-1))
      .bind(place.matrix)
      .bind(item.id)
      .bind(digest_of(item, place));
  if (!found.step()) return false;
  Statement tensors = database_.prepare(
      "SELECT path, bytes, modified_ns, changed_ns, name, hash FROM place_tensors "
      "JOIN tensors ON tensors.id = place_tensors.tensor JOIN files ON files.id = tensors.file "
      "WHERE place = ? ORDER BY ordinal");
  tensors.bind(found.integer(0));
  std::size_t at = 0;
  for (; tensors.step(); ++at) {
    if (at >= place.tensors.size()) return false;
    const StoredTensor& wanted = place.tensors[at];
    const bool same = tensors.text(0) == wanted.file.path &&
                      tensors.integer(1) == signed_bytes(wanted.file) &&
                      tensors.integer(2) == wanted.file.modified_ns &&
                      tensors.integer(3) == wanted.file.changed_ns &&
                      tensors.text(4) == wanted.name && tensors.text(5) == wanted.hash;
    // One that was hashed again is written, so that its hash is known from now on.
    if (!same || wanted.fresh) return false;
  }
  return at == place.tensors.size();
}

void Store::Connection::record(const Item& item, const StoredPlace& place) {
  Statement old = database_.prepare(
      "SELECT id FROM places WHERE analysis = ? AND model = ? AND ifnull(layer, -1) = ? "
      "AND matrix = ?");
  old.bind(analysis_).bind(models_[place.model]).bind(place.layer.value_or(-1)).bind(place.matrix);
  std::vector<std::int64_t> replaced;
  while (old.step()) replaced.push_back(old.integer(0));
  for (const std::int64_t id : replaced) drop_place(id);

  database_
      .prepare(
          "INSERT INTO places (analysis, model, layer, matrix, position, item, run, digest) "
          "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(analysis_)
      .bind(models_[place.model])
      .bind(place.layer)
      .bind(place.matrix)
      .bind(place.position)
      .bind(item.id)
      .bind(run_)
      .bind(digest_of(item, place))
      .run();
  const std::int64_t id = database_.last_row_id();
  for (std::size_t ordinal = 0; ordinal < place.tensors.size(); ++ordinal) {
    database_.prepare("INSERT INTO place_tensors (place, ordinal, tensor) VALUES (?, ?, ?)")
        .bind(id)
        .bind(static_cast<std::int64_t>(ordinal))
        .bind(tensor_id(place.tensors[ordinal]))
        .run();
  }
}

void Store::Connection::drop_place(std::int64_t place) {
  for (const std::string_view sql :
       {"DELETE FROM place_tensors WHERE place = ?", "DELETE FROM places WHERE id = ?"}) {
    database_.prepare(sql).bind(place).run();
  }
}

std::int64_t Store::Connection::tensor_id(const StoredTensor& tensor) {
  const std::string file_key[] = {tensor.file.path, std::to_string(tensor.file.bytes),
                                  std::to_string(tensor.file.modified_ns),
                                  std::to_string(tensor.file.changed_ns)};
  const std::int64_t file = id_of(
      "INSERT OR IGNORE INTO files (path, bytes, modified_ns, changed_ns) VALUES (?, ?, ?, ?)",
      "SELECT id FROM files WHERE path = ? AND bytes = ? AND modified_ns = ? AND changed_ns = ?",
      file_key);
  database_
      .prepare(
          "INSERT INTO tensors (file, name, hash, hashed_ns) VALUES (?, ?, ?, ?) "
          "ON CONFLICT (file, name, hash) DO UPDATE SET hashed_ns = excluded.hashed_ns")
      .bind(file)
      .bind(tensor.name)
      .bind(tensor.hash)
      .bind(tensor.hashed_ns)
      .run();
  Statement statement =
      database_.prepare("SELECT id FROM tensors WHERE file = ? AND name = ? AND hash = ?");
  statement.bind(file).bind(tensor.name).bind(tensor.hash);
  if (!statement.step()) refuse_damaged("a row that was just written is not there");
  return statement.integer(0);
}

void Store::Connection::refuse_damaged(const std::string& what) const {
  throw Error(ErrorKind::format, database_.path(),
              "is damaged: " + what + " (name a new file, and rows are computed again)");
}

// ---- Store --------------------------------------------------------------------------------------

Store::Store(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Store::Store(Store&&) noexcept = default;

Store::~Store() {
  if (connection_ != nullptr) connection_->database().drop_log();
}

Store Store::open(const std::string& path, const std::string& version) {
  auto connection = std::make_unique<Connection>(path, Database::Access::create, version);
  create_or_check_schema(connection->database());
  connection->database().use_log();
  return Store(std::move(connection));
}

Store Store::open_to_read(const std::string& path) {
  auto connection = std::make_unique<Connection>(path, Database::Access::existing, "");
  check_schema(connection->database());
  return Store(std::move(connection));
}

void Store::begin(const StoredRun& run) {
  const std::scoped_lock lock(connection_->mutex());
  connection_->begin(run);
}

std::optional<StoredTensor> Store::known_tensor(const StoredFile& file, const std::string& name) {
  const std::scoped_lock lock(connection_->mutex());
  return connection_->known_tensor(file, name);
}

std::optional<std::vector<Outcome>> Store::find(const std::string& inputs,
                                                std::span<const StoredPlace> places) {
  const std::scoped_lock lock(connection_->mutex());
  return connection_->find(inputs, places);
}

void Store::save(const std::string& inputs, std::span<const Outcome> outcomes,
                 std::span<const StoredPlace> places) {
  const std::scoped_lock lock(connection_->mutex());
  connection_->save(inputs, outcomes, places);
}

void Store::finish() {
  const std::scoped_lock lock(connection_->mutex());
  connection_->finish();
}

// ---- What is there ------------------------------------------------------------------------------

std::vector<Store::SetEntry> Store::sets() {
  const std::scoped_lock lock(connection_->mutex());
  const Database& database = connection_->database();
  std::vector<SetEntry> sets;
  Statement statement = database.prepare(
      "SELECT id, name, revision, command, parameters FROM analyses "
      "WHERE EXISTS (SELECT 1 FROM places WHERE places.analysis = analyses.id) ORDER BY id");
  while (statement.step()) {
    sets.push_back({.id = statement.integer(0),
                    .analysis = {.name = statement.text(1),
                                 .revision = static_cast<int>(statement.integer(2)),
                                 .command = statement.text(3),
                                 .parameters = parse_record(statement.text(4), database.path())}});
  }
  for (SetEntry& set : sets) {
    Statement names =
        database.prepare("SELECT name FROM analysed_models WHERE analysis = ? ORDER BY id");
    names.bind(set.id);
    while (names.step()) set.models.push_back(names.text(0));
  }
  return sets;
}

StoredSet Store::read_set(std::int64_t id) {
  const std::scoped_lock lock(connection_->mutex());
  Database& database = connection_->database();
  const Transaction snapshot(database, Transaction::For::reading);
  StoredSet set;
  Statement analysis = database.prepare(
      "SELECT name, revision, command, parameters, digest FROM analyses WHERE id = ?");
  analysis.bind(id);
  if (!analysis.step()) connection_->refuse_damaged("a set of rows is not there");
  set.analysis = {.name = analysis.text(0),
                  .revision = static_cast<int>(analysis.integer(1)),
                  .command = analysis.text(2),
                  .parameters = parse_record(analysis.text(3), database.path())};
  if (analysis_digest(set.analysis, analysis.text(3)) != analysis.text(4)) {
    connection_->refuse_damaged("an analysis has changed");
  }

  Statement parameters = database.prepare(
      "SELECT DISTINCT runs.command, runs.parameters, runs.digest FROM places "
      "JOIN runs ON runs.id = places.run WHERE places.analysis = ?");
  parameters.bind(id);
  while (parameters.step()) {
    if (digest_of_texts({parameters.text(0), parameters.text(1)}) != parameters.text(2)) {
      connection_->refuse_damaged("a run's parameters have changed");
    }
    set.parameters.push_back(parse_record(parameters.text(1), database.path()));
  }

  std::vector<std::int64_t> model_ids;
  Statement models = database.prepare(
      "SELECT models.id, path, description, name, facts, digest FROM analysed_models "
      "JOIN models ON models.id = analysed_models.model WHERE analysis = ? "
      "ORDER BY analysed_models.id");
  models.bind(id);
  while (models.step()) {
    if (digest_of_texts({models.text(3), models.text(4)}) != models.text(5)) {
      connection_->refuse_damaged("a model's facts have changed");
    }
    model_ids.push_back(models.integer(0));
    set.models.push_back({.path = models.text(1),
                          .description = models.text(2),
                          .name = models.text(3),
                          .facts = parse_record(models.text(4), database.path())});
  }

  Statement places = database.prepare(
      "SELECT model, layer, matrix, position, places.digest, items.id, items.inputs, items.digest "
      "FROM places JOIN items ON items.id = places.item WHERE places.analysis = ? "
      "ORDER BY layer, position, matrix");
  places.bind(id);
  while (places.step()) {
    const auto model = std::find(model_ids.begin(), model_ids.end(), places.integer(0));
    StoredRows rows{.layer = places.optional_integer(1),
                    .matrix = places.text(2),
                    .position = places.integer(3)};
    const std::string item_digest = places.text(7);
    const bool sound = place_digest(id, places.integer(0), rows.layer, rows.matrix, rows.position,
                                    item_digest) == places.text(4);
    if (model == model_ids.end() || !sound) connection_->refuse_damaged("a place has changed");
    rows.model = static_cast<std::size_t>(model - model_ids.begin());
    rows.outcomes = connection_->outcomes_of(places.integer(5), places.text(6), item_digest);
    set.rows.push_back(std::move(rows));
  }
  std::stable_sort(set.rows.begin(), set.rows.end(),
                   [](const StoredRows& a, const StoredRows& b) { return a.model < b.model; });
  return set;
}

}  // namespace attnscope
