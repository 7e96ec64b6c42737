// The command line as a whole: dispatch, errors, exit codes.
#pragma once

namespace attnscope {

/// Runs one command and returns its exit code: 0 done, 2 usage, 3 I/O, 4 bad file, 5 unsupported, 6
/// numerical, 128 + N where signal N asked it to stop.
int run_command_line(int argc, const char* const* argv);

}  // namespace attnscope
