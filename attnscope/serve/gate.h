// Who may ask: pages of this server, and programs that know its token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/serve/http_messages.h"

namespace attnscope {

/// A foreign page can make its reader's browser send requests here, under a name of its own that it
/// turns into this address (DNS rebinding). The names in `Host` and `Origin` tell such requests.
struct Gate {
  std::vector<std::string> hosts;  // as `Host` may name the server: "localhost:8000"
  bool any_numeric_host = false;   // also every numeric address with `port`
  int port = 0;
  std::string token;  // to be sent as ?token= or in Authorization; empty: not needed
};

/// For a server that listens at `host`.
Gate gate_of(const std::string& host, int port, std::string token);

/// Why the request is refused; nothing where it may go on.
std::optional<HttpAnswer> refuse_stranger(const Gate& gate, const HttpRequest& request);

/// 128 random bits in hexadecimal digits.
std::string random_token();

}  // namespace attnscope
