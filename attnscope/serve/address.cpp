#include "attnscope/serve/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <memory>

namespace attnscope {
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

/// Of this machine, in one family; empty where it has none but its loopback. Link-local ones of
/// IPv6 are left out: they need the name of the reader's own interface.
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
