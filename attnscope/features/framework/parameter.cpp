#include "attnscope/features/framework/parameter.h"

#include "attnscope/base/text.h"

namespace attnscope {

std::string choices_text(const Parameter& parameter) {
  if (parameter.choices.empty()) return "";
  switch (parameter.type) {
    case ParameterType::role: return "one of " + join(parameter.choices, ",");
    case ParameterType::several:
    case ParameterType::roles: return "any of " + join(parameter.choices, ",");
    default: return join_alternatives(parameter.choices);
  }
}

std::string full_help(const Parameter& parameter) {
  std::string text = parameter.type == ParameterType::bins ? "" : choices_text(parameter);
  if (!text.empty() && !parameter.help.empty()) text = ": " + text;
  text = parameter.help + text;
  const std::string& usual =
      parameter.default_words.empty() ? parameter.default_text : parameter.default_words;
  if (!usual.empty()) text += " (default: " + usual + ")";
  return text;
}

}  // namespace attnscope
