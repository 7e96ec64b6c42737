// HTTP/1.1 server: a thread for each connection, one request per connection.
#pragma once

#include <functional>
#include <stop_token>

#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/listen_address.h"

namespace attnscope {

/// Called on many threads at the same time. Exceptions become error answers.
using AnswerRequest = std::function<HttpAnswer(const HttpRequest&)>;

/// Answers clients until `stop` is requested, then ends all connections and returns.
void serve_http(const ListeningSocket& socket, const AnswerRequest& answer, std::stop_token stop);

}  // namespace attnscope
