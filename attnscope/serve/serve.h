// `serve`: models, their report and its page, on a local address.
#pragma once

#include <functional>
#include <string>

#include "attnscope/commands/shared_parameters.h"

namespace attnscope {

/// What `serve` takes, beside the models and what every run takes.
Parameters serve_parameters();

/// Serves until the session's context is stopped, then throws Stopped. `on_ready` gets the address
/// as soon as clients can connect. Throws Error where models cannot be opened, or the address
/// cannot be had.
void serve(const Arguments& arguments, const Session& session,
           const std::function<void(const std::string& address)>& on_ready);

}  // namespace attnscope
