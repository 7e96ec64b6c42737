#include "attnscope/serve/listening_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/serve/address.h"

namespace attnscope {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status == 0) return {found, &freeaddrinfo};
  throw Error(ErrorKind::usage, {.parameter = "host",
                                 .problem = "'" + verbatim(printable(host)) +
                                            "' is no address: " + verbatim(gai_strerror(status))});
}

[[noreturn]] void refuse_address(const std::string& host, int port, int error) {
  const std::string where = verbatim(printable(host_and_port(host, port)));
  if (error == EADDRNOTAVAIL) {
    throw Error(ErrorKind::usage,
                {.parameter = "host", .problem = where + " is no address of this machine"});
  }
  if (error == EADDRINUSE) {
    throw Error(ErrorKind::io, {.parameter = "port",
                                .problem = where + " is in use by another program",
                                .hint = "name another one, or {port} 0 for any that is free"});
  }
  throw Error(ErrorKind::io,
              {.parameter = "port",
               .problem = "cannot listen at " + where + ": " + verbatim(std::strerror(error))});
}

int port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

ListeningSocket::ListeningSocket(const std::string& host, int port) {
  const Addresses addresses = addresses_of(host, port);
  const addrinfo& address = *addresses;
  socket_ = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) refuse_address(host, port, errno);
  // A port whose last server has just ended is free; one that has a server is not.
  const int yes = 1;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  constexpr int kWaiting = 1024;
  if (bind(socket_, address.ai_addr, address.ai_addrlen) != 0 || listen(socket_, kWaiting) != 0) {
    const int error = errno;
    ::close(socket_);
    refuse_address(host, port, error);
  }
  port_ = port_of(socket_);
}

ListeningSocket::~ListeningSocket() { ::close(socket_); }

int ListeningSocket::accept() const {
  for (;;) {
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0 || errno == EINVAL || errno == EBADF) return client;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

void ListeningSocket::close() const { shutdown(socket_, SHUT_RDWR); }

}  // namespace attnscope
