// One HTTP request at a time, without redirects and without retries: what those mean is decided
// elsewhere. libcurl is seen by http.cpp and url.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>

namespace attnscope {

struct WebRequest {
  std::string url;
  bool only_header = false;                 // HEAD in place of GET
  std::string token;                        // sent as Bearer; empty: none is
  std::optional<std::uint64_t> first_byte;  // of the range asked for; none: all of it
  std::optional<std::uint64_t> last_byte;   // included; none: to the end
};

struct WebResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case

  /// Empty where there is none of that name, which is in lower case.
  std::string_view header(std::string_view name) const;
  bool is_redirect() const;
};

struct WebReader {
  /// Called before the first byte of the body. What either throws ends the transfer.
  std::function<void(const WebResponse&)> on_header;
  /// Of the body, unpacked where it came compressed.
  std::function<void(std::span<const std::byte>)> on_body;
};

/// No answer, or not all of it.
class ConnectionError : public std::runtime_error {
 public:
  ConnectionError(const std::string& what, bool was_connected)
      : std::runtime_error(what), was_connected_(was_connected) {}
  /// Else the server was never reached: trying again is of little use.
  bool was_connected() const { return was_connected_; }

 private:
  bool was_connected_;
};

/// Keeps connections open from one request to the next. For one thread at a time.
class WebConnection {
 public:
  /// `certificates`: a file of those that are trusted; empty: the system's own.
  explicit WebConnection(const std::string& certificates);
  ~WebConnection();
  WebConnection(WebConnection&&) noexcept;
  WebConnection& operator=(WebConnection&&) noexcept;

  /// Throws ConnectionError, or Stopped within a tenth of a second of the stop.
  WebResponse send(const WebRequest& request, const WebReader& reader, std::stop_token stop);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

}  // namespace attnscope
