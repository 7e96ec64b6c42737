// Regular expressions in the syntax of Python's `re`, for patterns from untrusted files.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

/// One instruction of a compiled pattern. `a` and `b` are relative to its own index.
struct RegexStep {
  enum class Kind { set, split, jump, start, end, last, boundary, no_boundary, look, match };
  Kind kind = Kind::match;
  int a = 0, b = 0;      // set: index of the set; split, jump: targets; look: the step after the
                         // lookaround
  bool negated = false;  // for `look`
  int behind = -1;       // for `look`: start of the lookbehind, in bytes before the position; -1:
                         // lookahead
};

/// A compiled pattern. The time of a match grows with the product of the lengths of pattern and
/// text, never exponentially. Supports ASCII patterns with lookaround. Back-references,
/// conditionals, atomic groups, possessive quantifiers and flags are not supported.
class PythonRegex {
 public:
  /// Throws Error(unsupported) that names `file`, the pattern and the unsupported element. Throws
  /// Error(format) if Python rejects the pattern too.
  PythonRegex(std::string_view pattern, std::string_view file);

  /// Matches from the start of `text`, as re.match(). Subtracts the steps that it needs from
  /// `budget`, and throws Error(unsupported) if `budget` is used up.
  bool matches_start(std::string_view text, std::uint64_t& budget) const;

  /// Matches the whole of `text`, as re.fullmatch().
  bool matches_whole(std::string_view text, std::uint64_t& budget) const;

 private:
  friend class RegexRun;
  std::string pattern_, file_;
  std::vector<RegexStep> steps_;
  std::vector<std::bitset<256>> sets_;
};

}  // namespace attnscope
