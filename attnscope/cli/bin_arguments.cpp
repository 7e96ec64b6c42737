#include "attnscope/cli/bin_arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "attnscope/cli/arguments.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

std::optional<double> parse_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

ValueRange parse_range(const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  if (parts.size() == 2) {
    const auto low = parse_number(parts[0]), high = parse_number(parts[1]);
    if (low && high && *low < *high && std::isfinite(*high - *low)) return {*low, *high};
  }
  throw Error(ErrorKind::usage, "--range",
              "'" + text + "' is not two ascending numbers (for example: -0.8,0.8)");
}

}  // namespace

void add_bin_arguments(CLI::App& app, BinArguments& arguments, const BinRule& standard) {
  app.add_flag("--histogram", arguments.histogram,
               "add histograms: edges, counts, density, and how many fell outside");
  app.add_option("--bins", arguments.bins,
                 "a number of equal bins, or fd for the Freedman-Diaconis rule (default: " +
                     std::to_string(standard.bins) + ")")
      ->type_name("N|fd");
  app.add_option("--range", arguments.range,
                 "what the bins span (default: " + shortest_decimal(standard.range->low) + "," +
                     shortest_decimal(standard.range->high) + "; with fd from smallest to largest)")
      ->type_name("LO,HI");
}

BinRule parse_bins(const BinArguments& arguments, const BinRule& standard) {
  BinRule rule = standard;
  if (arguments.bins == "fd") {
    rule = {.freedman_diaconis = true};
  } else if (!arguments.bins.empty()) {
    const bool number = arguments.bins.find_first_not_of("0123456789") == std::string::npos;
    if (!number) {
      throw Error(ErrorKind::usage, "--bins",
                  "'" + arguments.bins + "' is neither fd nor a number of bins");
    }
    rule.bins = parse_integer("--bins", arguments.bins, 1, kMostBins);
  }
  if (!arguments.range.empty()) rule.range = parse_range(arguments.range);
  return rule;
}

void note_idle_bins(const BinArguments& arguments, RowSink& sink) {
  if (arguments.histogram || !arguments.any()) return;
  sink.add_note("{bins} and {range} have no effect without {histogram}");
}

}  // namespace attnscope
