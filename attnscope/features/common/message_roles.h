// Roles of the tokens of a chat, by which attention and direct effects are summed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// Tokens of the chat template have the last one.
inline constexpr std::array<std::string_view, 5> kMessageRoles = {"system", "user", "assistant",
                                                                  "tool", "template"};

/// Returns indices in kMessageRoles; −1 for other roles. "developer" counts as "system".
std::vector<std::int64_t> role_indices(std::span<const std::string> roles);

}  // namespace attnscope
