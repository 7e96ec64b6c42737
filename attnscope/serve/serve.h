// `serve`: serves the live report of models on a local address.
#pragma once

#include <functional>
#include <string>

#include "attnscope/features/common/options/shared_options.h"

namespace attnscope {

/// The parameters of `serve`, in addition to the models and the parameters of every run.
Parameters serve_parameters();

/// Serves until the session's context is stopped, then throws Stopped. Calls `on_ready` with the
/// address as soon as clients can connect. Throws Error if models cannot be opened or the address
/// cannot be used.
void serve(const Arguments& arguments, const Session& session,
           const std::function<void(const std::string& address)>& on_ready);

}  // namespace attnscope
