#include "attnscope/features/common/options/shared_options.h"

#include <optional>

#include "attnscope/base/text.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/rows/writers.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxThreads = 256;

/// Endings by which files of rows are known, and `more`.
std::vector<std::string> report_endings(std::vector<std::string> more) {
  for (const Format& format : formats()) {
    if (!format.ending.empty()) more.emplace_back(format.ending);
  }
  return more;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) names.emplace_back(format.name);
  return names;
}

}  // namespace

Parameters joined(std::initializer_list<Parameters> groups) {
  Parameters all;
  for (const Parameters& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::vector<Exclusion> joined_exclusions(std::vector<Exclusion> some,
                                         const std::vector<Exclusion>& more) {
  some.insert(some.end(), more.begin(), more.end());
  return some;
}

Parameters model_parameters() {
  return {
      {.name = "models",
       .type = models,
       .help = "folders with config.json and weights, weights files beside their config.json, or "
               "names on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*",
       .positional = true,
       .metavariable = "MODEL",
       .missing = "name a folder with config.json and weights"},
      {.name = "layout",
       .type = file,
       .help = "a JSON file that describes the checkpoint, in place of config.json",
       .metavariable = "FILE"},
      {.name = "stack",
       .type = choice,
       .help = "of models of several stacks, this one; MODEL:STACK says the same",
       .metavariable = "STACK",
       .choices = stack_names()}};
}

Parameters remote_model_parameters() {
  Parameters parameters = model_parameters();
  parameters.push_back(
      {.name = "remote",
       .type = flag,
       .help = "of models on the hub, read only what is needed, and keep nothing"});
  return parameters;
}

Parameters run_parameters() {
  return {{.name = "threads",
           .type = integer,
           .help = "threads to work on; they never change a result",
           .metavariable = "N",
           .least = 1,
           .most = kMaxThreads,
           .default_words = "all cores"},
          {.name = "memory",
           .type = bytes,
           .help = "of matrices in work at once, such as 2G or 512M; it never changes a result",
           .metavariable = "SIZE",
           .default_words = "a half of what is free"},
          {.name = "progress",
           .type = choice,
           .metavariable = "WHEN",
           .choices = {"never", "auto", "always"},
           .default_words = "auto, on a terminal"}};
}

Parameters work_parameters() {
  return joined({{{.name = "layers",
                   .type = layers,
                   .help = "layers, such as 0-3,-4-, where a negative number counts from the end",
                   .metavariable = "LAYERS",
                   .default_words = "all"}},
                 run_parameters(),
                 {store_parameter()}});
}

Parameter store_parameter() {
  return {.name = "store",
          .type = file,
          .help = "keep finished rows in this SQLite file, and compute none that it has",
          .metavariable = "FILE",
          .use = FileUse::store,
          .endings = store_endings()};
}

std::vector<std::string> store_endings() { return {".sqlite", ".sqlite3", ".db"}; }

Parameters output_parameters(const std::vector<std::string>& more_endings) {
  const std::vector<std::string> endings = report_endings(more_endings);
  return {{.name = "format",
           .type = choice,
           .metavariable = "FORMAT",
           .choices = format_names(),
           .default_text = "table",
           .default_words = "by the ending of {out}, else table",
           .noun = "format"},
          {.name = "out",
           .type = file,
           .help = "write to this file, replaced in one step; " + join_words(endings) +
                   " say its format",
           .letter = 'o',
           .metavariable = "FILE",
           .use = FileUse::written,
           .endings = endings},
          {.name = "csv_escape_formulas",
           .type = flag,
           .help = "CSV: put an apostrophe before text that a spreadsheet would run as a formula"},
          {.name = "quiet", .type = flag, .help = "no warnings, notes or progress"}};
}

Parameters bin_parameters(const BinRule& usual) {
  return {{.name = "histogram",
           .type = flag,
           .help = "add histograms: edges, counts, density, and how many fell outside"},
          {.name = "bins",
           .type = bins,
           .help = "a number of equal bins, or fd for the Freedman-Diaconis rule",
           .metavariable = "N|fd",
           .choices = {"fd"},
           .default_text = std::to_string(usual.bins)},
          {.name = "range",
           .type = range,
           .help = "what the bins span",
           .metavariable = "LO,HI",
           .default_words = shortest_decimal(usual.range->low) + "," +
                            shortest_decimal(usual.range->high) +
                            "; with fd from smallest to largest"}};
}

Parameter energy_parameter(const std::vector<double>& usual) {
  std::vector<std::string> texts;
  for (const double share : usual) texts.push_back(shortest_decimal(share));
  return {.name = "energy",
          .type = shares,
          .help = "thresholds of the energy ranks",
          .metavariable = "SHARES",
          .default_text = join(texts, ",")};
}

Parameter per_head_flag() {
  return {.name = "per_head", .type = flag, .help = "a row for each head too"};
}

Parameter experts_parameter() {
  return {.name = "experts",
          .type = text,
          .help = "of layers with experts, a row for each of these, such as 0-7,12, or all",
          .metavariable = "EXPERTS",
          .default_words = "a sample of " + std::to_string(ExpertSelection::kSample)};
}

void add_bin_options(Record& options, const Arguments& arguments, const BinRule& usual) {
  options.add("histogram", arguments.flag("histogram"));
  if (!arguments.flag("histogram")) return;
  const auto& count = *arguments.find<BinCount>("bins");
  options.add("bins", count.freedman_diaconis ? Value("fd") : Value(count.bins));
  std::optional<ValueRange> range = count.freedman_diaconis ? std::nullopt : usual.range;
  if (const auto* wanted = arguments.find<ValueRange>("range")) range = *wanted;
  options.add("range", range ? Value(Value::List{range->low, range->high}) : Value());
}

std::optional<BinRule> bins_of(const Record& options) {
  if (!expect<bool>(options, "histogram")) return std::nullopt;
  BinRule rule;
  const Value* bins = options.find("bins");
  if (bins != nullptr && bins->get<std::int64_t>() != nullptr) {
    rule.bins = *bins->get<std::int64_t>();
  } else {
    rule.freedman_diaconis = true;
  }
  const Value* range = options.find("range");
  if (range == nullptr || range->is_null()) return rule;
  const auto& ends = expect<Value::List>(*range, "range");
  if (ends.size() != 2) refuse_field("range");
  rule.range = {expect<double>(ends[0], "range"), expect<double>(ends[1], "range")};
  return rule;
}

void note_idle_bins(const Arguments& arguments, RowSink& sink) {
  if (arguments.flag("histogram")) return;
  if (!arguments.given("bins") && !arguments.given("range")) return;
  sink.add_note("{bins} and {range} have no effect without {histogram}");
}

}  // namespace attnscope
