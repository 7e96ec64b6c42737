// Parses the bodies of requests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/live_report.h"

namespace attnscope {

/// The parameters of `attention` that a run on a text accepts, from the command's description.
std::vector<Parameter> text_run_parameters();

/// Parses a body {"text": …}. These functions throw Error(format) if the body is not a JSON object,
/// and Error(usage) for unknown parameters, models or analyses.
TextRequest read_text_request(const HttpRequest& request, std::span<const Model> models);

/// Parses a body {"text": …} with a calibration text for compressed models.
CalibrationRequest read_calibration(const HttpRequest& request, std::span<const Model> models);

/// Parses a body {"id": …}: one of live_analysis_ids().
std::string read_analysis_id(const HttpRequest& request);

}  // namespace attnscope
