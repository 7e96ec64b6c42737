// Definition of a command. The list of commands is in features/all_commands.h.
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
class RenderedChats;

/// An example call shown by help.
struct Example {
  Example(std::initializer_list<ArgumentTexts::value_type> given, std::string file = {})
      : arguments(given), redirected_to(std::move(file)) {}

  ArgumentTexts arguments;
  std::string redirected_to;  // file to which the shell redirects the output; empty: none
};

/// The environment of a run, provided by the front end in addition to the arguments. Nothing in it
/// changes results.
struct Session {
  Context context;
  /// Files that the run reads and writes, see files_of().
  std::shared_ptr<RunFiles> files = std::make_shared<RunFiles>();
  std::shared_ptr<Hub> hub;  // looks up models by name; null: only paths are accepted
  /// Returns the stacks of a model that the front end already has open; empty: the model must be
  /// opened. May be empty itself. `layout`: layout file given to the command; empty: none.
  std::function<std::vector<Model>(const std::string& model, const std::string& layout)>
      find_open_model;
  bool keeps_names =
      false;  // whether open models keep their names; else commands make names distinct
  std::function<void(const ErrorParts&)> on_warning;  // warnings about model files; may be empty
  /// Opens an additional output file, see open_output().
  std::function<std::ostream&(const std::string& path)> open_file;
  /// Writes one of many files, atomically and immediately. Throws Error(io), and Stopped if a stop
  /// was requested.
  std::function<void(const std::string& path, std::string_view content)> write_file;
  /// Receives notes of a command that writes no rows. May be empty.
  std::function<void(const std::string&)> on_note;
  /// Receives generated text while it is generated: PredictRequest::on_text. May be empty.
  std::function<void(std::string_view)> on_text;
  /// Receives the texts of chats that the command renders. May be null.
  std::shared_ptr<RenderedChats> chats;
  /// Spells a parameter for this front end, in texts that outlast the run.
  SpellParameter spell;
  /// Output is a table for people: if a request matches several results, they are listed instead of
  /// refused.
  bool for_people = false;
  /// The command line of this front end for such arguments: "attnscope info MODEL".
  std::function<std::string(const Command&, const ArgumentTexts&)> command_line;
};

struct Command {
  std::string name;
  std::string summary;
  std::vector<Example> examples;
  std::vector<Parameter> parameters;
  std::vector<Exclusion> exclusions;
  std::vector<const Analysis*> analyses;  // analyses whose rows a report may contain

  // Exactly one of these two is set:
  void (*run)(const Arguments&, const Session&, RowSink&) = nullptr;
  /// Writes its own text or file format instead of rows.
  void (*write)(const Arguments&, const Session&, std::ostream&) = nullptr;

  /// Returns the single matrix that the arguments select, for array files; null if the command has
  /// none.
  WeightMatrix (*array)(const Arguments&, const Session&) = nullptr;
};

/// Runs a command that produces rows, and adds the stack to rows of models with several stacks, and
/// the texts of chats.
void run_rows(const Command& command, const Arguments& arguments, const Session& session,
              RowSink& sink);

/// Returns the command with that name, or null.
const Command* find_command(std::span<const Command> among, std::string_view name);

/// Returns the parameter with that name, or null.
const Parameter* find_parameter(const Command& command, std::string_view name);

}  // namespace attnscope
