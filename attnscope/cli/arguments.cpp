#include "attnscope/cli/arguments.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "attnscope/cli/byte_size.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/model/model_names.h"
#include "attnscope/output/writers.h"
#include "attnscope/pipeline/free_memory.h"

namespace attnscope {
namespace {

constexpr std::int64_t kMostThreads = 256;

[[noreturn]] void refuse(const std::string& option, const std::string& problem) {
  throw Error(ErrorKind::usage, option, problem);
}

const Format& find_format(const std::string& name) {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (format.name == name) return format;
    names.emplace_back(format.name);
  }
  refuse("--format",
         "'" + name + "' is not a format" + suggestion(name, names) + "; formats: " + join(names));
}

bool wants_color(const OutputTarget& target) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return target.is_terminal() && !dumb && (no_color == nullptr || *no_color == '\0');
}

void say(const char* kind, const std::string& text) {
  std::fprintf(stderr, "attnscope: %s: %s\n", kind, printable(text).c_str());
}

void warn(const Checkpoint& checkpoint) {
  constexpr std::size_t kShown = 5;  // a wrong index can disagree about every tensor
  const auto& warnings = checkpoint.warnings();
  for (std::size_t index = 0; index < std::min(kShown, warnings.size()); ++index) {
    say("warning", error_text(warnings[index],
                              [](std::string_view name) { return "--" + std::string(name); }));
  }
  if (warnings.size() > kShown) {
    say("warning", "and " + std::to_string(warnings.size() - kShown) + " more such tensors");
  }
}

std::vector<std::filesystem::path> model_paths(const CommonArguments& arguments) {
  if (arguments.models.empty()) refuse("MODEL", "name a folder with config.json and weights");
  std::vector<std::filesystem::path> paths;
  std::set<std::filesystem::path> seen;  // a model named twice is one model
  for (const std::string& model : arguments.models) {
    std::error_code ignored;
    if (seen.insert(std::filesystem::weakly_canonical(model, ignored)).second) {
      paths.emplace_back(model);
    }
  }
  return paths;
}

}  // namespace

void add_output_arguments(CLI::App& app, CommonArguments& arguments) {
  app.add_option("--format", arguments.format, "table, csv or json (default: table)")
      ->type_name("FORMAT");
  app.add_option("--out", arguments.out, "write to this file, replaced in one step")
      ->type_name("FILE");
  app.add_flag("--quiet", arguments.quiet, "no warnings, notes or progress");
}

void add_common_arguments(CLI::App& app, CommonArguments& arguments) {
  app.add_option("MODEL", arguments.models,
                 "folders with config.json and weights, or weights files beside their config.json")
      ->type_name("");
  app.add_option("--layout", arguments.layout,
                 "a JSON file that describes the checkpoint, in place of config.json")
      ->type_name("FILE");
  add_output_arguments(app, arguments);
}

void add_work_arguments(CLI::App& app, CommonArguments& arguments) {
  app.add_option("--layers", arguments.layers,
                 "layers, such as 0-3,-4- (negative counts from the end; default: all)")
      ->type_name("LAYERS");
  app.add_option("--threads", arguments.threads, "default: all cores; never changes a result")
      ->type_name("N");
  app.add_option("--memory", arguments.memory,
                 "of matrices in work at once, such as 2G or 512M (default: a half of what is "
                 "free); never changes a result")
      ->type_name("SIZE");
  app.add_option("--progress", arguments.progress,
                 "never, auto or always (default: auto, on a terminal)")
      ->type_name("WHEN");
  app.add_option("--store", arguments.store,
                 "keep finished rows in this SQLite file, and compute none that it has")
      ->type_name("FILE");
}

std::vector<Model> open_models(const CommonArguments& arguments) {
  const auto paths = model_paths(arguments);
  const auto layout = arguments.layout.empty()
                          ? std::nullopt
                          : std::optional<std::filesystem::path>(arguments.layout);
  const std::vector<std::string> names = distinct_names(paths);
  std::vector<Model> models;
  for (std::size_t index = 0; index < paths.size(); ++index) {
    models.push_back(Model::open(paths[index], layout, names[index]));
    if (!arguments.quiet) warn(models.back().checkpoint());
  }
  return models;
}

NamedCheckpoints open_checkpoints(const CommonArguments& arguments) {
  const auto paths = model_paths(arguments);
  NamedCheckpoints opened{.names = distinct_names(paths)};
  for (const auto& path : paths) {
    opened.checkpoints.push_back(Checkpoint::open(path));
    if (!arguments.quiet) warn(opened.checkpoints.back());
  }
  return opened;
}

std::optional<Store> open_store(const CommonArguments& arguments) {
  if (arguments.store.empty()) return std::nullopt;
  const auto same = [&](const std::string& other) {
    std::error_code ignored;
    return std::filesystem::weakly_canonical(other, ignored) ==
           std::filesystem::weakly_canonical(arguments.store, ignored);
  };
  if (!arguments.out.empty() && same(arguments.out)) {
    refuse("--store", "'" + arguments.store + "' is also where --out writes; name another file");
  }
  return Store::open(arguments.store, ATTNSCOPE_VERSION);
}

int print_report(const CommonArguments& arguments, const std::function<Report()>& make_report) {
  const Format& format = find_format(arguments.format.empty() ? "table" : arguments.format);
  OutputTarget target(arguments.out);
  const Report report = make_report();
  if (!arguments.quiet) {
    for (const std::string& note : report.notes) say("note", note);
  }
  WriteOptions options{.color = wants_color(target)};
  options.width = target.terminal_width().value_or(options.width);
  target.write([&](std::ostream& out) { format.write(report, options, out); });
  if (!report.rows.empty() || report.skipped.empty()) return 0;
  throw Error(ErrorKind::numerical, report.skipped.front().model,
              "no matrix could be analysed (" + report.skipped.front().reason + ")");
}

Resources resources_for(const CommonArguments& arguments) {
  Resources resources{.threads = default_threads()};
  if (!arguments.threads.empty()) {
    resources.threads =
        static_cast<int>(parse_integer("--threads", arguments.threads, 1, kMostThreads));
  }
  if (!arguments.memory.empty()) {
    resources.memory_bytes = parse_byte_size("--memory", arguments.memory);
  } else if (const auto free = free_memory()) {
    resources.memory_bytes = *free / 2;
  }
  return resources;
}

ProgressMode progress_mode(const CommonArguments& arguments) {
  const std::string& text = arguments.progress;
  if (text == "never" || (text.empty() && arguments.quiet)) return ProgressMode::never;
  if (text == "always") return ProgressMode::always;
  if (!text.empty() && text != "auto") {
    refuse("--progress", "'" + text + "' is not never, auto or always");
  }
  return ProgressMode::automatic;
}

std::int64_t parse_integer(const std::string& option, const std::string& text, std::int64_t least,
                           std::int64_t most) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    refuse(option, "'" + text + "' is not a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most));
  }
  return number;
}

std::vector<double> parse_thresholds(const std::string& option, const std::string& text) {
  std::vector<double> thresholds;
  for (const std::string& part : split(text, ',')) {
    double threshold = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, threshold);
    if (error != std::errc() || stop != end || !(threshold > 0 && threshold < 1)) {
      refuse(option, "'" + part +
                         "' is not a share of the energy between 0 and 1 (for example: "
                         "0.9,0.99)");
    }
    thresholds.push_back(threshold);
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

Role parse_role(const std::string& option, const std::string& text) {
  const auto role = role_from_name(text);
  if (!role) {
    const auto names = role_names();
    refuse(option, "'" + text + "' is not a matrix" + suggestion(text, names) +
                       "; matrices: " + join(names));
  }
  return *role;
}

std::vector<Role> parse_roles(const std::string& option, const std::string& text) {
  std::vector<Role> roles;
  for (const std::string& part : split(text, ',')) {
    const Role role = parse_role(option, part);
    if (std::find(roles.begin(), roles.end(), role) == roles.end()) roles.push_back(role);
  }
  return roles;
}

}  // namespace attnscope
