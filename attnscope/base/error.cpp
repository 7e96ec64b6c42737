#include "attnscope/base/error.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/text.h"

namespace attnscope {

namespace {

/// Names from files can be megabytes long, but an error message must fit on a readable line.
std::string short_line(std::string_view text) {
  constexpr std::size_t kMax = 3000;  // large enough for a suggested layout file, which takes 1,200
  if (text.size() <= kMax) return printable(text);
  return printable(text.substr(0, kMax / 2)) + " ... " +
         printable(text.substr(text.size() - kMax / 2));
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string where_text(const ErrorParts& parts, const SpellParameter& spell) {
  if (!parts.parameter.empty()) return spell(parts.parameter);
  if (parts.file.empty()) return parts.place;
  const bool names_tensor =
      parts.tensor.empty() || parts.problem.starts_with("tensor '" + verbatim(parts.tensor) + "'");
  return parts.file + (names_tensor ? "" : ": tensor '" + parts.tensor + "'") +
         (parts.place.empty() ? "" : ": " + parts.place);
}

std::string bare(std::string_view name) { return std::string(name); }

}  // namespace

std::string verbatim(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '{' ? 2 : 1, c);
  return out;
}

std::string spell_parameters(std::string_view text, const SpellParameter& spell) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find('{');
    const std::size_t close = text.find('}', open);
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::string_view name =
        close == std::string_view::npos ? "" : text.substr(open + 1, close - open - 1);
    if (is_name(name)) {
      out += spell(name);
      text.remove_prefix(close + 1);
    } else {
      out += '{';
      text.remove_prefix(open + (text.substr(open).starts_with("{{") ? 2 : 1));
    }
  }
}

std::string error_text(const ErrorParts& parts, const SpellParameter& spell) {
  std::string problem = spell_parameters(parts.problem, spell);
  if (!parts.beside.empty()) {
    std::vector<std::string> others;
    for (const std::string& name : parts.beside) others.push_back(spell(name));
    problem += "; cannot be combined with " + join_words(others);
  }
  if (!parts.hint.empty()) problem += " (" + spell_parameters(parts.hint, spell) + ")";
  const std::string where = where_text(parts, spell);
  return (where.empty() ? "" : short_line(where) + ": ") + short_line(problem);
}

Error::Error(ErrorKind kind, ErrorParts parts)
    : std::runtime_error(error_text(parts, bare)), kind_(kind), parts_(std::move(parts)) {}

Error::Error(ErrorKind kind, std::string_view place, std::string_view problem,
             std::string_view hint)
    : Error(kind, {.place = std::string(place),
                   .problem = std::string(problem),
                   .hint = std::string(hint)}) {}

}  // namespace attnscope
