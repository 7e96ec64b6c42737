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

  /// Accepts the next client; -1 after close(). Waits if the system cannot accept another one.
  int accept() const;
  /// Ends accept() in other threads, now and later.
  void close() const;

 private:
  int socket_ = -1;
  int port_ = 0;
};

// Host names: those that a server listens on, and those that clients use.

/// Whether only this machine can reach the address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const std::string& host);

/// Whether the host stands for all addresses of this machine: "0.0.0.0", "::", "0".
bool is_any_address(const std::string& host);

/// A host that a browser can open, on this machine and if possible on others. If `host` stands for
/// all addresses: the first one that is not a loopback.
std::string host_to_open(const std::string& host);

/// "127.0.0.1:80", "[::1]:80".
std::string host_and_port(const std::string& host, int port);

/// Whether `host` is a numeric address, bare or in brackets.
bool is_numeric_address(const std::string& host);

}  // namespace attnscope
