#include "attnscope/serve/listen_address.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

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
  throw Error(ErrorKind::usage,
              {.parameter = "host",
               .problem = "'" + verbatim(printable(host)) +
                          "' is not a valid address: " + verbatim(gai_strerror(status))});
}

[[noreturn]] void refuse_address(const std::string& host, int port, int error) {
  const std::string where = verbatim(printable(host_and_port(host, port)));
  if (error == EADDRNOTAVAIL) {
    throw Error(ErrorKind::usage,
                {.parameter = "host", .problem = where + " is not an address of this machine"});
  }
  if (error == EADDRINUSE) {
    throw Error(ErrorKind::io, {.parameter = "port",
                                .problem = where + " is in use by another program",
                                .hint = "choose another port, or {port} 0 for any free one"});
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
  // A port of a server that has just ended can be reused; a port in use cannot.
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

namespace {

bool is_any(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr) != 0;
  }
  return address.sa_family == AF_INET &&
         reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr == htonl(INADDR_ANY);
}

std::string numeric(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
  } else {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

/// An address of this machine in one family; empty if it has only the loopback. Link-local IPv6
/// addresses are excluded, because they need the interface name of the client.
std::string outer_address(int family) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool usable = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
    const bool link_local =
        family == AF_INET6 &&
        IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr);
    if (!link_local) return numeric(*each->ifa_addr);
  }
  return {};
}

}  // namespace

bool is_loopback(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) == 1) {
    return (ntohl(address.s_addr) >> 24) == 127;
  }
  return host == "localhost" || host == "::1";
}

bool is_any_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  return is_any(*found->ai_addr);
}

std::string host_to_open(const std::string& host) {
  if (!is_any_address(host)) return host;
  const bool ipv6 = host.find(':') != std::string::npos;
  const std::string outer = outer_address(ipv6 ? AF_INET6 : AF_INET);
  return !outer.empty() ? outer : ipv6 ? "::1" : "127.0.0.1";
}

std::string host_and_port(const std::string& host, int port) {
  const bool bare_ipv6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return (bare_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool is_numeric_address(const std::string& host) {
  in6_addr address{};
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace attnscope
