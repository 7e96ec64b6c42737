// Implementation of Store, private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/store/database.h"
#include "attnscope/engine/store/store.h"

namespace attnscope {

/// SQLite integers are signed.
inline std::int64_t signed_bytes(const StoredFile& file) {
  return static_cast<std::int64_t>(file.bytes);
}

/// One connection and its run. Not thread-safe: callers lock mutex().
class Store::Connection {
 public:
  Connection(const std::string& path, Database::Access access, std::string version);

  Database& database() { return database_; }
  std::mutex& mutex() { return mutex_; }

  void begin(const StoredRun& run);
  std::optional<StoredTensor> known_tensor(const StoredFile& file, const std::string& name);
  std::optional<std::vector<Outcome>> find(const std::string& inputs,
                                           std::span<const StoredPlace> places);
  void save(const std::string& inputs, std::span<const Outcome> outcomes,
            std::span<const StoredPlace> places);
  void finish();

  std::vector<SetEntry> sets();
  void for_each_rows(std::int64_t id, const std::function<void(const StoredSet&)>& begin,
                     const std::function<void(const StoredRows&)>& add);

 private:
  struct Item {
    std::int64_t id = 0;
    std::string digest;
  };

  // connection.cpp
  std::int64_t id_of(std::string_view insert, std::string_view select,
                     std::span<const std::string> texts);
  std::optional<Item> find_item(const std::string& inputs);
  std::vector<Outcome> outcomes_of(std::int64_t item, const std::string& inputs,
                                   const std::string& digest);

  // row_places.cpp
  void drop_outdated_places(std::int64_t model, const StoredModel& now, bool as_described);
  std::vector<std::int64_t> places_at(const StoredPlace& place);
  bool is_recorded(const Item& item, const StoredPlace& place);
  void record(const Item& item, const StoredPlace& place);
  std::int64_t tensor_id(const StoredTensor& tensor);
  void drop_place(std::int64_t place);
  std::string digest_of(const Item& item, const StoredPlace& place) const;

  // read_rows.cpp
  void check_whole();
  StoredAnalysis analysis_of(const Statement& row) const;
  std::vector<Record> parameters_of(std::int64_t set);

  [[noreturn]] void refuse_damaged(const std::string& what) const;

  Database database_;
  std::mutex mutex_;  // guards all members below
  std::string version_;
  bool whole_ = false;  // whether check_whole() has succeeded
  std::int64_t run_ = 0, analysis_ = 0, found_ = 0;
  std::vector<std::int64_t> older_;   // ids of older revisions of the run's analysis
  std::vector<std::int64_t> models_;  // ids of the run's models
};

}  // namespace attnscope
