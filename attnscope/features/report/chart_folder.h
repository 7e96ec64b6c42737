// The folder into which a report's charts go.
#pragma once

#include "attnscope/features/framework/command.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// Makes the folder that {charts} names where there is none, in a folder that there is. Throws
/// Error(io) where no charts can be written into it, so that this is known before the work.
void make_chart_folder(const Arguments& arguments);

/// Writes every chart into it, as NAME.vl.json and NAME.svg. Other files there stay as they are.
void write_charts(const Arguments& arguments, const Session& session, const ReportFile& file,
                  double seconds);

}  // namespace attnscope
