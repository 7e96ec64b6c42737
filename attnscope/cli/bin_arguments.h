// The options that say how histograms are binned.
#pragma once

#include <string>

#include "attnscope/analysis/histogram.h"
#include "attnscope/results/sink.h"

namespace CLI {
class App;
}

namespace attnscope {

/// As typed; empty where not given.
struct BinArguments {
  std::string bins;
  std::string range;
  bool histogram = false;

  bool any() const { return histogram || !bins.empty() || !range.empty(); }
};

/// --histogram, --bins, --range; the help says what `standard` is.
void add_bin_arguments(CLI::App& app, BinArguments& arguments, const BinRule& standard);

/// `standard` with what was typed in its place. Throws Error(usage).
BinRule parse_bins(const BinArguments& arguments, const BinRule& standard);

/// Says in the report's notes where bins were chosen for a histogram that nobody asked for.
void note_idle_bins(const BinArguments& arguments, RowSink& sink);

}  // namespace attnscope
