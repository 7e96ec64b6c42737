// A report before any of its work.
#pragma once

#include <span>

#include "attnscope/commands/command.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// A file with the facts of the models, and nothing else yet.
ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session);

}  // namespace attnscope
