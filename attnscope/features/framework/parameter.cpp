#include "attnscope/features/framework/parameter.h"

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::size_t kMostListedRoles = 12;

/// A list of nearly all matrices would hide the rest of the help.
std::string roles_text(const Parameter& parameter, const std::string& before) {
  if (parameter.choices.size() <= kMostListedRoles) return before + join(parameter.choices, ",");
  return "see `attnscope explain " + parameter.name + "`";
}

}  // namespace

std::string choices_text(const Parameter& parameter) {
  if (parameter.choices.empty()) return "";
  switch (parameter.type) {
    case ParameterType::role: return roles_text(parameter, "one of ");
    case ParameterType::roles: return roles_text(parameter, "one or more of ");
    case ParameterType::several: return "one or more of " + join(parameter.choices, ",");
    default: return join_alternatives(parameter.choices);
  }
}

std::string full_help(const Parameter& parameter) {
  constexpr std::size_t kMostNames = 20;  // longer lists would fill the help
  const bool is_long =
      parameter.type == ParameterType::several && parameter.choices.size() > kMostNames;
  const bool lists = !is_long && parameter.type != ParameterType::bins;
  std::string text = lists ? choices_text(parameter) : "";
  if (!text.empty() && !parameter.help.empty()) text = ": " + text;
  text = parameter.help + text;
  const std::string& usual =
      parameter.default_words.empty() ? parameter.default_text : parameter.default_words;
  if (!usual.empty()) text += " (default: " + usual + ")";
  return text;
}

}  // namespace attnscope
