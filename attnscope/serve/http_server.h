// HTTP/1.1 on sockets: a thread for each client, one request each.
#pragma once

#include <functional>
#include <stop_token>

#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/listening_socket.h"

namespace attnscope {

/// Called by many threads at once. What it throws becomes an answer.
using AnswerRequest = std::function<HttpAnswer(const HttpRequest&)>;

/// Answers clients until `stop`; then all connections end, and this returns.
void serve_http(const ListeningSocket& socket, const AnswerRequest& answer, std::stop_token stop);

}  // namespace attnscope
