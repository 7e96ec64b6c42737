// `explain`: what the fields of reports mean.
#pragma once

#include "attnscope/commands/command.h"

namespace attnscope {

Command explain_command();

}  // namespace attnscope
