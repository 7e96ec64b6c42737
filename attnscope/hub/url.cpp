#include "attnscope/hub/url.h"

#include <curl/curl.h>

#include <memory>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

[[noreturn]] void refuse_url(const std::string& url) {
  throw Error(ErrorKind::io, url, "is no address that is followed (http or https)");
}

std::string part_of(const UrlHandle& url, CURLUPart part, unsigned flags,
                    const std::string& whole) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) refuse_url(whole);
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl_free);
  return text;
}

/// A location without a scheme is taken as one that lies at `base`.
UrlHandle parsed(const std::string& base, const std::string& location) {
  UrlHandle url(curl_url());
  if (url == nullptr) throw std::bad_alloc();
  if (!base.empty() && curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK) {
    refuse_url(base);
  }
  if (curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK)
    refuse_url(location);
  const std::string scheme = part_of(url, CURLUPART_SCHEME, 0, location);
  if (scheme != "http" && scheme != "https") refuse_url(location);
  return url;
}

}  // namespace

std::string resolve_url(const std::string& base, const std::string& location) {
  return part_of(parsed(base, location), CURLUPART_URL, 0, location);
}

std::string origin_of(const std::string& url) {
  const UrlHandle handle = parsed("", url);
  std::string host = part_of(handle, CURLUPART_HOST, 0, url);
  for (char& letter : host) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return part_of(handle, CURLUPART_SCHEME, 0, url) + "://" + host + ":" +
         part_of(handle, CURLUPART_PORT, CURLU_DEFAULT_PORT, url);
}

std::string host_of(const std::string& url) {
  return part_of(parsed("", url), CURLUPART_HOST, 0, url);
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char letter : text) {
    if (kPlain.find(letter) != kPlain.npos) {
      out += letter;
    } else {
      const auto byte = static_cast<unsigned char>(letter);
      out.append({'%', kDigits[byte / 16], kDigits[byte % 16]});
    }
  }
  return out;
}

std::string escaped_path(std::string_view path) {
  std::string out;
  for (std::size_t begin = 0;;) {
    const std::size_t slash = path.find('/', begin);
    out += escaped(path.substr(begin, slash - begin));
    if (slash == path.npos) return out;
    out += '/';
    begin = slash + 1;
  }
}

}  // namespace attnscope
