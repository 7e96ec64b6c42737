// `serve`: the report as a page that can start analyses.
#pragma once

#include "attnscope/commands/command.h"

namespace attnscope {

Command serve_command();

}  // namespace attnscope
