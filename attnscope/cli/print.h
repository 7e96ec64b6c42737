// Runs a command and prints what it found.
#pragma once

#include <stop_token>

#include "attnscope/commands/command.h"

namespace attnscope {

/// Returns the exit code. Throws Error, and Stopped where a stop was asked for; then nothing was
/// printed on stdout.
int run_command(const Command& command, const Arguments& arguments, std::stop_token stop);

}  // namespace attnscope
