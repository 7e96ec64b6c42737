#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "attnscope/cli/arguments.h"
#include "attnscope/cli/command.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/pipeline/stored_report.h"
#include "attnscope/store/record_text.h"
#include "attnscope/store/store.h"

namespace attnscope {
namespace {

struct ExportArguments {
  CommonArguments common;
  std::string store;
  std::string command;
  std::string set;
  std::string model;
};

/// "1: spectrum {"energy":[0.9,0.99],…}", which is what to choose by.
std::string set_text(const Store::SetEntry& set) {
  const std::string revision =
      set.analysis.revision > 1 ? " revision " + std::to_string(set.analysis.revision) : "";
  return std::to_string(set.id) + ": " + set.analysis.name + revision + " " +
         record_text(set.analysis.parameters);
}

std::string list_text(const std::vector<Store::SetEntry>& sets) {
  std::vector<std::string> texts;
  for (const Store::SetEntry& set : sets) texts.push_back(set_text(set));
  return join(texts, "; ");
}

/// The one set that the options leave. Throws Error(usage) that lists what is there.
std::int64_t choose_set(const std::vector<Store::SetEntry>& all, const ExportArguments& arguments) {
  std::vector<Store::SetEntry> sets = all;
  if (!arguments.command.empty()) {
    std::vector<std::string> commands;
    for (const Store::SetEntry& set : all) {
      const std::string& command = set.analysis.command;
      if (std::find(commands.begin(), commands.end(), command) == commands.end()) {
        commands.push_back(command);
      }
    }
    std::erase_if(sets, [&](const auto& set) { return set.analysis.command != arguments.command; });
    if (sets.empty()) {
      throw Error(ErrorKind::usage, "--command",
                  "no rows of '" + arguments.command + "'" +
                      suggestion(arguments.command, commands) + "; there are: " + join(commands));
    }
  }
  if (!arguments.set.empty()) {
    const std::int64_t wanted = parse_integer("--set", arguments.set, 1, INT64_MAX);
    std::erase_if(sets, [&](const auto& set) { return set.id != wanted; });
    if (sets.empty()) {
      throw Error(ErrorKind::usage, "--set",
                  "no set " + arguments.set + " of rows; there are " + list_text(all));
    }
  }
  if (sets.size() == 1) return sets.front().id;
  throw Error(ErrorKind::usage, arguments.store,
              sets.empty() ? "holds no rows yet"
                           : "holds several sets of rows, of which one is printed at a time "
                             "(name it with --command or --set); there are " +
                                 list_text(sets));
}

int run(const ExportArguments& arguments) {
  if (arguments.store.empty()) {
    throw Error(ErrorKind::usage, "STORE", "name the file that --store made");
  }
  Store store = Store::open_to_read(arguments.store);
  const std::int64_t set = choose_set(store.sets(), arguments);
  const std::optional<std::string> model =
      arguments.model.empty() ? std::nullopt : std::optional(arguments.model);
  return print_report(arguments.common,
                      [&](RowSink& sink) { send_stored(store, set, model, sink); });
}

}  // namespace

std::function<int()> set_up_export(CLI::App& app) {
  const auto arguments = std::make_shared<ExportArguments>();
  app.add_option("STORE", arguments->store, "the file that --store made")->type_name("");
  app.add_option("--command", arguments->command,
                 "rows of this command, where the store has those of several")
      ->type_name("NAME");
  app.add_option("--set", arguments->set,
                 "rows of this set, where a command ran with several parameters")
      ->type_name("N");
  app.add_option("--model", arguments->model, "rows of this model alone")->type_name("NAME");
  add_output_arguments(app, arguments->common);
  return [arguments] { return run(*arguments); };
}

}  // namespace attnscope
