// The command line: dispatch, errors, exit codes.
#pragma once

#include "attnscope/cli/live_run.h"

namespace attnscope {

/// Runs one command and returns its exit code: 0 success, 2 usage, 3 I/O, 4 invalid file, 5
/// unsupported, 6 numerical, 128 + N if stopped by signal N.
/// `open_live`: runs models in PyTorch; null: this program cannot.
int run_command_line(int argc, const char* const* argv, const OpenLive& open_live = nullptr);

}  // namespace attnscope
