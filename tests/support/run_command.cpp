#include "tests/support/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>

extern char** environ;

namespace attnscope::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

/// Prevents the program, and other programs that tests start at the same time, from inheriting it.
int close_on_exec(int descriptor) {
  if (descriptor < 0 || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) fail("a descriptor");
  return descriptor;
}

/// Both ends of one output stream: the tests read from one, and the program writes to the other.
struct Ends {
  int ours = -1;
  int theirs = -1;
};

Ends open_pipe() {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) fail("pipe");
  return {close_on_exec(ends[0]), close_on_exec(ends[1])};
}

Ends open_terminal() {
  const int ours = close_on_exec(posix_openpt(O_RDWR | O_NOCTTY));
  if (grantpt(ours) != 0 || unlockpt(ours) != 0) fail("a pseudo-terminal");
  const char* name = ptsname(ours);
  if (name == nullptr) fail("a pseudo-terminal");
  const int theirs = close_on_exec(open(name, O_RDWR | O_NOCTTY));
  // As written: no carriage return is added before a line feed.
  termios settings = {};
  if (tcgetattr(theirs, &settings) != 0) fail("a pseudo-terminal");
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  if (tcsetattr(theirs, TCSANOW, &settings) != 0) fail("a pseudo-terminal");
  return {ours, theirs};
}

Ends open_file(const std::filesystem::path& path) {
  return {-1, close_on_exec(open(path.c_str(), O_WRONLY | O_APPEND))};
}

Ends open_reader(Reader reader) {
  if (reader == Reader::terminal) return open_terminal();
  if (reader == Reader::full) return {-1, close_on_exec(open("/dev/full", O_WRONLY))};
  Ends ends = open_pipe();
  if (reader == Reader::gone) close(std::exchange(ends.ours, -1));
  return ends;
}

/// A pipe that contains the complete short text.
int open_piped(const std::string& text) {
  const Ends ends = open_pipe();
  if (write(ends.theirs, text.data(), text.size()) != std::ssize(text)) fail("a pipe");
  close(ends.theirs);
  return ends.ours;
}

/// An unnamed file, so that a program that reads nothing cannot block the tests.
int open_input(const std::string& text) {
  if (text.empty()) return close_on_exec(open("/dev/null", O_RDONLY));
  std::FILE* file = std::tmpfile();
  if (file == nullptr) fail("a file for the input");
  std::fwrite(text.data(), 1, text.size(), file);
  std::rewind(file);
  const int descriptor = close_on_exec(dup(fileno(file)));
  std::fclose(file);
  return descriptor;
}

std::vector<std::string> environment_with(
    const std::map<std::string, std::optional<std::string>>& asked) {
  auto changes = asked;
  changes.emplace("NO_COLOR", std::nullopt);
  changes.emplace("TERM", "xterm-256color");
  changes.emplace("HF_HUB_OFFLINE", "1");
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    if (changes.count(text.substr(0, text.find('='))) == 0) variables.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) variables.push_back(name + "=" + *value);
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Appends the available bytes to `text`. Closes the descriptor at the end of the stream.
void read_some(int& descriptor, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {  // a terminal without a writer ends with EIO
    close(std::exchange(descriptor, -1));
  }
}

}  // namespace

RunningCommand::RunningCommand(const std::vector<std::string>& arguments, RunOptions options)
    : options_(std::move(options)),
      deadline_(Clock::now() + options_.timeout * ATTNSCOPE_PATIENCE) {
  std::vector<std::string> words = {ATTNSCOPE_COMMAND};
  if (const char* program = std::getenv("ATTNSCOPE_PROGRAM")) words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment_with(options_.environment);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(variables);
  const std::string folder = options_.folder.string();

  const int input =
      options_.input_is_piped ? open_piped(options_.input) : open_input(options_.input);
  const Ends err = open_reader(options_.err);
  const Ends out =
      options_.appends_to.empty() ? open_reader(options_.out) : open_file(options_.appends_to);
  // Not fork(): under sanitizers, copying the tests' page tables takes longer than most programs.
  process_ = vfork();
  if (process_ < 0) fail("vfork");
  if (process_ == 0) {
    // Only async-signal-safe functions. The process that started the tests may ignore these
    // signals.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGPIPE, options_.ignores_sigpipe ? SIG_IGN : SIG_DFL);
    if (options_.file_limit_bytes > 0) {
      // A write beyond the limit fails, like on a full disk, instead of ending the program.
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {options_.file_limit_bytes, options_.file_limit_bytes};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    const bool ready = dup2(input, STDIN_FILENO) >= 0 && dup2(out.theirs, STDOUT_FILENO) >= 0 &&
                       dup2(err.theirs, STDERR_FILENO) >= 0 &&
                       (folder.empty() || chdir(folder.c_str()) == 0);
    if (ready) execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  for (const int descriptor : {input, out.theirs, err.theirs}) close(descriptor);
  out_ = out.ours;
  err_ = err.ours;
}

RunningCommand::~RunningCommand() {
  for (const int descriptor : {out_, err_}) {
    if (descriptor >= 0) close(descriptor);
  }
  if (ended_) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void RunningCommand::send(int signal) const {
  if (!ended_) kill(process_, signal);
}

bool RunningCommand::has_open_in(const std::filesystem::path& folder) const {
  std::error_code ignored;
  for (const auto& link :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/fd", ignored)) {
    const auto target = std::filesystem::read_symlink(link.path(), ignored);
    if (target.parent_path() == folder) return true;
  }
  return false;
}

bool RunningCommand::handles(int signal) const {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

void RunningCommand::read_for(std::chrono::milliseconds duration) {
  std::array<pollfd, 2> streams = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};
  if (!is_open()) return std::this_thread::sleep_for(duration);
  if (poll(streams.data(), streams.size(), static_cast<int>(duration.count())) <= 0) return;
  if (streams[0].revents != 0) read_some(out_, result_.out);
  if (streams[1].revents != 0) read_some(err_, result_.err);
}

void RunningCommand::measure_memory() {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("RssAnon:")) continue;
    const std::uint64_t bytes = std::stoull(line.substr(8)) * 1024;
    result_.peak_bytes = std::max(result_.peak_bytes, bytes);
  }
}

bool RunningCommand::has_ended() {
  if (ended_) return true;
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) != process_) return false;
  ended_ = true;
  if (WIFEXITED(status)) result_.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result_.signal = WTERMSIG(status);
  return true;
}

bool RunningCommand::wait_until(const std::function<bool()>& condition) {
  while (!condition()) {
    if (has_ended() || Clock::now() > deadline_) return false;
    read_for(2ms);
  }
  return true;
}

RunResult RunningCommand::wait() {
  GivenTime time(process_);
  while (is_open() || !has_ended()) {
    time.look();
    if (Clock::now() > deadline_ && !result_.timed_out) {
      result_.timed_out = true;
      send(SIGKILL);
    }
    if (options_.measures_memory) measure_memory();
    read_for(is_open() && !options_.measures_memory ? 50ms : 1ms);
  }
  result_.seconds = time.seconds();
  return result_;
}

RunResult run_attnscope(const std::vector<std::string>& arguments, const RunOptions& options) {
  return RunningCommand(arguments, options).wait();
}

}  // namespace attnscope::test
