// A client of HTTP that can misbehave: raw bytes on a socket.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/time_limit.h"

namespace attnscope::test {

struct HttpReply {
  int status = 0;                              // 0: nothing came that is an answer
  std::map<std::string, std::string> headers;  // by names in lower case
  std::string body;                            // chunks put together

  std::string header(const std::string& name) const;
};

/// The answer that these bytes are.
HttpReply parse_reply(const std::string& bytes);

/// A connection to 127.0.0.1.
class ClientSocket {
 public:
  /// `receive_bytes`: the system's buffer of what was not read; 0: the usual one.
  explicit ClientSocket(int port, int receive_bytes = 0);
  ~ClientSocket();
  ClientSocket(ClientSocket&& other) noexcept;
  ClientSocket& operator=(ClientSocket&&) = delete;

  /// False where the server has closed the connection.
  bool send(std::string_view bytes) const;
  /// What comes until `end` is among it, or the server closes, or the time is over.
  std::string receive(std::string_view end = "", std::chrono::milliseconds most = kLongWait) const;
  /// Whether the server closes within that time; what comes is thrown away.
  bool closes_within(std::chrono::milliseconds most) const;

 private:
  int socket_ = -1;
};

/// How a server is spoken to.
struct Talk {
  int port = 0;
  std::map<std::string, std::string> headers = {};  // besides, and in place of, the usual ones

  std::string request_text(std::string_view method, std::string_view path,
                           std::string_view body = "") const;
  HttpReply ask(std::string_view method, std::string_view path, std::string_view body = "") const;
  HttpReply get(std::string_view path) const { return ask("GET", path); }
  HttpReply post(std::string_view path, std::string_view body) const {
    return ask("POST", path, body);
  }
};

}  // namespace attnscope::test
