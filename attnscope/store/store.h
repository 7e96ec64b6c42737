// Finished rows in one SQLite file, with where they come from. docs/store.md describes the tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/results/outcome.h"
#include "attnscope/results/record.h"

namespace attnscope {

/// What was computed: rows of one analysis stand together when they are printed.
struct StoredAnalysis {
  std::string name;     // "spectrum", "mla", …: which fields the rows have
  int revision = 1;     // raised when the numbers change
  std::string command;  // that prints such rows
  Record parameters;    // all that decide the numbers, and no others
};

/// A file of a checkpoint as it was when it was opened.
struct StoredFile {
  std::string path;  // absolute
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;   // of its inode: what setting the other time back cannot hide
};

/// A tensor that rows were computed from.
struct StoredTensor {
  StoredFile file;
  std::string name;
  std::string hash;            // content_hash() of its bytes
  std::int64_t hashed_ns = 0;  // when that was computed
  bool fresh = false;          // in this run, not read from the store

  /// A file may be written to twice within one tick of the clock that stamps it: a hash that was
  /// computed so soon after a change may be of what was there before.
  bool is_settled() const { return hashed_ns - file.changed_ns >= 3'000'000'000; }
};

struct StoredModel {
  std::string path;         // of the weights or their index, absolute
  std::string description;  // config.json or layout file; empty where none was needed
  std::string described;    // content_hash() of that file
  std::string name;         // that its rows carry
  Record facts;             // the model's entry of a report
  std::vector<StoredFile> files;
};

/// Where an item's rows stand.
struct StoredPlace {
  std::size_t model = 0;              // index into the run's models
  std::optional<std::int64_t> layer;  // none for a tensor by name
  std::string matrix;
  std::int64_t position = 0;  // among the matrices of its layer, as they were asked for
  std::vector<StoredTensor> tensors;
};

/// One run of a command that keeps its rows.
struct StoredRun {
  StoredAnalysis analysis;
  Record parameters;  // as the report says them
  std::vector<StoredModel> models;
};

/// Rows of one place, read back.
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
  std::vector<Record> parameters;   // of the runs that placed the rows, each once
  std::vector<StoredModel> models;  // without files
};

/// An open store. Safe to use from several threads, and beside other processes. Everything throws
/// Error(io) where the file cannot be read or written, Error(format) where it is damaged or
/// foreign, Error(unsupported) where a newer program wrote it.
class Store {
 public:
  /// Makes the file where there is none. `version` is the program's, for the run's entry.
  static Store open(const std::string& path, const std::string& version);
  /// For reading only; there must be a file.
  static Store open_to_read(const std::string& path);

  Store(Store&&) noexcept;
  ~Store();

  // ---- A run: one at a time

  /// Rows lose their places where a file of the model, or the one that describes it, has changed
  /// since. Those of an older revision of the analysis keep them until find() or save() puts rows
  /// of this one there.
  void begin(const StoredRun& run);

  /// The hash of a tensor of a file that is exactly as it was when it was hashed.
  std::optional<StoredTensor> known_tensor(const StoredFile& file, const std::string& name);

  /// The outcomes of an item of the run's analysis, if it is finished; its places are recorded.
  /// `inputs` names all that the outcomes depend on beside the analysis.
  std::optional<std::vector<Outcome>> find(const std::string& inputs,
                                           std::span<const StoredPlace> places);

  /// Keeps an item and its places, wholly or not at all: it is on the disk when this returns. Where
  /// another process was faster, its outcomes stay.
  void save(const std::string& inputs, std::span<const Outcome> outcomes,
            std::span<const StoredPlace> places);

  void finish();

  // ---- What is there

  struct SetModel {
    std::string name;
    std::string finished;  // when its last row was computed, UTC; empty where it has no places
  };
  struct SetEntry {
    std::int64_t id = 0;
    StoredAnalysis analysis;
    std::vector<SetModel> models;  // in the order of StoredSet
  };
  /// What follows is known to be whole: the first call reads the file from end to end (a second for
  /// 100 MB), and throws Error(format) where a page does not fit the others.
  std::vector<SetEntry> sets();

  /// Hands the set to `begin`, then its rows to `add`, a place at a time: by model and layer, then
  /// as the run asked for the matrices; in the usual order of matrices where several runs asked
  /// differently. Nothing else of the rows is in memory. All is of one moment, whatever others
  /// write meanwhile; `begin` and `add` must not call the store.
  void for_each_rows(std::int64_t id, const std::function<void(const StoredSet&)>& begin,
                     const std::function<void(const StoredRows&)>& add);

 private:
  class Connection;
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace attnscope
