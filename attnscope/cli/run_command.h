// Runs a command and prints its results.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>

#include "attnscope/cli/live_run.h"
#include "attnscope/cli/output_target.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/rows/table/style.h"

namespace attnscope {

/// Throws Error, and Stopped if a stop was requested. In both cases nothing was printed on stdout,
/// except, with tables, the text that a model had generated.
void run_command(const Command& command, const Arguments& arguments, const Kernels& kernels,
                 const OpenLive& open_live, std::stop_token stop);

// The text that a model generates, shown while it is generated.

/// A terminal shows the text immediately. Otherwise the text is buffered and printed only if the
/// run is interrupted, because generating it may have taken long.
class WrittenText {
 public:
  /// `target` must outlive this object.
  WrittenText(OutputTarget& target, bool color) : target_(target), style_(color) {}

  /// Adds whole characters. Throws Error(io).
  void add(std::string_view text);
  /// Ends the text. The next output on a terminal begins on a new line.
  void end();
  /// Ends the text after an interruption.
  void break_off();

  bool is_shown_at_once() const { return target_.is_terminal(); }
  /// Whether a terminal has shown any of the text.
  bool is_shown() const { return is_shown_at_once() && begun_; }

 private:
  OutputTarget& target_;
  Style style_;
  bool begun_ = false;
  std::string kept_;
};

}  // namespace attnscope
