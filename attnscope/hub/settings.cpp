#include "attnscope/hub/settings.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// Returns the first of several variables that is set, even if it is empty.
std::optional<std::string> first_set(const Variable& variable,
                                     std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (auto value = variable(name)) return value;
  }
  return std::nullopt;
}

std::string value_or_empty(const Variable& variable, const char* name) {
  return variable(name).value_or("");
}

bool is_true(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Expands a leading `~`, and $NAME and ${NAME} for variables that are set.
std::string expanded(const std::string& text, const Variable& variable) {
  std::string out;
  std::size_t at = 0;
  if (text == "~" || text.starts_with("~/")) {
    out = variable("HOME").value_or("~");
    at = 1;
  }
  while (at < text.size()) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const bool braces = at + 1 < text.size() && text[at + 1] == '{';
    const std::size_t begin = at + (braces ? 2 : 1);
    std::size_t end = begin;
    while (end < text.size() && (braces ? text[end] != '}' : is_name_letter(text[end]))) ++end;
    const bool whole = end > begin && (!braces || end < text.size());
    const auto value = whole ? variable(text.substr(begin, end - begin)) : std::nullopt;
    const std::size_t next = whole ? end + (braces ? 1 : 0) : at + 1;
    out += value ? *value : text.substr(at, next - at);
    at = next;
  }
  return out;
}

/// Removes line breaks, and white space at both ends.
std::string trimmed_token(std::string text) {
  std::erase_if(text, [](char letter) { return letter == '\r' || letter == '\n'; });
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string token_of_file(const fs::path& path) {
  constexpr std::streamsize kMaxBytes = 10'000;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes, '\0');
  file.read(text.data(), kMaxBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return trimmed_token(text);
}

/// Certificates of the system at run time. It may differ from the system that libcurl was built
/// for.
std::string system_certificates() {
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch
                           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                           "/etc/ssl/ca-bundle.pem",              // openSUSE
                           "/etc/ssl/cert.pem"}) {                // Alpine, macOS
    std::error_code ignored;
    if (fs::exists(file, ignored)) return file;
  }
  return "";
}

void find_token(HubSettings& settings, const Variable& variable, const fs::path& home) {
  if (is_true(value_or_empty(variable, "HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    const std::string value = value_or_empty(variable, name);
    if (value.empty())
      continue;  // a variable of only white space counts as set and hides the
                 // others
    settings.token = trimmed_token(value);
    settings.token_source = name;
    break;
  }
  if (settings.token.empty()) {
    const auto named = variable("HF_TOKEN_PATH");
    const fs::path file = named ? fs::path(expanded(*named, variable)) : home / "token";
    settings.token = token_of_file(file);
    settings.token_source = file.string();
  }
  // Other characters would end the HTTP header that contains the token.
  const auto is_control = [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; };
  if (std::any_of(settings.token.begin(), settings.token.end(), is_control)) settings.token.clear();
}

}  // namespace

HubSettings hub_settings(const Variable& variable) {
  HubSettings settings;
  const fs::path caches(variable("XDG_CACHE_HOME").value_or("~/.cache"));
  const fs::path home(
      expanded(variable("HF_HOME").value_or((caches / "huggingface").string()), variable));
  const auto cache = first_set(variable, {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  settings.cache = cache ? fs::path(expanded(*cache, variable)) : home / "hub";

  if (const std::string named = value_or_empty(variable, "HF_ENDPOINT"); !named.empty()) {
    settings.endpoint = named;
    while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  }
  std::string offline = value_or_empty(variable, "HF_HUB_OFFLINE");
  if (offline.empty()) offline = value_or_empty(variable, "TRANSFORMERS_OFFLINE");
  settings.offline = is_true(offline);
  settings.links = !is_true(value_or_empty(variable, "HF_HUB_DISABLE_SYMLINKS"));
  for (const char* name : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (settings.certificates.empty()) settings.certificates = value_or_empty(variable, name);
  }
  find_token(settings, variable, home);
  return settings;
}

HubSettings hub_settings_of_environment() {
  HubSettings settings = hub_settings([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  if (settings.certificates.empty()) settings.certificates = system_certificates();
  return settings;
}

}  // namespace attnscope
