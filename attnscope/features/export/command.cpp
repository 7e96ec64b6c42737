#include <algorithm>
#include <cstdint>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/export/run.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

using enum ParameterType;

/// "1: spectrum {"energy":[0.9,0.99],…}": one line for each set that a user can select.
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

/// Keeps only the sets of one command.
void keep_command(std::vector<Store::SetEntry>& sets, const std::string& wanted) {
  std::vector<std::string> known;
  for (const Store::SetEntry& set : sets) {
    const std::string& command = set.analysis.command;
    if (std::find(known.begin(), known.end(), command) == known.end()) known.push_back(command);
  }
  std::erase_if(sets, [&](const auto& set) { return set.analysis.command != wanted; });
  if (!sets.empty()) return;
  throw Error(ErrorKind::usage,
              {.parameter = "command",
               .problem = "the store has no rows of '" + wanted + "'" + suggestion(wanted, known) +
                          "; stored commands: " + join(known)});
}

/// The only set that matches the arguments. Throws Error(usage) with a list of the sets if there is
/// not exactly one.
std::int64_t choose_set(const std::vector<Store::SetEntry>& all, const Arguments& arguments) {
  std::vector<Store::SetEntry> sets = all;
  if (arguments.given("command")) keep_command(sets, arguments.text("command"));
  if (const auto wanted = arguments.integer("set")) {
    std::erase_if(sets, [&](const auto& set) { return set.id != *wanted; });
    if (sets.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "set",
                                     .problem = "the store has no set " + std::to_string(*wanted) +
                                                "; available: " + list_text(all)});
    }
  }
  if (sets.size() == 1) return sets.front().id;
  throw Error(ErrorKind::usage,
              {.file = arguments.text("file"),
               .problem = sets.empty() ? "contains no rows yet"
                                       : "contains several sets of rows; select one with {command} "
                                         "or {set} ({list} shows details). Available: " +
                                             list_text(sets)});
}

/// Whether the store has several sets and the user selected none in table format.
bool asks_for_all(const Arguments& arguments, const Session& session, Store& store) {
  const bool chosen =
      arguments.given("command") || arguments.given("set") || arguments.given("model");
  return session.for_people && !chosen && sets_of_rows(store).size() > 1;
}

void run_export_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  Store store = Store::open_to_read(arguments.text("file"));
  if (arguments.flag("list") || asks_for_all(arguments, session, store)) {
    return send_contents(store, sink);
  }
  send_stored(store, choose_set(sets_of_rows(store), arguments),
              arguments.given("model") ? std::optional(arguments.text("model")) : std::nullopt,
              sink);
}

Parameters export_parameters() {
  return {{.name = "file",
           .type = file,
           .help = "store file written by {store}",
           .positional = true,
           .metavariable = "STORE",
           .missing = "missing; pass a file written by {store}",
           .use = FileUse::store},
          {.name = "command",
           .type = text,
           .help = "print only rows of this command",
           .metavariable = "NAME"},
          {.name = "set",
           .type = integer,
           .help = "print only rows of this set; {list} shows the numbers",
           .metavariable = "N",
           .least = 1,
           .most = INT64_MAX},
          {.name = "model",
           .type = text,
           .help = "print only rows of this model",
           .metavariable = "NAME"},
          {.name = "list",
           .type = flag,
           .group = OptionGroup::mode,
           .help = "list stored models, commands, parameters, row counts and times"}};
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "Print the rows saved by {store}",
          .examples = {{{"file", "rows.sqlite"}, {"list", ""}},
                       {{"file", "rows.sqlite"}, {"format", "csv"}, {"out", "rows.csv"}},
                       {{"file", "rows.sqlite"},
                        {"command", "spectrum"},
                        {"model", "shakespeare-llama"}}},
          .parameters = joined({export_parameters(), output_parameters()}),
          .exclusions = {{"list", {"command", "set", "model"}, "lists the whole store"}},
          .run = run_export_command};
}

}  // namespace attnscope
