// The analyses that clients of a running server can start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/report/models.h"

namespace attnscope {

/// Images of the weights, which no command prints.
inline constexpr const char* kMatrices = "matrices";
/// In place of an id: all that the report lacks of those that need no text.
inline constexpr const char* kMissing = "missing";

/// Their ids: those that need no text, the quickest first, and then those of the text that was run
/// last.
std::vector<std::string> live_analysis_ids();

/// Whether it is of the text that was run last.
bool is_of_text(std::string_view id);

/// Whether such a model can have it.
bool is_live_of_model(const std::string& id, const Model& model);

/// The command that prints its rows. Throws Error where the model cannot have it.
std::string live_analysis_line(const std::string& id, const ReportModel& model,
                               const Session& session);

}  // namespace attnscope
