// What a command is, and the list of them.
#pragma once

#include <functional>
#include <ostream>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/commands/arguments.h"
#include "attnscope/core/matrix_view.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/report.h"

namespace attnscope {

/// What a run has beside its arguments; whoever starts it decides. None of it changes a result.
struct Session {
  Resources resources;
  std::stop_token stop;                                // asked to stop, a run throws Stopped
  ProgressFn on_progress;                              // may be empty
  std::function<void(const std::string&)> on_warning;  // a line about a model's files; may be empty
};

/// Parameters and texts for them as a user might give them, in order; a flag has no text.
using Example = std::vector<std::pair<std::string, std::string>>;

struct Command {
  std::string name;
  std::string summary;
  std::vector<Example> examples;
  std::vector<Parameter> parameters;
  std::vector<Exclusion> exclusions;

  // One of these two:
  Report (*run)(const Arguments&, const Session&) = nullptr;
  void (*print)(const Arguments&, std::ostream&) = nullptr;  // a text for people, no report

  /// The one matrix that a run finds, for formats that hold arrays; null: the command finds none.
  WeightMatrix (*array)(const Arguments&, const Session&) = nullptr;
};

/// Every command that any front end can offer.
std::span<const Command> commands();

/// The parameter of that name, or null.
const Parameter* find_parameter(const Command& command, std::string_view name);

Command circuits_command();
Command export_command();
Command info_command();
Command matrix_command();
Command similarity_command();
Command spectrum_command();
Command weights_command();

}  // namespace attnscope
