// Regular expressions of Python's `re`, for patterns from untrusted files.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// One instruction of a compiled pattern. `a` and `b` are relative to its own place.
struct RegexStep {
  enum class Kind { set, split, jump, start, end, last, boundary, no_boundary, look, match };
  Kind kind = Kind::match;
  int a = 0, b = 0;      // set: index of the set; split, jump: targets; look: what follows it
  bool negated = false;  // of a look
  int behind = -1;       // of a look: how far behind its body starts; -1: it looks ahead
};

/// Matches in time that grows with the product of the lengths, never exponentially. Supports ASCII
/// patterns with lookaround; no back-references, conditionals, atomic or possessive parts, flags.
class PythonRegex {
 public:
  /// Throws Error(unsupported) that names `file`, the pattern, and what in it is not supported;
  /// Error(format) for what Python refuses too.
  PythonRegex(std::string_view pattern, std::string_view file);

  /// As re.match(): from the start of `text` on. Takes the steps that it needs from `budget`, and
  /// throws Error(unsupported) if that is used up.
  bool matches_start(std::string_view text, std::uint64_t& budget) const;

  /// As re.fullmatch().
  bool matches_whole(std::string_view text, std::uint64_t& budget) const;

 private:
  friend class RegexRun;
  std::string pattern_, file_;
  std::vector<RegexStep> steps_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace attnscope
