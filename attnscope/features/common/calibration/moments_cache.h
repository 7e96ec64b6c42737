// Sums of second moments, cached on disk until a plan is finished. A stopped run resumes after the
// last batch in the cache, and layers whose sums no longer fit in memory need no further pass.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "attnscope/features/common/calibration/second_moments.h"
#include "attnscope/features/common/resume_files.h"

namespace attnscope {

/// Uses up to n (n + 1) / 2 float64 values on disk per input of n elements. If the disk is full or
/// not writable, nothing is cached. Not thread-safe.
class MomentsCache {
 public:
  /// `made`, `key`: see ResumeFiles; the key is a hash of the model and the text. Writing takes at
  /// most `share` of the time of summing.
  MomentsCache(const std::filesystem::path& made, const std::string& key, double share = 0.05);

  /// Loads the sums cached under this name into `sums` and returns their number of batches. Returns
  /// 0 and loads nothing if there are none, if they are for other inputs, or if they are corrupt.
  std::size_t take(const std::string& name, SecondMomentSums& sums);
  /// Caches the sums of this many batches, if enough was summed since the last time.
  void keep(const std::string& name, std::size_t batches, const SecondMomentSums& sums);

  void remove() const { files_.remove(); }

 private:
  using Clock = std::chrono::steady_clock;

  void write(const std::string& name, std::size_t batches, const SecondMomentSums& sums) const;

  ResumeFiles files_;
  double share_;
  bool keeps_ = true;
  Clock::time_point last_ = Clock::now();  // end of the current write
  double bytes_per_second_ = 5e8;          // of this disk; empty before the first write
};

}  // namespace attnscope
