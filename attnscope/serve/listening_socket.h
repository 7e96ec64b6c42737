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

}  // namespace attnscope
