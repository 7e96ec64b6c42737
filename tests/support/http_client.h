// An HTTP client that can misbehave by sending raw bytes on a socket.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/time_limit.h"

namespace attnscope::test {

struct HttpReply {
  int status = 0;                              // 0: no valid response
  std::map<std::string, std::string> headers;  // with names in lower case
  std::string body;                            // with chunks joined

  std::string header(const std::string& name) const;
};

/// Parses a response.
HttpReply parse_reply(const std::string& bytes);

/// A connection to 127.0.0.1.
class ClientSocket {
 public:
  /// `receive_bytes`: size of the system's receive buffer; 0: the default.
  explicit ClientSocket(int port, int receive_bytes = 0);
  ~ClientSocket();
  ClientSocket(ClientSocket&& other) noexcept;
  ClientSocket& operator=(ClientSocket&&) = delete;

  /// False if the server has closed the connection.
  bool send(std::string_view bytes) const;
  /// Received bytes until they contain `end`, the server closes, or the time is over.
  std::string receive(std::string_view end = "", std::chrono::milliseconds most = kLongWait) const;
  /// Whether the server closes within this time. Received bytes are discarded.
  bool closes_within(std::chrono::milliseconds most) const;

 private:
  int socket_ = -1;
};

/// Sends requests to a server.
struct Talk {
  int port = 0;
  // In addition to, or instead of, the default ones.
  std::map<std::string, std::string> headers = {};

  std::string request_text(std::string_view method, std::string_view path,
                           std::string_view body = "") const;
  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "") const;
  HttpReply get(std::string_view path) const { return ask("GET", path); }
  HttpReply post(std::string_view path, std::string_view body) const {
    return ask("POST", path, body);
  }
};

}  // namespace attnscope::test
