// What a command is. Their list is features/all_commands.h.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/framework/run_files.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct Command;
class Hub;

/// A call that help shows.
struct Example {
  Example(std::initializer_list<ArgumentTexts::value_type> given, std::string file = {})
      : arguments(given), redirected_to(std::move(file)) {}

  ArgumentTexts arguments;
  std::string redirected_to;  // a file into which a shell writes what is printed; empty: none
};

/// What a run gets beside its arguments, from the program that starts it. None of it changes a
/// result.
struct Session {
  Context context;
  /// What it reads and writes: see files_of().
  std::shared_ptr<RunFiles> files = std::make_shared<RunFiles>();
  std::shared_ptr<Hub> hub;  // where models are looked up by name; null: only paths name them
  /// The stacks of the model that an argument names so, where the program keeps it open; nothing:
  /// it is opened. May be empty.
  /// `layout`: the file that the command was given to describe it; empty: none.
  std::function<std::vector<Model>(const std::string& model, const std::string& layout)>
      find_open_model;
  bool keeps_names =
      false;  // of those models: else a command names the models that it is given apart
  std::function<void(const ErrorParts&)> on_warning;  // of a model's files; may be empty
  /// Opens a file that a command writes beside its report: see open_output().
  std::function<std::ostream&(const std::string& path)> open_file;
  /// Writes one of many files, whole or not at all, and at once. Throws Error(io), and Stopped
  /// where a stop was asked for.
  std::function<void(const std::string& path, std::string_view content)> write_file;
  /// Of a command that writes no rows: what its user should know. May be empty.
  std::function<void(const std::string&)> on_note;
  /// Shown what a model writes, while it writes it: PredictRequest::on_text. May be empty.
  std::function<void(std::string_view)> on_text;
  /// How this front end spells a parameter in texts that outlast the run.
  SpellParameter spell;
  /// Rows are shown as a table, for people: where a question has several answers, they are listed.
  bool for_people = false;
  /// How this front end runs a command with such arguments: "attnscope info MODEL".
  std::function<std::string(const Command&, const ArgumentTexts&)> command_line;
};

struct Command {
  std::string name;
  std::string summary;
  std::vector<Example> examples;
  std::vector<Parameter> parameters;
  std::vector<Exclusion> exclusions;
  std::vector<const Analysis*> analyses;  // whose rows its report has; of items and in stores

  // One of these two:
  void (*run)(const Arguments&, const Session&, RowSink&) = nullptr;
  /// Writes a text or a file of a kind of its own, no rows.
  void (*write)(const Arguments&, const Session&, std::ostream&) = nullptr;

  /// The one matrix that the arguments ask for, for files that hold an array; null: the command has
  /// none to give.
  WeightMatrix (*array)(const Arguments&, const Session&) = nullptr;
};

/// Runs a command that gives rows, those of a model's stacks with their names.
void run_rows(const Command& command, const Arguments& arguments, const Session& session,
              RowSink& sink);

/// The one of that name, or null.
const Command* find_command(std::span<const Command> among, std::string_view name);

/// The parameter of that name, or null.
const Parameter* find_parameter(const Command& command, std::string_view name);

}  // namespace attnscope
