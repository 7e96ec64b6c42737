// The hub by a command's environment, with progress and notes on stderr.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "attnscope/cli/progress_line.h"
#include "attnscope/hub/hub.h"

namespace attnscope {

/// `on_note` may be empty.
std::shared_ptr<Hub> hub_of_environment(ProgressMode mode, std::stop_token stop,
                                        std::function<void(const std::string&)> on_note);

}  // namespace attnscope
