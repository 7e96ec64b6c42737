// Settings of the hub: its address, the user's token, the cache.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace attnscope {

struct HubSettings {
  std::filesystem::path cache;                      // contains models--ORG--NAME
  std::string endpoint = "https://huggingface.co";  // without a trailing slash
  std::string token;                                // never printed, and sent only to the endpoint
  std::string token_source;                         // the variable or file that the token comes
                                                    // from
  std::string certificates;                         // a file; empty: libcurl's default
  bool offline = false;                             // use only the cache
  bool links = true;                                // snapshots are links to blobs
  double retry_seconds = 1;                         // before the first retry; doubles with each
                                                    // retry
};

/// Returns the value of an environment variable; nothing if it is not set.
using Variable = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads the same variables as huggingface_hub, so that both share one cache and one token. A token
/// is ignored if it contains control characters or its file is unreadable.
HubSettings hub_settings(const Variable& variable);

/// Returns the settings from this process's environment. Only front ends call this.
HubSettings hub_settings_of_environment();

}  // namespace attnscope
