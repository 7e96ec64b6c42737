#include "attnscope/engine/progress.h"

#include <algorithm>

namespace attnscope {
namespace {

/// Decay of the weight of older items. Items run in order of decreasing size, and small items run
/// at a lower rate.
constexpr double kMemory = 0.9;

/// Upper limit of the estimated finished share of a running item, even if it takes longer than
/// predicted.
constexpr double kMaxDone = 0.95;

}  // namespace

void ProgressMeter::finish(std::size_t item, std::uint64_t bytes, double now) {
  const auto found = running_.find(item);
  const auto [flops, started] = found->second;
  running_.erase(found);
  ++done_.items_done;
  done_.bytes_done += bytes;
  done_.flops_done += flops;
  recent_flops_ = kMemory * recent_flops_ + flops;
  recent_seconds_ = kMemory * recent_seconds_ + (now - started);
}

Progress ProgressMeter::read(double now) const {
  Progress progress = done_;
  progress.seconds = now;
  if (!(recent_flops_ > 0 && recent_seconds_ > 0)) return progress;
  const double rate = recent_flops_ / recent_seconds_;
  double longest = 0;  // a run cannot end before its longest item
  for (const auto& [item, running] : running_) {
    const double done = std::min(rate * (now - running.started), kMaxDone * running.flops);
    progress.flops_done += done;
    longest = std::max(longest, (running.flops - done) / rate);
  }
  const double left = progress.flops_total - progress.flops_done;
  progress.seconds_left = std::max(longest, left / (rate * static_cast<double>(threads_)));
  return progress;
}

}  // namespace attnscope
