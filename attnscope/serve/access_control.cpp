#include "attnscope/serve/access_control.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "attnscope/serve/listen_address.h"

namespace attnscope {
namespace {

bool is_own_host(const Gate& gate, const std::string& host) {
  if (std::find(gate.hosts.begin(), gate.hosts.end(), host) != gate.hosts.end()) return true;
  const std::string end = ":" + std::to_string(gate.port);
  return gate.any_numeric_host && host.ends_with(end) &&
         is_numeric_address(host.substr(0, host.size() - end.size()));
}

/// Compares in constant time for texts of equal length.
bool same_secret(const std::string& given, const std::string& secret) {
  if (given.size() != secret.size()) return false;
  unsigned difference = 0;
  for (std::size_t at = 0; at < secret.size(); ++at) {
    difference |= static_cast<unsigned char>(given[at]) ^ static_cast<unsigned char>(secret[at]);
  }
  return difference == 0;
}

bool knows_token(const Gate& gate, const HttpRequest& request) {
  if (gate.token.empty()) return true;
  const auto in_query = request.query.find("token");
  if (in_query != request.query.end()) return same_secret(in_query->second, gate.token);
  const std::string header = request.header("authorization"), scheme = "Bearer ";
  return header.starts_with(scheme) && same_secret(header.substr(scheme.size()), gate.token);
}

/// Whether the browser reports a request from a page of another site, other than a link that the
/// user follows. Pages on other ports of this machine also count as another site.
bool is_of_other_site(const HttpRequest& request) {
  const std::string site = request.header("sec-fetch-site");
  if (site.empty() || site == "same-origin" || site == "none") return false;
  return request.method != "GET" || request.header("sec-fetch-mode") != "navigate" ||
         request.header("sec-fetch-dest") != "document";
}

}  // namespace

Gate gate_of(const std::string& host, int port, std::string token) {
  std::vector<std::string> names = {host};
  const bool any = is_any_address(host);
  if (any || is_loopback(host)) names.insert(names.end(), {"localhost", "127.0.0.1", "::1"});
  Gate gate{.any_numeric_host = any, .port = port, .token = std::move(token)};
  constexpr int kUsualPort = 80;  // browsers omit it
  for (const std::string& name : names) {
    const std::string with_port = host_and_port(name, port);
    gate.hosts.push_back(with_port);
    if (port == kUsualPort) gate.hosts.push_back(with_port.substr(0, with_port.rfind(':')));
  }
  return gate;
}

std::optional<HttpAnswer> refuse_stranger(const Gate& gate, const HttpRequest& request) {
  const std::string host = request.header("host");
  if (!is_own_host(gate, host)) {
    return refusal(403, "forbidden", "the Host header does not name this server (see --host)");
  }
  const auto origin = request.headers.find("origin");
  if (origin != request.headers.end() && origin->second != "http://" + host) {
    return refusal(403, "forbidden", "the Origin header names another site");
  }
  if (is_of_other_site(request)) {
    return refusal(403, "forbidden", "the Sec-Fetch-Site header names another site");
  }
  if (!knows_token(gate, request)) {
    return refusal(401, "forbidden", "missing or wrong token: open the address exactly as printed");
  }
  return std::nullopt;
}

std::string random_token() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorKind::io, "getrandom", std::strerror(errno));
  }
  std::string text;
  for (const std::uint8_t byte : bytes) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

}  // namespace attnscope
