// Runs a command and prints its results.
#pragma once

#include <stop_token>

#include "attnscope/commands/command.h"

namespace attnscope {

/// Throws Error, and Stopped if a stop was requested. Then nothing was printed on stdout, except,
/// for tables, the text that a model had written.
void run_command(const Command& command, const Arguments& arguments, const Kernels& kernels,
                 std::stop_token stop);

}  // namespace attnscope
