#include "attnscope/features/common/options/one_token.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// "'z' (id 89), '<unk>' (id 0, unknown)".
std::string pieces_text(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
  constexpr std::size_t kMostPieces = 8;
  std::vector<std::string> pieces;
  for (const std::int64_t id : ids.first(std::min(ids.size(), kMostPieces))) {
    const bool unknown = id == tokenizer.special_tokens().unknown;
    pieces.push_back('\'' + tokenizer.text(id) + "' (id " + std::to_string(id) +
                     (unknown ? ", unknown)" : ")"));
  }
  if (ids.size() > kMostPieces) pieces.emplace_back("…");
  return join(pieces);
}

/// How a text of several tokens becomes a single token by adding or removing a leading space; empty
/// if that does not help.
std::string space_hint(const Tokenizer& tokenizer, const std::string& text) {
  const auto is_one = [&](const std::string& other) {
    if (other.empty()) return false;
    const std::vector<std::int64_t> ids = tokenizer.encode(other, /*special=*/false);
    return ids.size() == 1 && ids.front() != tokenizer.special_tokens().unknown;
  };
  if (text.starts_with(' ')) {
    return is_one(text.substr(1)) ? "without the leading space it is one token" : "";
  }
  return is_one(' ' + text) ? "with a leading space it is one token" : "";
}

/// Tokenizers differ in the leading spaces that they add to a text.
std::string_view without_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return text;
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

}  // namespace

OneToken one_token_of(const Tokenizer& tokenizer, const std::string& text,
                      const std::string& model) {
  const std::string quoted = '\'' + text + '\'';
  const std::vector<std::int64_t> ids = tokenizer.encode(text, /*special=*/false);
  OneToken out;
  if (ids.empty()) {
    out.problem = quoted + " has no tokens in " + model + ", expected one token";
  } else if (ids.size() > 1) {
    out.problem = quoted + " is " + std::to_string(ids.size()) + " tokens in " + model +
                  ", expected one token: " + pieces_text(tokenizer, ids);
  } else if (ids.front() == tokenizer.special_tokens().unknown &&
             tokenizer.spelling(ids.front()) != text) {
    out.problem = quoted + " is unknown to the tokenizer of " + model +
                  ", expected one token: " + pieces_text(tokenizer, ids);
  } else {
    out.id = ids.front();
    const std::string read = tokenizer.decode(ids, /*skip_special=*/false);
    if (without_spaces(read) != without_spaces(text) && tokenizer.spelling(ids.front()) != text) {
      out.note = quoted + " is encoded as '" + printable(read) + "' by the tokenizer of " + model;
    }
    return out;
  }
  out.hint = space_hint(tokenizer, text);
  return out;
}

std::optional<std::int64_t> id_of_digits(const std::string& text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0;
  });
  if (!digits) return std::nullopt;
  std::int64_t id = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, id).ec != std::errc()) return std::nullopt;
  return id;
}

}  // namespace attnscope
