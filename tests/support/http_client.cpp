#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace attnscope::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string without_chunks(const std::string& body) {
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t line = body.find("\r\n", at);
    if (line == std::string::npos) break;
    const std::size_t length = std::stoul(body.substr(at, line - at), nullptr, 16);
    out += body.substr(line + 2, length);
    at = line + 2 + length + 2;
    if (length == 0) break;
  }
  return out;
}

/// Waits for bytes or the end of the stream. False after a timeout.
bool has_bytes(int socket, Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  pollfd entry{socket, POLLIN, 0};
  return left > 0 && poll(&entry, 1, static_cast<int>(left)) > 0;
}

}  // namespace

std::string HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

HttpReply parse_reply(const std::string& bytes) {
  HttpReply reply;
  const std::size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string::npos) return reply;
  reply.status = std::stoi(bytes.substr(9, 3));
  for (std::size_t at = bytes.find("\r\n") + 2; at < end;) {
    const std::size_t line = std::min(bytes.find("\r\n", at), end);
    const std::string text = bytes.substr(at, line - at);
    const std::size_t colon = text.find(": ");
    reply.headers[lower(text.substr(0, colon))] = text.substr(colon + 2);
    at = line + 2;
  }
  reply.body = bytes.substr(end + 4);
  if (reply.header("transfer-encoding") == "chunked") reply.body = without_chunks(reply.body);
  return reply;
}

ClientSocket::ClientSocket(int port, int receive_bytes)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (receive_bytes > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const std::string why = std::strerror(errno);
    close(std::exchange(socket_, -1));
    throw std::runtime_error("connect: " + why);
  }
}

ClientSocket::~ClientSocket() {
  if (socket_ >= 0) close(socket_);
}

ClientSocket::ClientSocket(ClientSocket&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

bool ClientSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string ClientSocket::receive(std::string_view end, std::chrono::milliseconds most) const {
  const auto until = Clock::now() + most;
  std::string bytes;
  std::array<char, 65536> room;
  while (has_bytes(socket_, until)) {
    const ssize_t count = recv(socket_, room.data(), room.size(), 0);
    if (count <= 0) break;
    bytes.append(room.data(), static_cast<std::size_t>(count));
    if (!end.empty() && bytes.find(end) != std::string::npos) break;
  }
  return bytes;
}

bool ClientSocket::closes_within(std::chrono::milliseconds most) const {
  const auto until = Clock::now() + most;
  std::array<char, 65536> room;
  while (has_bytes(socket_, until)) {
    if (recv(socket_, room.data(), room.size(), 0) <= 0) return true;
  }
  return false;
}

std::string Talk::request_text(std::string_view method, std::string_view path,
                               std::string_view body) const {
  std::map<std::string, std::string> all = headers;
  all.emplace("Host", "127.0.0.1:" + std::to_string(port));
  if (!body.empty()) {
    all.emplace("Content-Type", "application/json");
    all.emplace("Content-Length", std::to_string(body.size()));
  }
  std::string text = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\n";
  for (const auto& [name, value] : all) text.append(name).append(": ").append(value).append("\r\n");
  return text.append("\r\n").append(body);
}

HttpReply Talk::ask(std::string_view method, std::string_view path, std::string_view body) const {
  const ClientSocket socket(port);
  socket.send(request_text(method, path, body));
  return parse_reply(socket.receive());
}

}  // namespace attnscope::test
