// Where the hub is, who asks, and where its files are kept.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace attnscope {

struct HubSettings {
  std::filesystem::path cache;                      // holds models--ORG--NAME
  std::string endpoint = "https://huggingface.co";  // without a slash at its end
  std::string token;                                // never printed, and for the endpoint alone
  std::string token_source;                         // what names it: a variable or a file
  std::string certificates;                         // a file; empty: libcurl's own
  bool offline = false;                             // only what the cache holds
  bool links = true;                                // snapshots link to blobs
  double retry_seconds = 1;                         // before the first retry; twice that next
};

/// The value of a variable of the environment, nothing where it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

/// As huggingface_hub reads its variables, so that both share one cache and one token. A token
/// with control characters, and one in a file that cannot be read, is none.
HubSettings hub_settings(const Variable& variable);

/// As the variables of this process say.
HubSettings hub_settings_of_environment();

}  // namespace attnscope
