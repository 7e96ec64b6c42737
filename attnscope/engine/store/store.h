// Finished rows in one SQLite file, with their origin. docs/store.md describes the tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/outcome.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// An analysis with its parameters. Its rows are printed together, as one set.
struct StoredAnalysis {
  std::string name;     // "spectrum", "mla", …: which fields the rows have
  int revision = 1;     // raised when the numbers change
  std::string command;  // the command that prints such rows
  Record parameters;    // exactly those that decide the numbers
};

/// A file of a checkpoint as it was when it was opened.
struct StoredFile {
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of its inode: shows a change even if modified_ns was set back
};

/// A tensor that rows were computed from.
struct StoredTensor {
  StoredFile file;
  std::string name;
  std::string hash;            // content_hash() of the tensor's bytes
  std::int64_t hashed_ns = 0;  // when the hash was computed
  bool fresh = false;          // hashed in this run, not read from the store

  /// A file may be written to twice within one tick of the file system's clock. So a hash that was
  /// computed soon after a change may be of the earlier bytes.
  bool is_settled() const { return hashed_ns - file.changed_ns >= 3'000'000'000; }
};

struct StoredModel {
  std::string path;         // absolute path of the weights or their index
  std::string description;  // config.json or layout file; empty if none was needed
  std::string described;    // content_hash() of the description
  std::string name;         // the model's name in rows
  Record facts;             // its entry in a report's models
  std::vector<StoredFile> files;
};

/// Where an item's rows belong.
struct StoredPlace {
  std::size_t model = 0;              // index into the run's models
  std::optional<std::int64_t> layer;  // none for a tensor by name
  std::string matrix;
  std::int64_t position = 0;  // index among the requested matrices of its layer
  std::vector<StoredTensor> tensors;
};

/// One run of a command that stores its rows.
struct StoredRun {
  StoredAnalysis analysis;
  Record parameters;  // as in the report
  std::vector<StoredModel> models;
};

/// The rows of one place, read back.
struct StoredRows {
  std::size_t model = 0;  // index into the set's models
  std::optional<std::int64_t> layer;
  std::string matrix;
  std::int64_t position = 0;
  std::vector<Outcome> outcomes;
};

/// What all rows of one analysis share.
struct StoredSet {
  StoredAnalysis analysis;
  std::vector<Record> parameters;   // of the runs that placed the rows, without duplicates
  std::vector<StoredModel> models;  // without files
};

/// An open store. Safe to use from several threads, and beside other processes. All functions throw
/// Error(io) if the file cannot be read or written, Error(format) if it is damaged or not a store,
/// Error(unsupported) if its tables have another version.
class Store {
 public:
  /// Creates the file if there is none. `version` is the program's, recorded with the run.
  static Store open(const std::string& path, const std::string& version);
  /// Opens an existing file for reading only.
  static Store open_to_read(const std::string& path);

  Store(Store&&) noexcept;
  ~Store();

  /// Of its file.
  const std::string& path() const;

  // ---- A run: one at a time

  /// Starts a run. Rows lose their places if a file of the model, or the file that describes it,
  /// has changed. Rows of an older revision of the analysis keep their places until find() or
  /// save() replaces them.
  void begin(const StoredRun& run);

  /// The known hash of a tensor, if the file has not changed since it was hashed.
  std::optional<StoredTensor> known_tensor(const StoredFile& file, const std::string& name);

  /// The outcomes of an item of the run's analysis, if it is finished; records its places. `inputs`
  /// names everything that the outcomes depend on beside the analysis.
  std::optional<std::vector<Outcome>> find(const std::string& inputs,
                                           std::span<const StoredPlace> places);

  /// Saves an item and its places in one transaction; they are on the disk when this returns. If
  /// another process was faster, its outcomes stay.
  void save(const std::string& inputs, std::span<const Outcome> outcomes,
            std::span<const StoredPlace> places);

  void finish();

  // ---- What is there

  struct SetModel {
    std::string name;
    std::string finished;  // when its last row was computed, UTC; empty if it has no places
  };
  struct SetEntry {
    std::int64_t id = 0;
    StoredAnalysis analysis;
    std::vector<SetModel> models;  // in the order of StoredSet
  };
  /// This and the next function check the whole file on the first call (a second for 100 MB), and
  /// throw Error(format) if it is damaged.
  std::vector<SetEntry> sets();

  /// Gives the set to `begin`, then its rows to `add`, a place at a time: by model, layer, and
  /// matrix in the order of the run's request, or in the usual order if several runs differ. Only
  /// one place is in memory at a time. All rows are from one moment, whatever others write
  /// meanwhile. `begin` and `add` must not call the store.
  void for_each_rows(std::int64_t id, const std::function<void(const StoredSet&)>& begin,
                     const std::function<void(const StoredRows&)>& add);

 private:
  class Connection;
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace attnscope
