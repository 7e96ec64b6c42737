// `explain`: what the fields of reports mean.
#pragma once

#include "attnscope/features/framework/command.h"

namespace attnscope {

Command explain_command();

// `serve`: the report as a page that can start analyses.

Command serve_command();

}  // namespace attnscope
