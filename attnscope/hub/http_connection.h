// One HTTP request at a time, without redirects and retries: HubClient adds those. Only
// http_connection.cpp uses libcurl.
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
  bool only_header = false;                 // HEAD instead of GET
  std::string token;                        // sent as a Bearer token; empty: not sent
  std::optional<std::uint64_t> first_byte;  // of the requested range; none: the whole file
  std::optional<std::uint64_t> last_byte;   // inclusive; none: to the end
};

struct WebResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // header names in lower case

  /// Returns the value of a header; empty if it is missing. `name` must be in lower case.
  std::string_view header(std::string_view name) const;
  bool is_redirect() const;
};

struct WebReader {
  /// Called before the first byte of the body. If a callback throws, the transfer ends.
  std::function<void(const WebResponse&)> on_header;
  /// Called with pieces of the body, decompressed if necessary.
  std::function<void(std::span<const std::byte>)> on_body;
};

/// The response is missing or incomplete.
class ConnectionError : public std::runtime_error {
 public:
  ConnectionError(const std::string& what, bool was_connected)
      : std::runtime_error(what), was_connected_(was_connected) {}
  /// False: the server was never reached, so a retry is unlikely to help.
  bool was_connected() const { return was_connected_; }

 private:
  bool was_connected_;
};

/// Keeps connections open between requests. Not thread-safe.
class WebConnection {
 public:
  /// `certificates`: a file of trusted certificates; empty: the system's certificates.
  explicit WebConnection(const std::string& certificates);
  ~WebConnection();
  WebConnection(WebConnection&&) noexcept;
  WebConnection& operator=(WebConnection&&) noexcept;

  /// Throws ConnectionError. Throws Stopped at most 0.1 s after a stop request.
  WebResponse send(const WebRequest& request, const WebReader& reader, std::stop_token stop);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

// URLs: resolves redirects and compares servers.

/// Resolves `location`, an absolute or relative URL, against `base`. Throws Error(io) if the result
/// is neither http nor https.
std::string resolve_url(const std::string& base, const std::string& location);

/// Returns scheme, host and port in normalized form: "https://host:443". Throws Error(io) like
/// resolved().
std::string origin_of(const std::string& url);

/// Returns the host without scheme and port, for messages.
std::string host_of(const std::string& url);

/// Escapes `text` for one path segment: everything but letters, digits and -._~ becomes %NN,
/// including slashes.
std::string escaped(std::string_view text);

/// Escapes a path of several segments. Slashes are kept.
std::string escaped_path(std::string_view path);

}  // namespace attnscope
