// Command lines that make pages, as a report names them.
#pragma once

#include <optional>
#include <string>

#include "attnscope/commands/report/report_model.h"

namespace attnscope {

/// That of a report, of the arguments that it was given.
std::string report_line(const Arguments& report, const Session& session);

/// That of a page of the model on its text, with a head's map whole. Of one model among others it
/// takes no other page's place.
std::string page_line(const ReportModel& model, const std::optional<HeadPlace>& whole,
                      const Session& session);

}  // namespace attnscope
