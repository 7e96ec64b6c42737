// Sums of second moments, kept on the disk until a plan is done: a run that was stopped goes on
// after the last batch of text that is in them, and layers whose sums left the memory need no other
// pass.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "attnscope/features/common/calibration/second_moments.h"
#include "attnscope/features/common/resume_files.h"

namespace attnscope {

/// Takes up to n (n + 1) / 2 float64 of the disk for each input of n elements. Where the disk is
/// full, or cannot be written, nothing is kept. Not for several threads.
class MomentsCache {
 public:
  /// Beside `made`, as ResumeFiles, whose `key` is a hash of the model and the text. Keeping takes
  /// at most `share` of the time that summing does.
  MomentsCache(const std::filesystem::path& made, const std::string& key, double share = 0.05);

  /// How many batches of the text are in the sums that were kept by this name, which `sums` has
  /// then; 0 and nothing where there are none, or not of the same inputs, or a byte is wrong.
  std::size_t take(const std::string& name, SecondMomentSums& sums);
  /// Keeps sums of so many batches, if enough was summed since the last time.
  void keep(const std::string& name, std::size_t batches, const SecondMomentSums& sums);

  void remove() const { files_.remove(); }

 private:
  using Clock = std::chrono::steady_clock;

  void write(const std::string& name, std::size_t batches, const SecondMomentSums& sums) const;

  ResumeFiles files_;
  double share_;
  bool keeps_ = true;
  Clock::time_point last_ = Clock::now();  // until when all is kept
  double bytes_per_second_ = 5e8;          // of this disk, once something was written
};

}  // namespace attnscope
