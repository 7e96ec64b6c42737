#include "attnscope/model/layout/layout_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

using nlohmann::json;

/// Limits the length of a text, because every layer stores the names of its norms.
constexpr std::size_t kMaxBytes = 1000;

LayoutFields::LayoutFields(const json& object, std::string_view file, std::string place)
    : object_(&object), file_(file), place_(std::move(place)) {
  if (!object.is_object()) fail("is not a JSON object");
}

void LayoutFields::fail(const std::string& problem) const {
  throw Error(ErrorKind::format, {.file = file_, .place = place_, .problem = verbatim(problem)});
}

const json* LayoutFields::find(const std::string& key) {
  known_.push_back(key);
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> LayoutFields::number(const std::string& key, std::int64_t least) {
  const json* found = find(key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number_integer() || found->get<std::int64_t>() < least ||
      found->get<std::int64_t>() > kMaxSize) {
    fail("'" + key + "' is not a whole number from " + std::to_string(least) + " to " +
         std::to_string(kMaxSize));
  }
  return found->get<std::int64_t>();
}

std::int64_t LayoutFields::required_number(const std::string& key) {
  const auto value = number(key);
  if (!value) fail("has no '" + key + "'");
  return *value;
}

std::optional<double> LayoutFields::not_negative(const std::string& key) {
  const json* found = find(key);
  if (found == nullptr) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!std::isfinite(value) || value < 0) fail("'" + key + "' is not a non-negative number");
  return value;
}

std::optional<double> LayoutFields::positive(const std::string& key) {
  const auto value = not_negative(key);
  if (value == 0) fail("'" + key + "' is not a positive number");
  return value;
}

std::string LayoutFields::text(const std::string& key, const std::string& fallback) {
  const json* found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_string()) fail("'" + key + "' is not a string");
  auto value = found->get<std::string>();
  if (value.size() > kMaxBytes) {
    fail("'" + key + "' is longer than " + std::to_string(kMaxBytes) + " bytes");
  }
  return value;
}

std::string LayoutFields::required_text(const std::string& key) {
  std::string value = text(key);
  if (value.empty()) fail("has no '" + key + "'");
  return value;
}

bool LayoutFields::flag(const std::string& key, bool fallback) {
  const json* found = find(key);
  if (found == nullptr) return fallback;
  if (!found->is_boolean()) fail("'" + key + "' is not true or false");
  return found->get<bool>();
}

std::optional<LayoutFields> LayoutFields::object(const std::string& key) {
  const json* found = find(key);
  if (found == nullptr) return std::nullopt;
  return LayoutFields(*found, file_, place_.empty() ? key : place_ + "." + key);
}

std::vector<Role> LayoutFields::roles(const std::string& key) {
  const json* found = find(key);
  if (found == nullptr) return {};
  if (!found->is_array() || found->empty() || found->size() > kProjections.size()) {
    fail("'" + key + "' is not a list of roles");
  }
  std::vector<Role> roles;
  for (const json& value : *found) {
    const Role role = parse_layout_role(value, *this);
    if (std::count(roles.begin(), roles.end(), role) != 0) {
      fail("'" + key + "' lists a role twice");
    }
    roles.push_back(role);
  }
  return roles;
}

void LayoutFields::refuse_unknown() const {
  for (const auto& [key, value] : object_->items()) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      fail("unknown field '" + key + "'" + suggestion(key, known_));
    }
  }
}

void LayoutFields::refuse_choice(const std::string& key, const std::string& name,
                                 const std::vector<std::string>& names) const {
  fail("'" + key + "' is '" + name + "' (choices: " + join(names) + ")");
}

Role parse_layout_role(const json& value, const LayoutFields& fields) {
  if (!value.is_string()) fields.fail("a role is not a string");
  const auto& name = value.get_ref<const std::string&>();
  const auto role = role_from_name(name);
  if (!role || !is_projection(*role)) {
    std::vector<std::string> names;
    for (const Role projection : kProjections) names.emplace_back(role_name(projection));
    fields.fail("unknown role '" + name + "' (roles: " + join(names) + ")");
  }
  return *role;
}

}  // namespace attnscope
