// The analyses that clients of a running server can start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/report/models.h"

namespace attnscope {

/// Images of the weights, which no command prints.
inline constexpr const char* kMatrices = "matrices";
/// Replaces an id: all missing analyses that need no text.
inline constexpr const char* kMissing = "missing";

/// The ids of all analyses: those that need no text, fastest first, then those of the last input.
std::vector<std::string> live_analysis_ids();

/// Whether the analysis uses the last input.
bool is_of_text(std::string_view id);

/// Whether the analysis supports the model.
bool is_live_of_model(const std::string& id, const Model& model);

/// The command that prints the rows of the analysis. Throws Error if the model does not support it.
std::string live_analysis_line(const std::string& id, const ReportModel& model,
                               const Session& session);

}  // namespace attnscope
