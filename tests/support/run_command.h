// Runs the attnscope program as a user or a script would, and keeps what it said.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/time_limit.h"

namespace attnscope::test {

/// What reads an output stream of the program.
enum class Reader {
  pipe,      // kept in the result
  terminal,  // the same, through a pseudo-terminal of its own
  gone,      // a pipe that nobody reads: its reader has closed it before the program starts
  full,      // a device on which no byte fits
};

struct RunOptions {
  Reader out = Reader::pipe;
  Reader err = Reader::pipe;
  std::filesystem::path appends_to;    // stdout goes on at the end of this file instead
  std::string input;                   // the program's stdin; empty: at its end
  bool input_is_piped = false;         // through a pipe, and not from a file; for short ones
  std::filesystem::path folder;        // to run in; empty: where the tests run
  bool ignores_sigpipe = false;        // as programs started from Python do
  std::uint64_t file_limit_bytes = 0;  // no file may grow longer; 0: no limit
  std::chrono::milliseconds timeout = kLongWait;  // then the program is killed
  bool measures_memory = false;
  /// Changes to the tests' own environment; nothing: the variable is removed. Unless they are named
  /// here, NO_COLOR is removed, TERM is a terminal with colours, and HF_HUB_OFFLINE is 1.
  std::map<std::string, std::optional<std::string>> environment;
};

struct RunResult {
  std::string out;
  std::string err;
  int exit_code = -1;  // -1 where a signal ended it
  int signal = 0;
  bool timed_out = false;
  double seconds = 0;  // from the call of wait() on, as GivenTime counts them
  /// The most that it was seen to hold beside mapped files, looked at every millisecond; 0 unless
  /// it was asked for.
  std::uint64_t peak_bytes = 0;
};

/// Starts the program; its destructor makes sure that none is left running.
class RunningCommand {
 public:
  explicit RunningCommand(const std::vector<std::string>& arguments, RunOptions options = {});
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  void send(int signal) const;

  /// Whether it has a file of the folder open, be it one without a name.
  bool has_open_in(const std::filesystem::path& folder) const;

  /// Whether it does something of its own when the signal comes, as it does from main() on; under
  /// an emulator always.
  bool handles(int signal) const;

  /// Counts its seconds from now on.
  GivenTime time() const { return GivenTime(process_); }

  /// Reads on until `condition` holds; false where the program ends or runs out of time before.
  bool wait_until(const std::function<bool()>& condition);

  /// What it has printed on stdout, as far as it was read.
  const std::string& printed() const { return result_.out; }

  /// Waits for its end.
  RunResult wait();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_open() const { return out_ >= 0 || err_ >= 0; }
  void read_for(std::chrono::milliseconds duration);
  bool has_ended();
  void measure_memory();

  RunOptions options_;
  RunResult result_;
  Clock::time_point deadline_;
  pid_t process_ = -1;
  int out_ = -1;  // this end of its streams; -1: closed, or nothing to read
  int err_ = -1;
  bool ended_ = false;
};

/// Runs the program to its end.
RunResult run_attnscope(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace attnscope::test
