// URLs: resolving redirects and comparing servers.
#pragma once

#include <string>
#include <string_view>

namespace attnscope {

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
