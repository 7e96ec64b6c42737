// The matrices that attnscope speaks of, and the names users type for them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// Projections as stored, the two circuits that are products of projections, and W_K stacked on
/// W_V.
enum class Role { query, key, value, output, gate, up, down, qk, ov, kv };

inline constexpr std::array<std::string_view, 10> kRoleNames = {"q",  "k",    "v",  "o",  "gate",
                                                                "up", "down", "qk", "ov", "kv"};

inline constexpr std::array kProjections = {Role::query, Role::key, Role::value, Role::output,
                                            Role::gate,  Role::up,  Role::down};

constexpr std::string_view role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

constexpr std::optional<Role> role_from_name(std::string_view name) {
  for (std::size_t index = 0; index < kRoleNames.size(); ++index) {
    if (kRoleNames[index] == name) return static_cast<Role>(index);
  }
  return std::nullopt;
}

inline std::vector<std::string> role_names() { return {kRoleNames.begin(), kRoleNames.end()}; }

constexpr bool is_product(Role role) { return role == Role::qk || role == Role::ov; }

/// One matrix of the file, as against what is made of two.
constexpr bool is_projection(Role role) { return !is_product(role) && role != Role::kv; }

constexpr bool is_attention(Role role) {
  return role != Role::gate && role != Role::up && role != Role::down;
}

inline std::vector<Role> factors_of(Role role) {
  if (role == Role::qk) return {Role::query, Role::key};
  if (role == Role::ov) return {Role::output, Role::value};
  if (role == Role::kv) return {Role::key, Role::value};
  return {role};
}

/// How the attention of one model is cut into heads. Query head h reads kv head h * kv_heads /
/// heads.
struct HeadShape {
  std::int64_t heads = 0;      // H
  std::int64_t kv_heads = 0;   // G, divides H
  std::int64_t head_dim = 0;   // d, of Q and K
  std::int64_t value_dim = 0;  // d_v, of V and O

  std::int64_t group_size() const { return heads / kv_heads; }
  std::int64_t kv_head(std::int64_t query_head) const { return query_head / group_size(); }

  /// Rows of per-head results: kv heads for K, V and both stacked, query heads for Q, O and the
  /// circuits, none for the MLP.
  std::int64_t count(Role role) const {
    if (!is_attention(role)) return 0;
    return role == Role::key || role == Role::value || role == Role::kv ? kv_heads : heads;
  }
};

}  // namespace attnscope
