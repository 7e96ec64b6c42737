// The skipped sections of a report, with reasons.
#pragma once

#include <string>

#include "attnscope/features/report/models.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// Records that a section of the model failed.
void leave_out(const std::string& part, const ReportModel& model, const Error& error,
               const Session& session, ReportFile& file);

/// Records that the text sections are skipped, with commands that run the model on a working text.
void leave_out_text(const ReportModel& model, const Error& error, const Session& session,
                    ReportFile& file);

}  // namespace attnscope
