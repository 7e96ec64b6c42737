// Runs the attnscope program like a user or a script, and collects its output.
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

/// The reader of an output stream of the program.
enum class Reader {
  pipe,      // stored in the result
  terminal,  // the same, through a pseudo-terminal
  gone,      // a pipe whose reader has closed it before the program starts
  full,      // a device without free space
};

struct RunOptions {
  Reader out = Reader::pipe;
  Reader err = Reader::pipe;
  std::filesystem::path appends_to;    // stdout is appended to this file
  std::string input;                   // the program's stdin; empty: end of file
  bool input_is_piped = false;         // through a pipe instead of a file; for short inputs
  std::filesystem::path folder;        // working directory; empty: that of the tests
  bool ignores_sigpipe = false;        // as in programs started from Python
  std::uint64_t file_limit_bytes = 0;  // maximum size of a file; 0: no limit
  std::chrono::milliseconds timeout = kLongWait;  // then the program is killed
  bool measures_memory = false;
  /// Changes to the environment of the tests; nullopt removes a variable. By default, NO_COLOR is
  /// removed, TERM is a terminal with colors, and HF_HUB_OFFLINE is 1.
  std::map<std::string, std::optional<std::string>> environment;
};

struct RunResult {
  std::string out;
  std::string err;
  int exit_code = -1;  // -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  double seconds = 0;  // from the call of wait(), counted by GivenTime
  /// Peak memory in addition to mapped files, sampled every millisecond; 0 unless requested.
  std::uint64_t peak_bytes = 0;
};

/// Starts the program. The destructor ends it if it is still running.
class RunningCommand {
 public:
  explicit RunningCommand(const std::vector<std::string>& arguments, RunOptions options = {});
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  void send(int signal) const;

  /// Whether the program has a file of the folder open, including an unnamed one.
  bool has_open_in(const std::filesystem::path& folder) const;

  /// Whether the program handles this signal, which it does from main() on. Always true under an
  /// emulator.
  bool handles(int signal) const;

  /// Counts the seconds of the program from now on.
  GivenTime time() const { return GivenTime(process_); }

  /// Reads until `condition` is true. False if the program ends or times out before.
  bool wait_until(const std::function<bool()>& condition);

  /// The output on stdout that was read so far.
  const std::string& printed() const { return result_.out; }

  /// Waits for the end of the program.
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
  int out_ = -1;  // the tests' ends of its streams; -1: closed, or nothing to read
  int err_ = -1;
  bool ended_ = false;
};

/// Runs the program to its end.
RunResult run_attnscope(const std::vector<std::string>& arguments, const RunOptions& options = {});

}  // namespace attnscope::test
