// The socket on which a server listens.
#pragma once

#include <string>

namespace attnscope {

/// Owns a listening socket. Clients can connect as soon as it is constructed; they wait to be
/// accepted.
class ListeningSocket {
 public:
  /// `port` 0: any free port. Throws Error(usage) if `host` is not an address of this machine, and
  /// Error(io) if the port is taken or not allowed.
  ListeningSocket(const std::string& host, int port);
  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int port() const { return port_; }

  /// Accepts the next client; -1 after close(). Waits if the system cannot take another one.
  int accept() const;
  /// Ends accept() in other threads, now and later.
  void close() const;

 private:
  int socket_ = -1;
  int port_ = 0;
};

}  // namespace attnscope
