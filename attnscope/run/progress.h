// How far a run is, and how long the rest of it will take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

namespace attnscope {

/// What a run counts, in words that live for ever.
struct CountedNoun {
  std::string_view one = "item", many = "items";
};

struct Progress {
  CountedNoun items;  // what is counted
  std::size_t items_done = 0, items_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;
  double flops_done = 0, flops_total = 0;  // done: with an estimate for the items under way
  double seconds = 0;                      // since the run started
  std::optional<double> seconds_left;      // none before an item has ended
};

/// Called ten times a second, and so also while one item takes long.
using ProgressFn = std::function<void(const Progress&)>;

/// Keeps count of a run. Times are seconds since its start.
class ProgressMeter {
 public:
  /// `total`: items, bytes and flops of the whole run.
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
  // Arithmetic and time of items that ended, the last ones weighing most: their ratio is the rate
  // of one thread.
  double recent_flops_ = 0;
  double recent_seconds_ = 0;
};

}  // namespace attnscope
