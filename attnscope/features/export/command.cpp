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

/// "1: spectrum {"energy":[0.9,0.99],…}", a line for each set that a user can choose.
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

/// Leaves the sets of one command.
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
               .problem = "no rows of '" + wanted + "'" + suggestion(wanted, known) +
                          "; there are: " + join(known)});
}

/// The one set that the arguments leave. Throws Error(usage) that lists what is there.
std::int64_t choose_set(const std::vector<Store::SetEntry>& all, const Arguments& arguments) {
  std::vector<Store::SetEntry> sets = all;
  if (arguments.given("command")) keep_command(sets, arguments.text("command"));
  if (const auto wanted = arguments.integer("set")) {
    std::erase_if(sets, [&](const auto& set) { return set.id != *wanted; });
    if (sets.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "set",
                                     .problem = "no set " + std::to_string(*wanted) +
                                                " of rows; there are " + list_text(all)});
    }
  }
  if (sets.size() == 1) return sets.front().id;
  throw Error(
      ErrorKind::usage,
      {.file = arguments.text("file"),
       .problem = sets.empty() ? "holds no rows yet"
                               : "holds several sets of rows, of which one is printed at a time "
                                 "(name it with {command} or {set}; {list} says more); there are " +
                                     list_text(sets)});
}

/// Whether a person asks for what a store of several sets holds, without a word more.
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
  return {
      {.name = "file",
       .type = file,
       .help = "the file that {store} made",
       .positional = true,
       .metavariable = "STORE",
       .missing = "name the file that {store} made",
       .use = FileUse::store},
      {.name = "command",
       .type = text,
       .help = "rows of this command, where the store has those of several",
       .metavariable = "NAME"},
      {.name = "set",
       .type = integer,
       .help = "rows of this set, where a command ran with several parameters",
       .metavariable = "N",
       .least = 1,
       .most = INT64_MAX},
      {.name = "model", .type = text, .help = "rows of this model alone", .metavariable = "NAME"},
      {.name = "list",
       .type = flag,
       .help = "what the store holds: models, commands, parameters, rows, when"}};
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "the rows that {store} kept",
          .examples = {{{"file", "rows.sqlite"}, {"list", ""}},
                       {{"file", "rows.sqlite"}, {"format", "csv"}, {"out", "rows.csv"}},
                       {{"file", "rows.sqlite"},
                        {"command", "spectrum"},
                        {"model", "shakespeare-llama"}}},
          .parameters = joined({export_parameters(), output_parameters()}),
          .exclusions = {{"list", {"command", "set", "model"}, "lists all that the store holds"}},
          .run = run_export_command};
}

}  // namespace attnscope
