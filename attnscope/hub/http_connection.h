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
  bool only_header = false;                 // HEAD in place of GET
  std::string token;                        // sent as Bearer; empty: none is
  std::optional<std::uint64_t> first_byte;  // of the requested range; none: the whole file
  std::optional<std::uint64_t> last_byte;   // included; none: to the end
};

struct WebResponse {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case

  /// The value of a header; empty if there is none. `name` is in lower case.
  std::string_view header(std::string_view name) const;
  bool is_redirect() const;
};

struct WebReader {
  /// Called before the first byte of the body. If a callback throws, the transfer ends.
  std::function<void(const WebResponse&)> on_header;
  /// Called with pieces of the body, decompressed if need be.
  std::function<void(std::span<const std::byte>)> on_body;
};

/// There was no answer, or an incomplete one.
class ConnectionError : public std::runtime_error {
 public:
  ConnectionError(const std::string& what, bool was_connected)
      : std::runtime_error(what), was_connected_(was_connected) {}
  /// If not, the server was never reached, and a retry is of little use.
  bool was_connected() const { return was_connected_; }

 private:
  bool was_connected_;
};

/// Keeps connections open from one request to the next. For one thread at a time.
class WebConnection {
 public:
  /// `certificates`: a file of trusted certificates; empty: the system's own.
  explicit WebConnection(const std::string& certificates);
  ~WebConnection();
  WebConnection(WebConnection&&) noexcept;
  WebConnection& operator=(WebConnection&&) noexcept;

  /// Throws ConnectionError, or Stopped within a tenth of a second after a stop is requested.
  WebResponse send(const WebRequest& request, const WebReader& reader, std::stop_token stop);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
};

// URLs: resolving redirects and comparing servers.

/// Resolves `location`, a whole or relative URL, against `base`. Throws Error(io) if the result is
/// neither http nor https.
std::string resolve_url(const std::string& base, const std::string& location);

/// Scheme, host and port, normalised: "https://host:443". Throws Error(io) as above.
std::string origin_of(const std::string& url);

/// "host", without scheme and port, for messages.
std::string host_of(const std::string& url);

/// Escapes `text` for one part of a path: everything but letters, digits and -._~ becomes %NN,
/// slashes too.
std::string escaped(std::string_view text);

/// The same for a path of several parts: slashes stay.
std::string escaped_path(std::string_view path);

}  // namespace attnscope
