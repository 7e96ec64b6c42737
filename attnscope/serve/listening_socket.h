// The socket that a server is reached at.
#pragma once

#include <string>

namespace attnscope {

/// Owns a socket that listens. From its making on, clients that connect wait to be accepted.
class ListeningSocket {
 public:
  /// `port` 0: a free one. Throws Error(usage) where `host` is no address of this machine, and
  /// Error(io) where the port is taken or may not be used.
  ListeningSocket(const std::string& host, int port);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int port() const { return port_; }

  /// The next client; -1 after close(). Waits where the system has no room for one more.
  int accept() const;
  /// Ends accept() in other threads, now and later.
  void close() const;

 private:
  int socket_ = -1;
  int port_ = 0;
};

/// Whether only this machine reaches that address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const std::string& host);

/// Whether it is no address but stands for all that this machine has: "0.0.0.0", "::", "0".
bool is_any_address(const std::string& host);

/// What a browser can open for that host, here and, where it can be, on other machines: for all
/// addresses of this machine the first that is no loopback.
std::string host_to_open(const std::string& host);

/// "127.0.0.1:80", "[::1]:80".
std::string host_and_port(const std::string& host, int port);

/// Whether `host` is a numeric address, bare or in brackets.
bool is_numeric_address(const std::string& host);

}  // namespace attnscope
