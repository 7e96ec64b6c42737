#include "attnscope/serve/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_used_header(std::string_view line) {
  constexpr std::array kNames = {
      "host",           "origin",           "authorization",     "content-type",
      "content-length", "content-encoding", "transfer-encoding", "sec-fetch-site",
      "sec-fetch-mode", "sec-fetch-dest"};
  const std::string name = lower(line.substr(0, line.find(':')));
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Whether the character is allowed in a method or in a header name (RFC 9110, 5.6.2).
bool is_token_character(char character) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
         kMarks.find(character) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

/// Whether the head contains constructs that programs parse differently: NUL, single-character line
/// ends, or folded headers. A proxy in front of this server could otherwise let through what it
/// means to refuse.
bool is_ambiguous(std::string_view head) {
  if (head.find('\0') != std::string_view::npos) return true;
  bool first = true;
  while (!head.empty()) {
    const std::size_t length = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, length);
    if (line.find_first_of("\r\n") != std::string_view::npos) return true;
    if (!first && !is_token(line.substr(0, line.find(':')))) return true;
    if (!first && line.find(':') == std::string_view::npos) return true;
    first = false;
    head.remove_prefix(std::min(head.size(), length + 2));
  }
  return false;
}

/// The request line. The library refuses unknown methods, although a path may answer them; such a
/// method is replaced by one that no path accepts.
std::string request_line(std::string_view line) {
  constexpr std::array kKnown = {"GET",     "HEAD",    "POST",  "PUT",  "DELETE",
                                 "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  const std::string_view method = line.substr(0, line.find(' '));
  const bool known = std::find(kKnown.begin(), kKnown.end(), method) != kKnown.end();
  if (known || !is_token(method)) return std::string(line);
  return "TRACE" + std::string(line.substr(method.size()));
}

/// The request line, and only the headers that the server uses.
std::string sifted(std::string_view head) {
  std::string out;
  bool first = true;
  while (!head.empty()) {
    const std::size_t length = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, length);
    if (first) out.append(request_line(line)).append("\r\n");
    if (!first && is_used_header(line)) out.append(line).append("\r\n");
    first = false;
    head.remove_prefix(std::min(head.size(), length + 2));
  }
  return out + "\r\n";
}

}  // namespace

Connection::Connection(int socket)
    : socket_(socket), since_(Clock::now()), answer_end_(since_ + kRequestTime + kAnswerTime) {
  // Otherwise the system would buffer megabytes for a client that has stopped reading.
  constexpr int kBufferedBytes = 64 << 10;
  setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kBufferedBytes, sizeof kBufferedBytes);
#ifdef TCP_USER_TIMEOUT  // a client that vanishes without closing is gone as soon as one that
                         // stalls
  constexpr unsigned kUnacknowledged = std::chrono::milliseconds(kStallTime).count();
  setsockopt(socket_, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledged, sizeof kUnacknowledged);
#endif
}

Connection::~Connection() { close(socket_); }

void Connection::drain() {
  if (all_read_) return;
  shutdown(socket_, SHUT_WR);
  constexpr std::size_t kMax = 1 << 20;
  constexpr std::chrono::milliseconds kMoment{300};
  const auto end = Clock::now() + kMoment;
  std::array<char, 16384> ignored;
  for (std::size_t count = 0; count < kMax && wait(POLLIN, end);) {
    const ssize_t read = recv(socket_, ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (read <= 0) break;
    count += static_cast<std::size_t>(read);
  }
}

bool Connection::wait(short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{socket_, events, 0};
    waiting_ = true;
    const int ready = poll(&entry, 1, static_cast<int>(left.count()));
    waiting_ = false;
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool Connection::receive(std::string& bytes) {
  if (!wait(POLLIN, since_ + kRequestTime)) return false;
  std::array<char, 8192> room;
  const ssize_t count = recv(socket_, room.data(), room.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  bytes.append(room.data(), static_cast<std::size_t>(count));
  return count > 0;
}

Connection::Head Connection::read_head() {
  std::string bytes;
  std::size_t end = std::string::npos;
  while ((end = bytes.find(kHeadEnd)) == std::string::npos) {
    if (bytes.size() > kHeadLimitBytes) return Head::too_large;
    if (!receive(bytes)) {
      all_read_ = true;  // there is no client to answer
      return Head::gone;
    }
  }
  if (end > kHeadLimitBytes) return Head::too_large;
  if (bytes.find("\r\n") > kRequestLineLimitBytes) return Head::long_line;
  if (is_ambiguous(std::string_view(bytes).substr(0, end))) return Head::ambiguous;
  early_ = bytes.substr(end + kHeadEnd.size());
  head_ = sifted(std::string_view(bytes).substr(0, end));
  return Head::whole;
}

bool Connection::read_body(std::size_t length, std::string& body) {
  body = std::move(early_);
  while (body.size() < length) {
    if (!receive(body)) return false;
  }
  body.resize(length);
  all_read_ = true;
  return true;
}

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait(POLLOUT, std::min(Clock::now() + kStallTime, answer_end_))) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Connection::is_gone() const {
  char byte = 0;
  const ssize_t count = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

void Connection::end() const { shutdown(socket_, SHUT_RDWR); }

}  // namespace attnscope
