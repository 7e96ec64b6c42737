#include "attnscope/store/schema.h"

#include <map>
#include <string>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

constexpr std::int64_t kApplicationId = 0x61747363;  // "atsc"

constexpr const char* kTables = R"sql(
CREATE TABLE runs (
  id         INTEGER PRIMARY KEY,
  started    TEXT NOT NULL,     -- UTC
  finished   TEXT,              -- UTC; NULL: it was stopped, or is running
  command    TEXT NOT NULL,
  parameters TEXT NOT NULL,     -- JSON: what was asked
  version    TEXT NOT NULL,     -- of attnscope
  process    INTEGER NOT NULL,
  computed   INTEGER NOT NULL,  -- items that it computed
  found      INTEGER,           -- items that were there, known when it has finished
  digest     TEXT NOT NULL      -- XXH3 of command and parameters
);
CREATE TABLE analyses (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,     -- spectrum, mla, circuits, weights, similarity, ...
  revision   INTEGER NOT NULL,  -- rises when the numbers change
  command    TEXT NOT NULL,     -- that prints its rows
  parameters TEXT NOT NULL,     -- JSON: all that decide the numbers
  digest     TEXT NOT NULL,     -- XXH3 of the columns above
  UNIQUE (name, revision, parameters)
);
CREATE TABLE models (
  id          INTEGER PRIMARY KEY,
  path        TEXT NOT NULL,    -- of the weights
  description TEXT NOT NULL,    -- config.json or layout file; empty for a tensor by name
  described   TEXT NOT NULL,    -- XXH3 of that file when the model was last looked at
  UNIQUE (path, description)
);
CREATE TABLE analysed_models (
  id       INTEGER PRIMARY KEY,
  analysis INTEGER NOT NULL REFERENCES analyses,
  model    INTEGER NOT NULL REFERENCES models,
  name     TEXT NOT NULL,       -- that its rows carry
  facts    TEXT NOT NULL,       -- JSON: its entry of "models"
  digest   TEXT NOT NULL,       -- XXH3 of name and facts
  UNIQUE (analysis, model)
);
CREATE TABLE files (
  id          INTEGER PRIMARY KEY,
  path        TEXT NOT NULL,
  bytes       INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL, -- since 1970
  changed_ns  INTEGER NOT NULL, -- the same of its inode
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
  inputs   TEXT NOT NULL,       -- JSON: all that its rows depend on beside the analysis
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
  skipped TEXT NOT NULL,        -- why there are none; empty where there are
  note    TEXT NOT NULL,
  PRIMARY KEY (item, ordinal)
);
CREATE TABLE places (
  id       INTEGER PRIMARY KEY,
  analysis INTEGER NOT NULL REFERENCES analyses,
  model    INTEGER NOT NULL REFERENCES models,
  layer    INTEGER,             -- NULL: a tensor by name
  matrix   TEXT NOT NULL,
  position INTEGER NOT NULL,    -- among the matrices that were asked for
  item     INTEGER NOT NULL REFERENCES items,
  run      INTEGER NOT NULL REFERENCES runs,
  digest   TEXT NOT NULL        -- XXH3 of what the other columns stand for
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

// One view for each kind of rows; `stored_rows` is what they have in common.
constexpr const char* kViews = R"sql(
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
CREATE VIEW spectrum AS
SELECT "set", model, path, layer, matrix, head,
       json_extract(fields, '$.shape[0]') AS shape_0, json_extract(fields, '$.shape[1]') AS shape_1,
       json_extract(fields, '$.energy_rank."0.9"') AS "energy_rank_0.9",
       json_extract(fields, '$.energy_rank."0.99"') AS "energy_rank_0.99",
       json_extract(fields, '$.null_energy_rank."0.9"') AS "null_energy_rank_0.9",
       json_extract(fields, '$.null_energy_rank."0.99"') AS "null_energy_rank_0.99",
       json_extract(fields, '$.energy_rank') AS energy_rank,
       json_extract(fields, '$.null_energy_rank') AS null_energy_rank,
       json_extract(fields, '$.energy_at_rank') AS energy_at_rank,
       json_extract(fields, '$.null_energy_at_rank') AS null_energy_at_rank,
       json_extract(fields, '$.stable_rank') AS stable_rank, json_extract(fields,
       '$.entropy_rank') AS entropy_rank,
       json_extract(fields, '$.participation_ratio') AS participation_ratio,
       json_extract(fields, '$.numerical_rank') AS numerical_rank,
       json_extract(fields, '$.possible_rank') AS possible_rank,
       json_extract(fields, '$.spectral_norm') AS spectral_norm,
       json_extract(fields, '$.frobenius_norm') AS frobenius_norm,
       json_extract(fields, '$.nuclear_norm') AS nuclear_norm,
       json_extract(fields, '$.condition_number') AS condition_number,
       json_extract(fields, '$.singular_values') AS singular_values,
       json_extract(fields, '$.cumulative_energy') AS cumulative_energy, skipped, note
FROM stored_rows WHERE analysis = 'spectrum';
CREATE VIEW mla AS
SELECT "set", model, path, layer, matrix,
       json_extract(fields, '$.latent.possible_rank') AS possible_rank, json_extract(fields,
       '$.latent.rank') AS rank,
       json_extract(fields, '$.latent.energy') AS energy, json_extract(fields,
       '$.latent.null_energy') AS null_energy,
       json_extract(fields, '$.latent.share_rank') AS share_rank,
       json_extract(fields, '$.latent.share_energy') AS share_energy,
       json_extract(fields, '$.latent.share_null_energy') AS share_null_energy,
       json_extract(fields, '$.latent.energy_rank."0.9"') AS "energy_rank_0.9",
       json_extract(fields, '$.latent.energy_rank."0.99"') AS "energy_rank_0.99",
       json_extract(fields, '$.latent.energy_rank') AS energy_rank,
       json_extract(fields, '$.latent.null_energy_rank') AS null_energy_rank, skipped, note
FROM stored_rows WHERE analysis = 'mla';
CREATE VIEW circuits AS
SELECT "set", model, path, layer, matrix AS circuit, head,
       json_extract(fields, '$.energy_rank."0.9"') AS "energy_rank_0.9",
       json_extract(fields, '$.energy_rank."0.99"') AS "energy_rank_0.99",
       json_extract(fields, '$.energy_rank') AS energy_rank, json_extract(fields,
       '$.factor_rank') AS factor_rank,
       json_extract(fields, '$.head_space_rank') AS head_space_rank, json_extract(fields,
       '$.overlap') AS overlap,
       json_extract(fields, '$.head_space_overlap') AS head_space_overlap,
       json_extract(fields, '$.identity_cosine') AS identity_cosine,
       json_extract(fields, '$.identity_cosine_bound') AS identity_cosine_bound,
       json_extract(fields, '$.identity_distance') AS identity_distance,
       json_extract(fields, '$.identity_scale') AS identity_scale,
       json_extract(fields, '$.identity_residual') AS identity_residual, json_extract(fields,
       '$.symmetry') AS symmetry,
       json_extract(fields, '$.positive_fraction') AS positive_fraction,
       json_extract(fields, '$.copying_score') AS copying_score,
       json_extract(fields, '$.frobenius_norm') AS frobenius_norm,
       json_extract(fields, '$.possible_rank') AS possible_rank,
       json_extract(parameters, '$.fold_norm') AS fold_norm, json_extract(parameters,
       '$.with_bias') AS with_bias,
       json_extract(parameters, '$.rope_offset') AS rope_offset, skipped, note
FROM stored_rows WHERE analysis = 'circuits';
CREATE VIEW composition AS
SELECT "set", model, path, json_extract(fields, '$.kind') AS kind, json_extract(fields,
       '$.layer') AS layer,
       json_extract(fields, '$.head') AS head, json_extract(fields, '$.to_layer') AS to_layer,
       json_extract(fields, '$.to_head') AS to_head, json_extract(fields, '$.score') AS score,
       json_extract(fields, '$.excess') AS excess
FROM stored_rows WHERE analysis = 'composition' AND json_extract(fields, '$.kind') IS NOT NULL;
CREATE VIEW weights AS
SELECT "set", model, path, layer, matrix, head, json_extract(fields, '$.count') AS count,
       json_extract(fields, '$.mean') AS mean, json_extract(fields, '$.std') AS std,
       json_extract(fields, '$.min') AS min,
       json_extract(fields, '$.max') AS max, json_extract(fields, '$.skewness') AS skewness,
       json_extract(fields, '$.excess_kurtosis') AS excess_kurtosis,
       json_extract(fields, '$.quantiles."0.01"') AS "quantiles_0.01",
       json_extract(fields, '$.quantiles."0.05"') AS "quantiles_0.05",
       json_extract(fields, '$.quantiles."0.25"') AS "quantiles_0.25",
       json_extract(fields, '$.quantiles."0.5"') AS "quantiles_0.5",
       json_extract(fields, '$.quantiles."0.75"') AS "quantiles_0.75",
       json_extract(fields, '$.quantiles."0.95"') AS "quantiles_0.95",
       json_extract(fields, '$.quantiles."0.99"') AS "quantiles_0.99",
       json_extract(fields, '$.histogram') AS histogram, skipped, note
FROM stored_rows WHERE analysis = 'weights';
CREATE VIEW similarity AS
SELECT "set", model, path, layer, matrix, json_extract(fields, '$.scope') AS scope,
       json_extract(fields, '$.pairs') AS pairs, json_extract(fields,
       '$.zero_vectors') AS zero_vectors,
       json_extract(fields, '$.mean') AS mean, json_extract(fields, '$.std') AS std,
       json_extract(fields, '$.histogram') AS histogram, skipped, note
FROM stored_rows WHERE analysis = 'similarity';
CREATE VIEW head_overlap AS
SELECT "set", model, path, layer, matrix, json_extract(fields, '$.overlap') AS overlap,
       json_extract(fields, '$.ranks') AS ranks, skipped, note
FROM stored_rows WHERE analysis = 'head_overlap';
CREATE VIEW head_matrix AS
SELECT "set", model, path, layer, matrix, head, json_extract(fields, '$.row') AS "row",
       json_extract(fields, '$.values') AS "values", skipped, note
FROM stored_rows WHERE analysis = 'head_matrix';
CREATE VIEW sources AS
SELECT analyses.id AS "set", analyses.name AS analysis, analysed_models.name AS model,
       places.layer AS layer, places.matrix AS matrix, files.path AS file, files.bytes AS bytes,
       files.modified_ns AS modified_ns, tensors.name AS tensor, tensors.hash AS hash,
       items.run AS run, runs.version AS version
FROM places
JOIN analyses ON analyses.id = places.analysis
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
  database.execute(kViews);
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(kStoreVersion);
  database.execute(marks.c_str());
}

/// "table runs" → the text that made it.
std::map<std::string, std::string> objects_of(const Database& database) {
  std::map<std::string, std::string> objects;
  Statement statement = database.prepare("SELECT type, name, sql FROM sqlite_schema");
  while (statement.step()) {
    objects[statement.text(0) + " " + statement.text(1)] = statement.text(2);
  }
  return objects;
}

bool is_empty(const Database& database) {
  return database.number("PRAGMA application_id") == 0 &&
         database.number("PRAGMA user_version") == 0 &&
         database.number("SELECT count(*) FROM sqlite_schema") == 0;
}

}  // namespace

void check_schema(const Database& database) {
  if (database.number("PRAGMA application_id") != kApplicationId) {
    throw Error(ErrorKind::format, database.path(),
                "is no store of attnscope (name another file, or a new one)");
  }
  const std::int64_t version = database.number("PRAGMA user_version");
  if (version > kStoreVersion) {
    throw Error(ErrorKind::unsupported, database.path(),
                "is a store of version " + std::to_string(version) + ", and this attnscope knows " +
                    std::to_string(kStoreVersion) + " (update attnscope, or name a new file)");
  }
  Database fresh = Database::in_memory();
  create_schema(fresh);
  const auto found = objects_of(database);
  // What a user has added is the user's.
  for (const auto& [name, sql] : objects_of(fresh)) {
    const auto own = found.find(name);
    if (version == kStoreVersion && own != found.end() && own->second == sql) continue;
    throw Error(ErrorKind::format, database.path(),
                "is damaged: its " + name +
                    " is not that of a store (name a new file, and rows are computed again)");
  }
}

void create_or_check_schema(Database& database) {
  // A file of another program is looked at, never changed.
  if (is_empty(database)) {
    Transaction transaction(database);
    if (is_empty(database)) create_schema(database);
    transaction.commit();
  }
  check_schema(database);
}

}  // namespace attnscope
