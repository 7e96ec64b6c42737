#include "attnscope/hub/hub_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/hub/http_connection.h"

namespace attnscope {
namespace {

constexpr int kMaxRedirects = 10;
constexpr std::size_t kMaxTextBytes = 100'000'000;
constexpr std::size_t kMaxErrorBytes = 1 << 20;
constexpr double kMaxWaitSeconds = 900;
constexpr double kSaidSeconds = 2;  // shorter waits are not reported

/// Origins of the same hub, which may redirect to each other.
constexpr std::array<std::string_view, 3> kOwnOrigins = {
    "https://huggingface.co:443", "https://hf.co:443", "https://hub-ci.huggingface.co:443"};

bool is_own(std::string_view origin) {
  return std::find(kOwnOrigins.begin(), kOwnOrigins.end(), origin) != kOwnOrigins.end();
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

std::string plain_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  return std::string(etag);
}

/// The ETag becomes a file name.
bool is_plain_name(std::string_view etag) {
  constexpr std::size_t kMax = 200;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !etag.empty() && etag.size() <= kMax && etag.front() != '.' &&
         etag.find_first_not_of(kLetters) == etag.npos;
}

[[noreturn]] void refuse_answer(const std::string& place, const std::string& problem) {
  throw Error(ErrorKind::format,
              {.file = place,
               .problem = problem,
               .hint = "expected the response of a hub; this may be a login page"});
}

std::string string_at(const nlohmann::json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

HubClient::HubClient(const HubContext& context, HubSubject subject)
    : context_(context),
      subject_(std::move(subject)),
      origin_(origin_of(context.settings.endpoint)),
      connection_(context.settings.certificates) {}

bool HubClient::is_hub(const std::string& url) const {
  const std::string origin = origin_of(url);
  return origin == origin_ || (is_own(origin) && is_own(origin_));
}

WebResponse HubClient::follow(WebRequest request, const WebReader& reader, bool may_leave_hub,
                              std::string* final_url) {
  for (int redirects = 0; redirects <= kMaxRedirects; ++redirects) {
    const bool on_hub = is_hub(request.url);
    request.token = on_hub ? context_.settings.token : "";
    bool is_success = false;
    std::size_t dropped = 0;
    const WebReader successes{.on_header =
                                  [&](const WebResponse& response) {
                                    is_success = response.status >= 200 && response.status < 300;
                                    if (is_success && reader.on_header) reader.on_header(response);
                                  },
                              .on_body =
                                  [&](std::span<const std::byte> bytes) {
                                    if (is_success && reader.on_body) return reader.on_body(bytes);
                                    // The body is read to its end, so that the connection can be
                                    // reused.
                                    dropped += bytes.size();
                                    if (dropped > kMaxErrorBytes) {
                                      throw ConnectionError("the error response is too large",
                                                            /*was_connected=*/true);
                                    }
                                  }};
    const std::string host = host_of(request.url);
    WebResponse response;
    try {
      response = connection_.send(request, successes, context_.stop);
    } catch (const ConnectionError& error) {
      throw error_of_connection(error, host, subject_);
    }
    if (final_url != nullptr) *final_url = request.url;
    if (is_success) return response;
    if (!response.is_redirect()) {
      throw error_of_answer(response, host, subject_, context_.settings);
    }
    const std::string next = resolve_url(request.url, std::string(response.header("location")));
    if (request.url.starts_with("https:") && !next.starts_with("https:")) {
      throw HubError(HubFault::other,
                     {.file = subject_.model,
                      .problem = verbatim(host) + " redirects to an address without encryption"});
    }
    if (final_url != nullptr) *final_url = next;
    if (!may_leave_hub && !is_hub(next)) return response;
    request.url = next;
  }
  throw HubError(HubFault::other,
                 {.file = subject_.model,
                  .problem = verbatim(host_of(request.url)) + " redirects too many times"});
}

WebResponse HubClient::get(const WebRequest& request, const WebReader& reader,
                           std::string* final_url) {
  return follow(request, reader, /*may_leave_hub=*/true, final_url);
}

void HubClient::wait_after(const HubError& error, int tries) {
  constexpr int kMaxDoublings = 3;  // waits of 1, 2, 4, 8 and 8 seconds
  double seconds = context_.settings.retry_seconds * (1 << std::min(tries, kMaxDoublings));
  if (error.wait_seconds()) seconds = *error.wait_seconds();
  if (seconds > kMaxWaitSeconds) throw error;
  if (seconds >= kSaidSeconds && context_.on_note) {
    const std::string why = error.fault() == HubFault::rate_limited
                                ? "the hub limits the request rate"
                                : spell_parameters(error.parts().problem, {});
    context_.on_note(verbatim(subject_.model + ": " + why + "; waiting " +
                              std::to_string(static_cast<long>(seconds)) + " s"));
  }
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any over;
  over.wait_for(lock, context_.stop, std::chrono::duration<double>(seconds), [] { return false; });
  if (context_.stop.stop_requested()) throw Stopped();
}

std::string HubClient::text_of(const std::string& url, int retries) {
  const WebRequest request{.url = url};
  for (int tries = 0;; ++tries) {
    std::string text;
    const WebReader reader{.on_header = {}, .on_body = [&](std::span<const std::byte> bytes) {
                             if (text.size() + bytes.size() > kMaxTextBytes) {
                               refuse_answer(url, "the response is larger than 100 MB");
                             }
                             text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                           }};
    try {
      get(request, reader);
      return text;
    } catch (const HubError& error) {
      if (!error.is_temporary() || tries >= retries) throw;
      wait_after(error, tries);
    }
  }
}

HubListing HubClient::list(int retries) {
  const std::string url = context_.settings.endpoint + "/api/models/" + subject_.repo +
                          "/revision/" + escaped(subject_.revision) + "?blobs=true";
  const nlohmann::json answer = parse_json(text_of(url, retries), url);
  HubListing listing{.commit = string_at(answer, "sha")};
  if (!is_commit(listing.commit)) refuse_answer(url, "the response contains no commit");
  const auto siblings = answer.find("siblings");
  if (siblings == answer.end() || !siblings->is_array())
    refuse_answer(url, "the response contains no list of files");
  for (const nlohmann::json& sibling : *siblings) {
    HubFile file{.path = string_at(sibling, "rfilename")};
    if (!is_safe_file_name(file.path)) {
      refuse_answer(
          url, "lists '" + verbatim(file.path) + "', which is not a path inside the repository");
    }
    const auto size = sibling.find("size");
    if (size != sibling.end() && size->is_number_unsigned()) file.size = size->get<std::uint64_t>();
    const auto lfs = sibling.find("lfs");
    file.etag = lfs != sibling.end() ? string_at(*lfs, "sha256") : string_at(sibling, "blobId");
    listing.files.push_back(std::move(file));
  }
  return listing;
}

std::vector<std::string> HubClient::revisions() {
  const std::string url = context_.settings.endpoint + "/api/models/" + subject_.repo + "/refs";
  const nlohmann::json answer = parse_json(text_of(url, kRetries), url);
  std::vector<std::string> names;
  for (const char* kind : {"branches", "tags"}) {
    const auto found = answer.is_object() ? answer.find(kind) : answer.end();
    if (found == answer.end() || !found->is_array()) continue;
    for (const nlohmann::json& branch : *found) {
      std::string name = string_at(branch, "name");
      if (is_safe_revision(name)) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string HubClient::address_of(const std::string& commit, const std::string& path) const {
  return context_.settings.endpoint + "/" + subject_.repo + "/resolve/" + escaped(commit) + "/" +
         escaped_path(path);
}

HubFileFacts HubClient::facts(const std::string& commit, const std::string& path) {
  const WebRequest request{.url = address_of(commit, path), .only_header = true};
  for (int tries = 0;; ++tries) {
    try {
      HubFileFacts facts;
      const WebResponse response = follow(request, {}, /*may_leave_hub=*/false, &facts.location);
      const std::string_view linked = response.header("x-linked-etag");
      facts.etag = plain_etag(linked.empty() ? response.header("etag") : linked);
      if (!is_plain_name(facts.etag)) {
        refuse_answer(subject_.model + ": " + path, "the hub reports no valid ETag");
      }
      facts.size = number_of(response.header("x-linked-size"));
      if (!facts.size && !response.is_redirect()) {
        facts.size = number_of(response.header("content-length"));
      }
      return facts;
    } catch (const HubError& error) {
      if (!error.is_temporary() || tries >= kRetries) throw;
      wait_after(error, tries);
    }
  }
}

}  // namespace attnscope
