// Runs a command and prints what it found.
#pragma once

#include <stop_token>

#include "attnscope/commands/command.h"

namespace attnscope {

/// Throws Error, and Stopped where a stop was asked for; then nothing was printed on stdout but, as
/// a table, the text that a model had written.
void run_command(const Command& command, const Arguments& arguments, const Kernels& kernels,
                 std::stop_token stop);

}  // namespace attnscope
