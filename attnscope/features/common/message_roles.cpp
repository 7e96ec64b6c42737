#include "attnscope/features/common/message_roles.h"

#include <algorithm>

namespace attnscope {

std::vector<std::int64_t> role_indices(std::span<const std::string> roles) {
  std::vector<std::int64_t> out;
  for (const std::string& role : roles) {
    const std::string_view own = role == "developer" ? "system" : std::string_view(role);
    const auto found = std::find(kMessageRoles.begin(), kMessageRoles.end(), own);
    out.push_back(found == kMessageRoles.end() ? -1 : found - kMessageRoles.begin());
  }
  return out;
}

}  // namespace attnscope
