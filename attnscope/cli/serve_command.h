// `serve`: the report as a page that runs what one asks it to.
#pragma once

#include "attnscope/commands/command.h"

namespace attnscope {

Command serve_command();

}  // namespace attnscope
