#include "attnscope/hub/model_id.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxPartLetters = 96;
constexpr std::size_t kMaxRevisionLetters = 250;
/// File extensions that mark the text as a missing file, not as a model name.
constexpr std::array<std::string_view, 8> kFileEndings = {".safetensors", ".json", ".bin",  ".pt",
                                                          ".pth",         ".ckpt", ".gguf", ".h5"};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_letter(char letter) {
  return is_digit(letter) || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

bool ends_like_a_file(std::string_view name) {
  return std::any_of(kFileEndings.begin(), kFileEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// The hub's rule for each half of a model name.
bool is_repo_part(std::string_view part) {
  const auto allowed = [](char letter) {
    return is_letter(letter) || letter == '-' || letter == '_' || letter == '.';
  };
  const auto at_end = [](char letter) { return letter == '-' || letter == '.'; };
  return !part.empty() && part.size() <= kMaxPartLetters &&
         std::all_of(part.begin(), part.end(), allowed) && !at_end(part.front()) &&
         !at_end(part.back()) && part.find("--") == part.npos && part.find("..") == part.npos &&
         !part.ends_with(".git");
}

/// Removes the number at the front of `text` and returns its digits without leading zeros.
std::string_view take_digits(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool comes_before(std::string_view one, std::string_view other) {
  while (!one.empty() && !other.empty()) {
    if (is_digit(one.front()) && is_digit(other.front())) {
      const std::string_view number = take_digits(one), other_number = take_digits(other);
      if (number.size() != other_number.size()) return number.size() < other_number.size();
      if (number != other_number) return number < other_number;
      continue;
    }
    if (one.front() != other.front()) return one.front() < other.front();
    one.remove_prefix(1);
    other.remove_prefix(1);
  }
  return one.size() < other.size();
}

}  // namespace

std::string HubModelId::text() const {
  return repo + (part.empty() ? "" : "/" + part) + (names_revision ? "@" + revision : "");
}

bool is_safe_file_name(std::string_view name) {
  if (name.empty() || name.front() == '/') return false;
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return std::none_of(name.begin(), name.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f || letter == '\\';
  });
}

bool is_safe_revision(std::string_view revision) {
  return revision.size() <= kMaxRevisionLetters && is_safe_file_name(revision);
}

std::optional<HubModelId> parse_hub_model(std::string_view text) {
  HubModelId id;
  const std::size_t at = text.find('@');
  const std::string_view path = text.substr(0, at);
  if (at != text.npos) {
    id.revision = text.substr(at + 1);
    id.names_revision = true;
    if (!is_safe_revision(id.revision)) return std::nullopt;
  }
  const std::size_t first = path.find('/');
  const std::size_t second = first == path.npos ? path.npos : path.find('/', first + 1);
  id.repo = path.substr(0, second);
  const std::string_view name =
      first == path.npos ? std::string_view(id.repo) : std::string_view(id.repo).substr(first + 1);
  if (!is_repo_part(name) || ends_like_a_file(name)) return std::nullopt;
  if (first != path.npos && !is_repo_part(path.substr(0, first))) return std::nullopt;
  if (second != path.npos) {
    id.part = path.substr(second + 1);
    while (id.part.ends_with('/')) id.part.pop_back();
    if (!id.part.empty() && !is_safe_file_name(id.part)) return std::nullopt;
  }
  return id;
}

bool is_commit(std::string_view revision) {
  constexpr std::size_t kDigits = 40;
  return revision.size() == kDigits &&
         revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_revision_pattern(std::string_view revision) {
  return revision.find_first_of("*?") != revision.npos;
}

std::vector<std::string> matching_revisions(std::string_view pattern,
                                            const std::vector<std::string>& names) {
  const std::string wanted(pattern);
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (fnmatch(wanted.c_str(), name.c_str(), FNM_NOESCAPE) == 0) found.push_back(name);
  }
  std::sort(found.begin(), found.end(), comes_before);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace attnscope
