// Access control: pages of this server, and programs that know its token.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attnscope/serve/http_messages.h"

namespace attnscope {

/// A foreign page can make a browser send requests to this server by pointing its own host name at
/// this address (DNS rebinding). The names in `Host` and `Origin` reveal such requests.
struct Gate {
  std::vector<std::string> hosts;  // allowed values of `Host`: "localhost:8000"
  bool any_numeric_host = false;   // also allows every numeric address with `port`
  int port = 0;
  std::string token;  // required as ?token= or in Authorization; empty: not required
};

/// The gate of a server that listens on `host`.
Gate gate_of(const std::string& host, int port, std::string token);

/// The refusal of a request; nothing if it is allowed.
std::optional<HttpAnswer> refuse_stranger(const Gate& gate, const HttpRequest& request);

/// 128 random bits in hexadecimal digits.
std::string random_token();

}  // namespace attnscope
