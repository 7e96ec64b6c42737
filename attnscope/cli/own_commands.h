// `explain`: explains the fields of reports.
#pragma once

#include "attnscope/features/framework/command.h"

namespace attnscope {

Command explain_command();

// `serve`: serves the report as a page that can start analyses.

Command serve_command();

}  // namespace attnscope
