// Places of rows: which item belongs to which matrix of which model, and from which tensors it was
// computed.
#include <algorithm>
#include <string>

#include "attnscope/engine/store/connection.h"
#include "attnscope/engine/store/digests.h"

namespace attnscope {

void Store::Connection::drop_outdated_places(std::int64_t model, const StoredModel& now,
                                             bool as_described) {
  const Value* layers = now.facts.find("layers");
  const std::int64_t* count = layers == nullptr ? nullptr : layers->get<std::int64_t>();
  std::vector<std::int64_t> outdated;
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
  // Deleting places because of a damaged row would lose them, so the file is checked first.
  if (!outdated.empty()) check_whole();
  for (const std::int64_t place : outdated) drop_place(place);
}

std::string Store::Connection::digest_of(const Item& item, const StoredPlace& place) const {
  return place_digest(analysis_, models_[place.model], place.layer, place.matrix, place.position,
                      item.digest);
}

/// Returns the ids of all places at this matrix, of the analysis and of its older revisions.
std::vector<std::int64_t> Store::Connection::places_at(const StoredPlace& place) {
  std::vector<std::int64_t> analyses = older_;
  analyses.push_back(analysis_);
  std::vector<std::int64_t> places;
  Statement found = database_.prepare(
      "SELECT id FROM places WHERE analysis = ? AND model = ? AND ifnull(layer, -1) = ? "
      "AND matrix = ?");
  for (const std::int64_t analysis : analyses) {
    found.bind(analysis)
        .bind(models_[place.model])
        .bind(place.layer.value_or(-1))
        .bind(place.matrix);
    while (found.step()) places.push_back(found.integer(0));
  }
  return places;
}

bool Store::Connection::is_recorded(const Item& item, const StoredPlace& place) {
  const std::vector<std::int64_t> there = places_at(place);
  if (there.size() != 1) return false;
  Statement found = database_.prepare(
      "SELECT 1 FROM places WHERE id = ? AND analysis = ? AND item = ? AND digest = ?");
  found.bind(there.front()).bind(analysis_).bind(item.id).bind(digest_of(item, place));
  if (!found.step()) return false;
  Statement tensors = database_.prepare(
      "SELECT path, bytes, modified_ns, changed_ns, name, hash FROM place_tensors "
      "JOIN tensors ON tensors.id = place_tensors.tensor JOIN files ON files.id = tensors.file "
      "WHERE place = ? ORDER BY ordinal");
  tensors.bind(there.front());
  std::size_t at = 0;
  for (; tensors.step(); ++at) {
    if (at >= place.tensors.size()) return false;
    const StoredTensor& wanted = place.tensors[at];
    const bool same = tensors.text(0) == wanted.file.path &&
                      tensors.integer(1) == signed_bytes(wanted.file) &&
                      tensors.integer(2) == wanted.file.modified_ns &&
                      tensors.integer(3) == wanted.file.changed_ns &&
                      tensors.text(4) == wanted.name && tensors.text(5) == wanted.hash;
    // A tensor that was hashed in this run is recorded, so that later runs know its hash.
    if (!same || wanted.fresh) return false;
  }
  return at == place.tensors.size();
}

void Store::Connection::record(const Item& item, const StoredPlace& place) {
  for (const std::int64_t id : places_at(place)) drop_place(id);
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
  Statement insert =
      database_.prepare("INSERT INTO place_tensors (place, ordinal, tensor) VALUES (?, ?, ?)");
  for (std::size_t ordinal = 0; ordinal < place.tensors.size(); ++ordinal) {
    insert.bind(id)
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
  if (!statement.step()) refuse_damaged("a row that was just written is missing");
  return statement.integer(0);
}

}  // namespace attnscope
