// The text that a model writes, for people who wait for the rest of it.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/cli/output_target.h"
#include "attnscope/output/terminal.h"

namespace attnscope {

/// On a terminal it is shown as it comes. Elsewhere it is kept, and only seen where the run is
/// interrupted: it may have taken long, and nothing else of it is left.
class WrittenText {
 public:
  /// `target` must outlive it.
  WrittenText(OutputTarget& target, bool color) : target_(target), style_(color) {}

  /// Whole characters. Throws Error(io).
  void add(std::string_view text);
  /// Nothing comes any more; the next thing on a terminal begins on a line of its own.
  void end();
  /// The same for a run that was interrupted.
  void break_off();

  bool is_shown_at_once() const { return target_.is_terminal(); }
  /// Whether a terminal has shown any of it.
  bool is_shown() const { return is_shown_at_once() && begun_; }

 private:
  OutputTarget& target_;
  Style style_;
  bool begun_ = false;
  std::string kept_;
};

}  // namespace attnscope
