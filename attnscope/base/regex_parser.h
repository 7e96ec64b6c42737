// Compiles patterns for PythonRegex.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/python_regex.h"

namespace attnscope {

class RegexParser {
 public:
  RegexParser(std::string_view pattern, std::string_view file) : pattern_(pattern), file_(file) {}

  /// Returns the compiled pattern, which ends with a `match` step.
  std::vector<RegexStep> parse();

  std::vector<std::bitset<256>> sets;  // the bytes that each `set` step accepts

 private:
  /// Consecutive steps, and the number of bytes that they match if it is always the same.
  struct Piece {
    std::vector<RegexStep> steps;
    std::optional<int> width = 0;
    bool repeats = true;  // false: a quantifier cannot follow
  };
  struct Counts {
    int least = 0, most = 0;  // most < 0: no upper limit
  };

  [[noreturn]] void refuse(ErrorKind kind, const std::string& problem) const;
  bool at_end() const { return at_ == pattern_.size(); }
  char peek() const { return pattern_[at_]; }
  bool take(std::string_view text);
  void append(Piece& to, const Piece& more) const;

  Piece alternatives(int depth);
  Piece sequence(int depth);
  Piece item(int depth);
  Piece group(int depth);
  Piece look(int depth, bool negated, bool behind);
  Piece set_of(const std::bitset<256>& set);
  Piece assertion(RegexStep::Kind kind) const;
  Piece escape();
  std::bitset<256> bracket();
  /// Returns the bytes that an escape sequence matches, inside or outside of brackets.
  std::bitset<256> escaped_set(char letter);
  std::optional<Counts> quantifier();
  std::optional<Counts> braces();
  Piece repeated(const Piece& piece, Counts counts) const;

  std::string_view pattern_, file_;
  std::size_t at_ = 0;
};

}  // namespace attnscope
