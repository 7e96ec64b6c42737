// Storage of finished rows in one SQLite file, with their origin. docs/store.md describes the
// tables.
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
  std::string name;     // "spectrum", "mla", …; decides the fields of the rows
  int revision = 1;     // incremented when the results change
  std::string command;  // the command that prints such rows
  Record parameters;    // exactly those that affect the results
};

/// Identity of a checkpoint file when it was opened.
struct StoredFile {
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of the inode: detects a change if modified_ns was reset
};

/// A tensor that rows were computed from.
struct StoredTensor {
  StoredFile file;
  std::string name;
  std::string hash;            // content_hash() of the tensor's bytes
  std::int64_t hashed_ns = 0;  // when the hash was computed
  bool fresh = false;          // hashed in this run, not read from the store

  /// Returns whether the hash is reliable. A file may be written twice within one tick of the file
  /// system's clock, so a hash computed soon after a change may belong to the earlier bytes.
  bool is_settled() const { return hashed_ns - file.changed_ns >= 3'000'000'000; }
};

struct StoredModel {
  std::string path;         // absolute path of the weights or their index
  std::string description;  // config.json or layout file; may be empty
  std::string described;    // content_hash() of the description
  std::string name;         // the model's name in rows
  Record facts;             // its entry in the `models` of a report
  std::vector<StoredFile> files;
};

/// Location of an item's rows.
struct StoredPlace {
  std::size_t model = 0;              // index into the run's models
  std::optional<std::int64_t> layer;  // empty for a tensor selected by name
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

/// The rows of one place, as read from the store.
struct StoredRows {
  std::size_t model = 0;  // index into the set's models
  std::optional<std::int64_t> layer;
  std::string matrix;
  std::int64_t position = 0;
  std::vector<Outcome> outcomes;
};

/// Data that all rows of one analysis share.
struct StoredSet {
  StoredAnalysis analysis;
  std::vector<Record> parameters;   // of the runs that placed the rows, without duplicates
  std::vector<StoredModel> models;  // without files
};

/// An open store. Thread-safe, and safe for use by several processes. All functions throw Error(io)
/// if the file cannot be read or written, Error(format) if it is damaged or not a store,
/// Error(unsupported) if its tables have another version.
class Store {
 public:
  /// Opens a store and creates the file if it does not exist. `version` is the version of the
  /// program, recorded with the run.
  static Store open(const std::string& path, const std::string& version);
  /// Opens an existing file for reading only.
  static Store open_to_read(const std::string& path);

  Store(Store&&) noexcept;
  ~Store();

  /// Path of the store file.
  const std::string& path() const;

  // ---- A run (one at a time)

  /// Starts a run. Deletes the places of rows whose model or description file has changed. Rows of
  /// an older revision of the analysis keep their places until find() or save() replaces them.
  void begin(const StoredRun& run);

  /// Returns the known hash of a tensor if the file has not changed since it was hashed.
  std::optional<StoredTensor> known_tensor(const StoredFile& file, const std::string& name);

  /// Returns the outcomes of an item of the run's analysis if it is finished, and records its
  /// places. `inputs` contains everything that the outcomes depend on, in addition to the analysis.
  std::optional<std::vector<Outcome>> find(const std::string& inputs,
                                           std::span<const StoredPlace> places);

  /// Saves an item and its places in one transaction. They are on the disk when this returns. If
  /// another process saved the item first, its outcomes are kept.
  void save(const std::string& inputs, std::span<const Outcome> outcomes,
            std::span<const StoredPlace> places);

  void finish();

  // ---- Contents

  struct SetModel {
    std::string name;
    std::string finished;  // when its last row was computed, UTC; empty if it has no places
  };
  struct SetEntry {
    std::int64_t id = 0;
    StoredAnalysis analysis;
    std::vector<SetModel> models;  // in the order of StoredSet
  };
  /// Returns the sets of the store. The first call of this function or for_each_rows() checks the
  /// whole file, which takes about a second per 100 MB. Throws Error(format) if the file is
  /// damaged.
  std::vector<SetEntry> sets();

  /// Passes the set to `begin`, then its rows to `add`, one place at a time. Rows are ordered by
  /// model, layer and matrix: in the order of the run's request, or in the usual order if several
  /// runs differ. Only one place is in memory at a time. All rows are from one moment, whatever
  /// other processes write meanwhile. `begin` and `add` must not call the store.
  void for_each_rows(std::int64_t id, const std::function<void(const StoredSet&)>& begin,
                     const std::function<void(const StoredRows&)>& add);

 private:
  class Connection;
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace attnscope
