// Addresses: where a redirect leads, and whether that is still the same server.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

/// Where `location`, an address or a part of one, leads from `base`. Throws Error(io) for what is
/// neither http nor https.
std::string resolve_url(const std::string& base, const std::string& location);

/// Scheme, host and port in one form: "https://host:443". Throws Error(io) as above.
std::string origin_of(const std::string& url);

/// "host", without scheme and port, for messages.
std::string host_of(const std::string& url);

/// `text` for one part of a path: all but letters, digits and -._~ becomes %NN, slashes too.
std::string escaped(std::string_view text);

/// The same for a path of several parts, whose slashes stay.
std::string escaped_path(std::string_view path);

}  // namespace attnscope
