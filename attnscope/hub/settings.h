// Settings of the hub: its address, the user's token, the cache.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace attnscope {

struct HubSettings {
  std::filesystem::path cache;                      // holds models--ORG--NAME
  std::string endpoint = "https://huggingface.co";  // without a slash at its end
  std::string token;                                // never printed, and sent to the endpoint only
  std::string token_source;                         // the variable or file that it is from
  std::string certificates;                         // a file; empty: libcurl's own
  bool offline = false;                             // only what the cache holds
  bool links = true;                                // snapshots link to blobs
  double retry_seconds = 1;                         // before the first retry; doubles each time
};

/// The value of an environment variable; nothing if it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads variables as huggingface_hub does, so that both share one cache and one token. A token
/// with control characters, or in an unreadable file, counts as none.
HubSettings hub_settings(const Variable& variable);

/// The settings by this process's environment. Only front ends call this.
HubSettings hub_settings_of_environment();

}  // namespace attnscope
