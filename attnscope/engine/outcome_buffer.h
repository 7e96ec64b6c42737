// Buffer of finished outcomes: the largest items are computed first, but rows are written in
// another order.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "attnscope/base/temporary_file.h"
#include "attnscope/engine/outcome.h"

namespace attnscope {

/// Keeps the outcomes of jobs in memory up to a limit, then in a temporary file. Items that share
/// outcomes form one job. Thread-safe.
class OutcomeBuffer {
 public:
  explicit OutcomeBuffer(std::size_t memory_bytes = std::size_t{32} << 20)
      : memory_bytes_(memory_bytes), spool_(/*memory_bytes=*/0) {}

  void put(std::size_t job, std::vector<Outcome> outcomes);
  bool has(std::size_t job) const;
  /// Returns the outcomes of a job for which has() is true. They stay in the buffer until drop().
  std::vector<Outcome> get(std::size_t job);
  void drop(std::size_t job);

 private:
  struct Entry {
    std::vector<Outcome> outcomes;  // empty if they are in the file
    std::size_t buffered_bytes = 0;
    std::uint64_t offset = 0;
    std::size_t length = 0;  // in the file; 0: in memory
  };

  mutable std::mutex mutex_;  // guards all members below
  const std::size_t memory_bytes_;
  std::size_t buffered_bytes_ = 0;
  std::map<std::size_t, Entry> entries_;
  Spool spool_;
};

}  // namespace attnscope
