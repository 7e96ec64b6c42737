#include "attnscope/engine/store/schema.h"

#include <map>
#include <string>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

constexpr std::int64_t kApplicationId = 0x61747363;  // "atsc"

constexpr const char* kTables = R"sql(
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  started    TEXT NOT NULL,     -- UTC
  finished   TEXT,              -- UTC; NULL: stopped, or still running
  command    TEXT NOT NULL,
  parameters TEXT NOT NULL,     -- JSON: as requested
  version    TEXT NOT NULL,     -- of attnscope
  process    INTEGER NOT NULL,
  computed   INTEGER NOT NULL,  -- number of items computed by the run
  found      INTEGER,           -- number of items found in the store; set at the end
  digest     TEXT NOT NULL      -- XXH3 of command and parameters
);
CREATE TABLE analyses (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,     -- spectrum, mla, circuits, weights, similarity, ...
  revision   INTEGER NOT NULL,  -- incremented when the results change
  command    TEXT NOT NULL,     -- the command that prints its rows
  parameters TEXT NOT NULL,     -- JSON: all that affect the results
  digest     TEXT NOT NULL,     -- XXH3 of the columns above
  UNIQUE (name, revision, parameters)
);
CREATE TABLE models (
  id          INTEGER PRIMARY KEY,
  path        TEXT NOT NULL,    -- of the weights
  description TEXT NOT NULL,    -- config.json or layout file; empty for a tensor by name
  described   TEXT NOT NULL,    -- XXH3 of that file when the model was last opened
  UNIQUE (path, description)
);
CREATE TABLE analysed_models (
  id       INTEGER PRIMARY KEY,
  analysis INTEGER NOT NULL REFERENCES analyses,
  model    INTEGER NOT NULL REFERENCES models,
  name     TEXT NOT NULL,       -- the name in its rows
  facts    TEXT NOT NULL,       -- JSON: its entry in "models"
  digest   TEXT NOT NULL,       -- XXH3 of name and facts
  UNIQUE (analysis, model)
);
CREATE TABLE files (
  id          INTEGER PRIMARY KEY,
  path        TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL, -- since 1970
  changed_ns  INTEGER NOT NULL, -- change time of its inode
  UNIQUE (path, bytes, modified_ns, changed_ns)
);
CREATE TABLE tensors (
  id        INTEGER PRIMARY KEY,
  file      INTEGER NOT NULL REFERENCES files,
  name      TEXT NOT NULL,
  hash      TEXT NOT NULL,      -- XXH3, 128 bits, of its bytes
  hashed_ns INTEGER NOT NULL,
  UNIQUE (file, name, hash)
);
CREATE TABLE items (
  id       INTEGER PRIMARY KEY,
  analysis INTEGER NOT NULL REFERENCES analyses,
  inputs   TEXT NOT NULL,       -- JSON: all that its rows depend on, apart from the analysis
  run      INTEGER NOT NULL REFERENCES runs,
  finished TEXT NOT NULL,       -- UTC
  digest   TEXT NOT NULL,       -- XXH3 of inputs and outcomes
  UNIQUE (analysis, inputs)
);
CREATE TABLE outcomes (
  item    INTEGER NOT NULL REFERENCES items,
  ordinal INTEGER NOT NULL,
  head    INTEGER,              -- NULL: the whole matrix
  fields  TEXT NOT NULL,        -- JSON: the measures
  skipped TEXT NOT NULL,        -- why there are no fields; empty if there are
  note    TEXT NOT NULL,
  PRIMARY KEY (item, ordinal)
);
CREATE TABLE places (
  id       INTEGER PRIMARY KEY,
  analysis INTEGER NOT NULL REFERENCES analyses,
  model    INTEGER NOT NULL REFERENCES models,
  layer    INTEGER,             -- NULL: a tensor by name
  matrix   TEXT NOT NULL,
  position INTEGER NOT NULL,    -- index among the requested matrices
  item     INTEGER NOT NULL REFERENCES items,
  run      INTEGER NOT NULL REFERENCES runs,
  digest   TEXT NOT NULL        -- XXH3 of the content of the other columns
);
CREATE UNIQUE INDEX place_of_item ON places (analysis, model, ifnull(layer, -1), matrix);
CREATE TABLE place_tensors (
  place   INTEGER NOT NULL REFERENCES places,
  ordinal INTEGER NOT NULL,
  tensor  INTEGER NOT NULL REFERENCES tensors,
  PRIMARY KEY (place, ordinal)
) WITHOUT ROWID;
CREATE INDEX place_by_tensor ON place_tensors (tensor);
)sql";

// These indexes are not part of the versioned tables: opening a store for writing creates them if
// they are missing. Each duplicates columns that no digest covers, so that damage to them is
// detected.
constexpr const char* kLaterIndexes = R"sql(
CREATE INDEX place_by_run ON places (analysis, run);
CREATE INDEX model_by_description ON models (described);
)sql";

// Columns shared by the views of rows.
constexpr const char* kStoredRows = R"sql(
CREATE VIEW stored_rows AS
SELECT analyses.id AS "set", analyses.name AS analysis, analysed_models.name AS model,
       models.path AS path, places.layer AS layer, places.matrix AS matrix, outcomes.head AS head,
       outcomes.ordinal AS ordinal, outcomes.fields AS fields,
       nullif(outcomes.skipped, '') AS skipped, nullif(outcomes.note, '') AS note,
       analyses.parameters AS parameters, analyses.revision AS revision,
       items.run AS run, items.finished AS finished
FROM places
JOIN analyses ON analyses.id = places.analysis
JOIN models ON models.id = places.model
JOIN analysed_models ON analysed_models.analysis = places.analysis
                    AND analysed_models.model = places.model
JOIN items ON items.id = places.item
JOIN outcomes ON outcomes.item = items.id;
)sql";

constexpr const char* kSources = R"sql(
CREATE VIEW sources AS
SELECT analyses.id AS "set", analyses.name AS analysis, analysed_models.name AS model,
       places.layer AS layer, places.matrix AS matrix, files.path AS file, files.bytes AS bytes,
       files.modified_ns AS modified_ns, tensors.name AS tensor, tensors.hash AS hash,
       items.run AS run, runs.version AS version
FROM places
JOIN analyses ON analyses.id = places.analysis
JOIN models ON models.id = places.model
JOIN analysed_models ON analysed_models.analysis = places.analysis
                    AND analysed_models.model = places.model
JOIN items ON items.id = places.item
JOIN runs ON runs.id = items.run
JOIN place_tensors ON place_tensors.place = places.id
JOIN tensors ON tensors.id = place_tensors.tensor
JOIN files ON files.id = tensors.file;
)sql";

void create_schema(Database& database) {
  database.execute(kTables);
  database.execute(kLaterIndexes);
  database.execute(kStoredRows);
  for (const std::string& view : row_views()) database.execute(view.c_str());
  for (const std::string& view : attention_views()) database.execute(view.c_str());
  database.execute(kSources);
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(kStoreVersion);
  database.execute(marks.c_str());
}

/// Maps names such as "table runs" to the SQL that created the object.
using Objects = std::map<std::string, std::string>;

Objects objects_of(const Database& database) {
  Objects objects;
  Statement statement = database.prepare("SELECT type, name, sql FROM sqlite_schema");
  while (statement.step()) {
    objects[statement.text(0) + " " + statement.text(1)] = statement.text(2);
  }
  return objects;
}

Objects own_objects() {
  Database fresh = Database::in_memory();
  create_schema(fresh);
  return objects_of(fresh);
}

bool is_view(const std::string& object) { return object.starts_with("view "); }

bool is_later(const std::string& object) {
  return object == "index place_by_run" || object == "index model_by_description";
}

bool is_empty(const Database& database) {
  return database.number("PRAGMA application_id") == 0 &&
         database.number("PRAGMA user_version") == 0 &&
         database.number("SELECT count(*) FROM sqlite_schema") == 0;
}

/// Checks that tables are exactly as created. Views may come from another version, and objects
/// added by the user are ignored.
void check_tables(const Database& database, const Objects& own) {
  if (database.number("PRAGMA application_id") != kApplicationId) {
    throw Error(ErrorKind::format, {.file = database.path(),
                                    .problem = "is not an attnscope store",
                                    .hint = "pass another file or a new one"});
  }
  const std::int64_t version = database.number("PRAGMA user_version");
  const bool newer = version > kStoreVersion;
  if (newer || (0 < version && version < kStoreVersion)) {
    throw Error(
        ErrorKind::unsupported,
        {.file = database.path(),
         .problem = "is a store of version " + std::to_string(version) +
                    ", and this attnscope supports version " + std::to_string(kStoreVersion),
         .hint = newer ? "update attnscope or pass a new file"
                       : "pass a new file to recompute the rows"});
  }
  const Objects found = objects_of(database);
  for (const auto& [object, sql] : own) {
    const auto there = found.find(object);
    const bool absent = there == found.end(), same = !absent && there->second == sql;
    if (is_view(object) || (is_later(object) && (absent || same))) continue;
    if (version == kStoreVersion && same) continue;
    throw Error(ErrorKind::format,
                {.file = database.path(),
                 .problem = "is damaged: its " + object + " does not match the schema of a store",
                 .hint = "pass a new file to recompute the rows"});
  }
}

/// Makes views and later indexes match this program. A user's table with the name of a view is
/// kept.
void complete(Database& database, const Objects& own) {
  const auto lacking = [&](const Objects& found) {
    Objects objects;
    for (const auto& [object, sql] : own) {
      const auto there = found.find(object);
      if (there == found.end() || there->second != sql) objects[object] = sql;
    }
    return objects;
  };
  if (lacking(objects_of(database)).empty()) return;
  Transaction transaction(database);
  const Objects found = objects_of(database);  // another process may have changed them
  for (const auto& [object, sql] : lacking(found)) {
    const std::size_t kind_end = object.find(' ');
    if (found.contains(object)) {
      database.execute(("DROP VIEW " + object.substr(kind_end + 1)).c_str());
    }
    std::string create = sql;
    create.insert(std::string_view("CREATE ").size() + kind_end, " IF NOT EXISTS");
    database.execute(create.c_str());
  }
  transaction.commit();
}

}  // namespace

void check_schema(const Database& database) { check_tables(database, own_objects()); }

void create_or_check_schema(Database& database) {
  // A file of another program is read but never changed.
  if (is_empty(database)) {
    Transaction transaction(database);
    if (is_empty(database)) create_schema(database);
    transaction.commit();
  }
  const Objects own = own_objects();
  check_tables(database, own);
  complete(database, own);
}

}  // namespace attnscope
