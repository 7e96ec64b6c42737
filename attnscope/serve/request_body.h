// What a request's body asks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/live_report.h"

namespace attnscope {

/// Parameters of `attention` that a run on a text takes, as its description has them.
std::vector<Parameter> text_run_parameters();

/// Of a body {"text": …}. These throw Error(format) where the body is not a JSON object, and
/// Error(usage) where it asks for what there is not.
TextRequest read_text_request(const HttpRequest& request, std::span<const Model> models);

/// The id in a body {"id": …}: one of live_analysis_ids().
std::string read_analysis_id(const HttpRequest& request);

}  // namespace attnscope
