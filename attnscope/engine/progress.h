// Progress of a run and an estimate of the time left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

namespace attnscope {

/// Name of the items that a run counts, as string literals.
struct CountedNoun {
  std::string_view one = "item", many = "items";
};

struct Progress {
  CountedNoun items;  // name of the counted items
  std::size_t items_done = 0, items_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;
  double flops_done = 0, flops_total = 0;  // `done` includes an estimate for running items
  double seconds = 0;                      // since the start of the run
  std::optional<double> seconds_left;      // empty until the first item has ended
};

/// Called ten times per second, even during a long item.
using ProgressFn = std::function<void(const Progress&)>;

/// Counts the progress of a run. Times are seconds since its start.
class ProgressMeter {
 public:
  /// `total`: items, bytes and FLOPs of the whole run.
  ProgressMeter(const Progress& total, std::size_t threads) : done_(total), threads_(threads) {}

  void start(std::size_t item, double flops, double now) { running_[item] = {flops, now}; }
  void finish(std::size_t item, std::uint64_t bytes, double now);

  Progress read(double now) const;

 private:
  struct Running {
    double flops = 0;
    double started = 0;
  };

  Progress done_;
  std::size_t threads_;
  std::map<std::size_t, Running> running_;
  // FLOPs and time of finished items, with higher weight for recent ones. Their ratio is the rate
  // of one thread.
  double recent_flops_ = 0;
  double recent_seconds_ = 0;
};

}  // namespace attnscope
