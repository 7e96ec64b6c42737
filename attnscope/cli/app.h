// The command line: dispatch, errors, exit codes.
#pragma once

namespace attnscope {

/// Runs one command and returns its exit code: 0 success, 2 usage, 3 I/O, 4 invalid file, 5
/// unsupported, 6 numerical, 128 + N if stopped by signal N.
int run_command_line(int argc, const char* const* argv);

}  // namespace attnscope
