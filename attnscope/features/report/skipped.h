// What a report lacks, and why.
#pragma once

#include <string>

#include "attnscope/features/report/models.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// Says that the file lacks a part of the model, which failed.
void leave_out(const std::string& part, const ReportModel& model, const Error& error,
               const Session& session, ReportFile& file);

/// Says that the file lacks what a text gives, with the commands that run the model on one that it
/// can be run on.
void leave_out_text(const ReportModel& model, const Error& error, const Session& session,
                    ReportFile& file);

}  // namespace attnscope
