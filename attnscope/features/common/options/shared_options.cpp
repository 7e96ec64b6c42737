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

/// File extensions of all row formats, after `more`.
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
  return {{.name = "models",
           .type = models,
           .group = OptionGroup::input,
           .help = "model folder (config.json and weights), weights file next to its config.json, "
                   "or Hugging Face Hub name: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*. "
                   "BASE+ADAPTER: with a PEFT adapter (folder or Hub name) merged into it",
           .positional = true,
           .metavariable = "MODEL",
           .missing = "missing model",
           .missing_hint = "pass a folder with config.json and weights"},
          {.name = "layout",
           .type = file,
           .group = OptionGroup::input,
           .help = "JSON file that describes the checkpoint; replaces config.json",
           .metavariable = "FILE"},
          {.name = "stack",
           .type = choice,
           .group = OptionGroup::input,
           .help = "stack of a multi-stack model to analyze, like MODEL:STACK",
           .metavariable = "STACK",
           .choices = stack_names()}};
}

Parameters remote_model_parameters() {
  Parameters parameters = model_parameters();
  parameters.push_back({.name = "remote",
                        .type = flag,
                        .group = OptionGroup::input,
                        .help = "Hub models: fetch only the byte ranges needed; cache nothing"});
  return parameters;
}

Parameters run_parameters() {
  return {{.name = "threads",
           .type = integer,
           .group = OptionGroup::performance,
           .help = "number of threads; never changes results",
           .metavariable = "N",
           .least = 1,
           .most = kMaxThreads,
           .default_words = "all cores"},
          {.name = "memory",
           .type = bytes,
           .group = OptionGroup::performance,
           .help = "memory limit for matrices processed at once, e.g. 2G or 512M; never changes "
                   "results",
           .metavariable = "SIZE",
           .default_words = "half of free memory"},
          {.name = "progress",
           .type = choice,
           .group = OptionGroup::output,
           .help = "show progress",
           .metavariable = "WHEN",
           .choices = {"never", "auto", "always"},
           .default_words = "auto, on a terminal"}};
}

Parameters work_parameters() {
  return joined({{{.name = "layers",
                   .type = layers,
                   .help = "layers, e.g. 0-3,-4-; negative numbers count from the end",
                   .metavariable = "LAYERS",
                   .default_words = "all"}},
                 run_parameters(),
                 {store_parameter()}});
}

Parameter store_parameter() {
  return {.name = "store",
          .type = file,
          .group = OptionGroup::output,
          .help = "cache results in this SQLite file and reuse them",
          .metavariable = "FILE",
          .use = FileUse::store,
          .endings = store_endings()};
}

std::vector<std::string> store_endings() { return {".sqlite", ".sqlite3", ".db"}; }

Parameters output_parameters(const std::vector<std::string>& more_endings) {
  const std::vector<std::string> endings = report_endings(more_endings);
  return {{.name = "format",
           .type = choice,
           .group = OptionGroup::output,
           .help = "output format",
           .metavariable = "FORMAT",
           .choices = format_names(),
           .default_text = "table",
           .default_words = "from the file extension of {out}, else table",
           .noun = "format"},
          {.name = "out",
           .type = file,
           .group = OptionGroup::output,
           .help = "write to FILE atomically; the extensions " + join_words(endings) +
                   " set the format",
           .letter = 'o',
           .metavariable = "FILE",
           .use = FileUse::written,
           .endings = endings},
          {.name = "csv_escape_formulas",
           .type = flag,
           .group = OptionGroup::output,
           .help = "CSV: add an apostrophe before text that a spreadsheet would run as a formula"},
          {.name = "quiet",
           .type = flag,
           .group = OptionGroup::output,
           .help = "suppress warnings, notes and progress"}};
}

Parameters bin_parameters(const BinRule& usual) {
  return {{.name = "histogram",
           .type = flag,
           .help = "add histograms: bin edges, counts, density and number of values outside the "
                   "bins"},
          {.name = "bins",
           .type = bins,
           .help = "number of equal bins, or fd for the Freedman-Diaconis rule",
           .metavariable = "N|fd",
           .choices = {"fd"},
           .default_text = std::to_string(usual.bins)},
          {.name = "range",
           .type = range,
           .help = "lowest and highest bin edge",
           .metavariable = "LO,HI",
           .default_words = shortest_decimal(usual.range->low) + "," +
                            shortest_decimal(usual.range->high) +
                            "; with fd: smallest to largest value"}};
}

Parameter energy_parameter(const std::vector<double>& usual) {
  std::vector<std::string> texts;
  for (const double share : usual) texts.push_back(shortest_decimal(share));
  return {.name = "energy",
          .type = shares,
          .help = "energy thresholds of the energy ranks, e.g. 0.9,0.99",
          .metavariable = "SHARES",
          .default_text = join(texts, ",")};
}

Parameter per_head_flag() {
  return {.name = "per_head", .type = flag, .help = "add a row per head"};
}

Parameter experts_parameter() {
  return {.name = "experts",
          .type = text,
          .help = "MoE layers: add a row per listed expert, e.g. 0-7,12 or all",
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
