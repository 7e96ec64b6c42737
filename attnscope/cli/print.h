// Runs a command and prints what it found.
#pragma once

#include <stop_token>

#include "attnscope/commands/command.h"

namespace attnscope {

/// Throws Error, and Stopped where a stop was asked for; then nothing was printed on stdout.
void run_command(const Command& command, const Arguments& arguments, const Kernels& kernels,
                 std::stop_token stop);

}  // namespace attnscope
