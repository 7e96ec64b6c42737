// The matrices of a layer (roles), their names, and how they are divided into heads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// The projections as stored, the two circuits (products of projections), and W_K stacked on W_V.
/// In MoE layers, `gate`, `up` and `down` belong to one expert, `router` scores the experts, and
/// the `shared` matrices belong to the shared experts. MLA stores other matrices instead of W_Q,
/// W_K and W_V: from the residual stream down to the latents, and from the latents up to the heads.
/// An attention gate multiplies the head outputs before W_O, after a sigmoid.
enum class Role {
  query,
  key,
  value,
  output,
  gate,
  up,
  down,
  router,
  shared_gate,
  shared_up,
  shared_down,
  query_down,  // to the query latent
  query_up,
  kv_down,  // to the KV latent; further rows give the rotary key that all heads share
  kv_up,
  attention_gate,
  qk,
  ov,
  kv,
  // MLA circuits in the space of the latents: the NoPE part of W_Qᵀ W_K, its RoPE part, and
  // products of the up-projections.
  qk_content,
  qk_rotary,
  qk_latent,
  ov_latent
};

inline constexpr std::array<std::string_view, 23> kRoleNames = {
    "q",           "k",         "v",           "o",
    "gate",        "up",        "down",        "router",
    "shared_gate", "shared_up", "shared_down", "q_a",
    "q_b",         "kv_a",      "kv_b",        "attention_gate",
    "qk",          "ov",        "kv",          "qk_content",
    "qk_rotary",   "qk_latent", "ov_latent"};

/// In the order of Role.
inline constexpr std::array kProjections = {
    Role::query,       Role::key,       Role::value,       Role::output,
    Role::gate,        Role::up,        Role::down,        Role::router,
    Role::shared_gate, Role::shared_up, Role::shared_down, Role::query_down,
    Role::query_up,    Role::kv_down,   Role::kv_up,       Role::attention_gate};

inline constexpr std::array kFactorsOfQk = {Role::query, Role::key};
inline constexpr std::array kFactorsOfOv = {Role::output, Role::value};
inline constexpr std::array kPartsOfKv = {Role::key, Role::value};

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

/// Whether only MLA has this role.
constexpr bool is_mla_product(Role role) {
  return role == Role::qk_content || role == Role::qk_rotary || role == Role::qk_latent ||
         role == Role::ov_latent;
}

constexpr bool is_product(Role role) {
  return role == Role::qk || role == Role::ov || is_mla_product(role);
}

/// Whether the role is a product of query and key matrices.
constexpr bool is_of_queries(Role product) {
  return product != Role::ov && product != Role::ov_latent;
}

/// The components of a role: the left and the right factor of a circuit (W_Qᵀ W_K, W_O W_V), the
/// upper and the lower part of kv, or the projection itself.
constexpr std::span<const Role> factors_of(Role role) {
  switch (role) {
    case Role::qk:
    case Role::qk_content:
    case Role::qk_rotary:
    case Role::qk_latent: return kFactorsOfQk;
    case Role::ov:
    case Role::ov_latent: return kFactorsOfOv;
    case Role::kv: return kPartsOfKv;
    default: return std::span(kProjections).subspan(static_cast<std::size_t>(role), 1);
  }
}

/// Whether the role is a single projection, not a product or stack. MLA does not store W_Q, W_K and
/// W_V themselves: see Model::parts_of().
constexpr bool is_projection(Role role) { return factors_of(role).size() == 1; }

/// Whether the matrix belongs to an MLP or to each expert.
constexpr bool is_of_mlp(Role role) {
  return role == Role::gate || role == Role::up || role == Role::down;
}

/// Whether only MoE layers have this role.
constexpr bool is_beside_experts(Role role) {
  return role == Role::router || role == Role::shared_gate || role == Role::shared_up ||
         role == Role::shared_down;
}

constexpr bool is_attention(Role role) { return !is_of_mlp(role) && !is_beside_experts(role); }

/// How the attention of a model is divided into heads. Query head h reads key/value head h *
/// kv_heads / heads.
struct HeadShape {
  std::int64_t heads = 0;      // H
  std::int64_t kv_heads = 0;   // G, divides H
  std::int64_t head_dim = 0;   // d, of Q and K
  std::int64_t value_dim = 0;  // d_v, of V and O
  /// The number of trailing key dimensions that all heads share (MLA). 0 if keys are computed from
  /// a latent alone.
  std::int64_t shared_key_dim = 0;

  std::int64_t group_size() const { return heads / kv_heads; }
  std::int64_t kv_head(std::int64_t query_head) const { return query_head / group_size(); }

  /// Returns the number of heads of a role: key/value heads for K, V and kv, query heads for Q, O
  /// and the circuits, 0 for MLPs and latents.
  std::int64_t count(Role role) const {
    if (!is_attention(role) || role == Role::query_down || role == Role::kv_down) return 0;
    const bool of_kv =
        role == Role::key || role == Role::value || role == Role::kv || role == Role::kv_up;
    return of_kv ? kv_heads : heads;
  }

  /// Returns the size of one head of the role: rows of W_Q, W_K, W_V and kv, columns of W_O, or the
  /// inner dimension of a circuit. 0 for MLPs and latents.
  std::int64_t inner_dim(Role role) const {
    switch (role) {
      case Role::query:
      case Role::query_up:
      case Role::key:
      case Role::qk: return head_dim;
      case Role::value:
      case Role::output:
      case Role::attention_gate:
      case Role::ov:
      case Role::ov_latent: return value_dim;
      case Role::qk_content:
      case Role::qk_latent: return head_dim - shared_key_dim;
      case Role::qk_rotary: return shared_key_dim;
      case Role::kv: return head_dim + value_dim;
      case Role::kv_up: return head_dim - shared_key_dim + value_dim;
      case Role::query_down:
      case Role::kv_down:
      case Role::gate:
      case Role::up:
      case Role::down:
      case Role::router:
      case Role::shared_gate:
      case Role::shared_up:
      case Role::shared_down: break;
    }
    return 0;
  }

  /// Returns the length of the axis that is divided into heads: rows of W_Q, W_K and W_V, columns
  /// of W_O.
  std::int64_t total_dim(Role role) const { return count(role) * inner_dim(role); }
};

}  // namespace attnscope
