#include "attnscope/hub/hub_error.h"

#include <charconv>

namespace attnscope {
namespace {

/// Returns the number after `key` in a header such as "\"api\";r=0;t=55".
std::optional<double> number_after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == text.npos) return std::nullopt;
  unsigned number = 0;
  const char* begin = text.data() + found + key.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
  if (error != std::errc() || end == begin) return std::nullopt;
  return number;
}

std::optional<double> wait_of(const WebResponse& response) {
  const std::string_view limit = response.header("ratelimit");
  const auto left = number_after(limit, ";r=");
  if (left && *left == 0) {
    if (const auto seconds = number_after(limit, ";t=")) return *seconds + 1;
  }
  if (const auto seconds = number_after(response.header("retry-after"), "")) return *seconds + 1;
  return std::nullopt;
}

std::string place_of(const HubSubject& subject) {
  return subject.file.empty() ? subject.model : subject.model + ": " + subject.file;
}

/// Returns the server's error message, to be appended to a text.
std::string own_words(const WebResponse& response) {
  const std::string_view words = response.header("x-error-message");
  return words.empty() ? "" : ": " + verbatim(std::string(words));
}

HubError no_model(const HubSubject& subject, const std::string& host, const HubSettings& settings) {
  const std::string token = settings.token.empty()
                                ? "for a private model, set HF_TOKEN or run hf auth login"
                                : "it may be private: the token from " +
                                      verbatim(settings.token_source) + " cannot open it";
  return {HubFault::no_model,
          {.file = subject.model,
           .problem = "no such local file or folder, and no such model on " + verbatim(host),
           .hint = token}};
}

HubError gated(const HubSubject& subject, const HubSettings& settings) {
  std::string hint = "accept the conditions at " + settings.endpoint + "/" + subject.repo;
  if (settings.token.empty()) hint += ", then set HF_TOKEN or run hf auth login";
  return {HubFault::gated,
          {.file = subject.model,
           .problem = "is gated: only users who have accepted its conditions can download it",
           .hint = verbatim(hint)}};
}

HubError bad_token(const std::string& host, const HubSettings& settings) {
  return {HubFault::bad_token,
          {.place = settings.token_source,
           .problem = verbatim(host) + " does not accept this token",
           .hint = verbatim("create a new token at " + settings.endpoint +
                            "/settings/tokens, or send none: HF_HUB_DISABLE_IMPLICIT_TOKEN=1")}};
}

}  // namespace

HubError error_of_answer(const WebResponse& response, const std::string& host,
                         const HubSubject& subject, const HubSettings& settings) {
  const std::string_view code = response.header("x-error-code");
  const int status = response.status;
  constexpr std::string_view kBadToken = "Invalid credentials in Authorization header";
  if (status == 401 && !settings.token.empty() && response.header("x-error-message") == kBadToken) {
    return bad_token(host, settings);
  }
  if (code == "GatedRepo") return gated(subject, settings);
  if (code == "RevisionNotFound") {
    return {
        HubFault::no_revision,
        {.file = subject.model, .problem = "has no revision '" + verbatim(subject.revision) + "'"}};
  }
  if (code == "EntryNotFound") {
    return {HubFault::no_file, {.file = place_of(subject), .problem = "no such file on the hub"}};
  }
  if (code == "RepoNotFound" || status == 401 || status == 404) {
    return no_model(subject, host, settings);
  }
  if (status == 429) {
    return {
        HubFault::rate_limited,
        {.file = place_of(subject),
         .problem = verbatim(host) + " limits the request rate, even after waiting",
         .hint = settings.token.empty() ? "set HF_TOKEN: the limit is higher with a token" : ""},
        /*is_temporary=*/true,
        wait_of(response)};
  }
  const bool is_temporary = status >= 500 || status == 408;
  return {HubFault::other,
          {.file = place_of(subject),
           .problem = verbatim(host) + " responded with HTTP status " + std::to_string(status) +
                      own_words(response),
           .hint = is_temporary ? "try again later" : ""},
          is_temporary,
          wait_of(response)};
}

HubError error_of_connection(const ConnectionError& error, const std::string& host,
                             const HubSubject& subject) {
  return {HubFault::unreachable,
          {.file = place_of(subject),
           .problem = (error.was_connected() ? "the connection to " : "cannot reach ") +
                      verbatim(host) + (error.was_connected() ? " was interrupted: " : ": ") +
                      verbatim(error.what()),
           .hint = "set HF_HUB_OFFLINE=1 to open models that are already in the cache"},
          /*is_temporary=*/error.was_connected()};
}

}  // namespace attnscope
