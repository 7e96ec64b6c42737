#include "attnscope/hub/http_connection.h"

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <curl/curl.h>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kSilentSeconds = 30;  // after that time without data, the connection counts as lost
constexpr int kPollMilliseconds = 100;
constexpr std::size_t kMaxHeaderBytes = 1 << 20;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// A request in progress: the data that libcurl's callbacks share with send(). The callbacks must
/// not throw.
struct Transfer {
  CURL* easy = nullptr;
  const WebReader& reader;
  WebResponse response;
  std::size_t header_bytes = 0;
  bool header_is_reported = false;
  std::exception_ptr failure;

  void report_header() {
    if (std::exchange(header_is_reported, true)) return;
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    if (reader.on_header) reader.on_header(response);
  }
};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

/// Runs `work`. An exception is stored and ends the transfer.
template <class Work>
std::size_t guarded(Transfer& transfer, std::size_t bytes, Work&& work) {
  try {
    work();
    return bytes;
  } catch (...) {
    transfer.failure = std::current_exception();
    return bytes + 1;  // any number other than the byte count stops the transfer
  }
}

std::size_t take_header(char* data, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  return guarded(transfer, count, [&] {
    const std::string_view line(data, count);
    transfer.header_bytes += count;
    if (transfer.header_bytes > kMaxHeaderBytes) {
      throw ConnectionError("the response header is too large", /*was_connected=*/true);
    }
    // headers of a proxy came first
    if (line.starts_with("HTTP/")) transfer.response.headers.clear();
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return;
    transfer.response.headers[lower_case(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  });
}

std::size_t take_body(char* data, std::size_t, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  return guarded(transfer, count, [&] {
    transfer.report_header();
    if (transfer.reader.on_body) {
      transfer.reader.on_body({reinterpret_cast<const std::byte*>(data), count});
    }
  });
}

std::string range_text(const WebRequest& request) {
  return std::to_string(*request.first_byte) + "-" +
         (request.last_byte ? std::to_string(*request.last_byte) : "");
}

void start_libcurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

}  // namespace

std::string_view WebResponse::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

bool WebResponse::is_redirect() const {
  const bool leads_on =
      status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  return leads_on && !header("location").empty();
}

struct WebConnection::Handles {
  std::string certificates;
  CURLM* multi = nullptr;
  CURL* easy = nullptr;

  explicit Handles(std::string file) : certificates(std::move(file)) {
    start_libcurl();
    multi = curl_multi_init();
    easy = curl_easy_init();
    if (multi == nullptr || easy == nullptr) throw std::bad_alloc();
  }
  ~Handles() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void set_up(const WebRequest& request, curl_slist* headers, Transfer& transfer) {
    curl_easy_reset(easy);  // keeps connections open
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_NOBODY, request.only_header ? 1L : 0L);
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_USERAGENT, "attnscope");
    // Asks for uncompressed bytes. If a server compresses them anyway, libcurl decompresses them.
    set(CURLOPT_ACCEPT_ENCODING, "identity");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, &transfer);
    if (!certificates.empty()) set(CURLOPT_CAINFO, certificates.c_str());
    if (request.first_byte) set(CURLOPT_RANGE, range_text(request).c_str());
  }

  /// Waits for the end of the transfer in steps of 0.1 s, so that a stop request is noticed.
  CURLcode run(std::stop_token stop) {
    int running = 1;
    for (;;) {
      if (stop.stop_requested()) throw Stopped();
      if (curl_multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) break;
      curl_multi_poll(multi, nullptr, 0, kPollMilliseconds, nullptr);
    }
    int left = 0;
    CURLcode result = CURLE_FAILED_INIT;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) result = message->data.result;
    }
    return result;
  }

  /// Throws the reason for a missing response, and whether the server was reached.
  ConnectionError error_of(CURLcode result, const char* words) const {
    curl_off_t sent = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
    const std::string text = *words == '\0' ? curl_easy_strerror(result) : words;
    return ConnectionError(text, /*was_connected=*/sent > 0);
  }
};

WebConnection::WebConnection(const std::string& certificates)
    : handles_(std::make_unique<Handles>(certificates)) {}
WebConnection::~WebConnection() = default;
WebConnection::WebConnection(WebConnection&&) noexcept = default;
WebConnection& WebConnection::operator=(WebConnection&&) noexcept = default;

WebResponse WebConnection::send(const WebRequest& request, const WebReader& reader,
                                std::stop_token stop) {
  CURL* easy = handles_->easy;
  CURLM* multi = handles_->multi;
  Transfer transfer{.easy = easy, .reader = reader};
  std::unique_ptr<curl_slist, FreeList> headers;
  if (!request.token.empty()) {
    headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + request.token).c_str()));
  }
  char words[CURL_ERROR_SIZE] = "";
  handles_->set_up(request, headers.get(), transfer);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, words);

  curl_multi_add_handle(multi, easy);
  struct Remove {
    CURLM* multi;
    CURL* easy;
    ~Remove() {
      curl_multi_remove_handle(multi, easy);
      curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);  // the buffer goes out of scope
    }
  } const remove{multi, easy};

  const CURLcode result = handles_->run(std::move(stop));
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (result != CURLE_OK) throw handles_->error_of(result, words);
  transfer.report_header();  // for a response without a body
  return std::move(transfer.response);
}

namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

[[noreturn]] void refuse_url(const std::string& url) {
  throw Error(ErrorKind::io, url, "unsupported URL, expected http or https");
}

std::string part_of(const UrlHandle& url, CURLUPart part, unsigned flags,
                    const std::string& whole) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) refuse_url(whole);
  const std::unique_ptr<char, void (*)(void*)> owner(text, curl_free);
  return text;
}

/// A location without a scheme is resolved against `base`.
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
