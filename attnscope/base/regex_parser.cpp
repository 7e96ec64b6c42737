#include "attnscope/base/regex_parser.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace attnscope {
namespace {

constexpr std::size_t kMaxSteps = 20'000;
constexpr int kMaxRegexDepth = 100;
constexpr int kMaxCount = 1'000;

using ByteSet = std::bitset<256>;

ByteSet range_of(unsigned char first, unsigned char last) {
  ByteSet out;
  for (int byte = first; byte <= last; ++byte) out.set(static_cast<std::size_t>(byte));
  return out;
}

ByteSet one(char byte) {
  return range_of(static_cast<unsigned char>(byte), static_cast<unsigned char>(byte));
}

ByteSet digits() { return range_of('0', '9'); }
ByteSet words() { return digits() | range_of('a', 'z') | range_of('A', 'Z') | one('_'); }
/// Python counts the four ASCII separators (0x1C to 0x1F) as white space.
ByteSet spaces() { return range_of('\t', '\r') | range_of(0x1c, 0x20); }

bool is_letter_or_digit(char byte) { return std::isalnum(static_cast<unsigned char>(byte)) != 0; }

}  // namespace

void RegexParser::refuse(ErrorKind kind, const std::string& problem) const {
  throw Error(kind, {.file = std::string(file_),
                     .problem = verbatim("pattern '" + std::string(pattern_) + "' " + problem)});
}

bool RegexParser::take(std::string_view text) {
  if (!pattern_.substr(at_).starts_with(text)) return false;
  at_ += text.size();
  return true;
}

void RegexParser::append(Piece& to, const Piece& more) const {
  if (to.steps.size() + more.steps.size() > kMaxSteps) {
    refuse(ErrorKind::unsupported, "is too large");
  }
  to.steps.insert(to.steps.end(), more.steps.begin(), more.steps.end());
  to.width = to.width && more.width ? std::optional(*to.width + *more.width) : std::nullopt;
}

std::vector<RegexStep> RegexParser::parse() {
  if (std::any_of(pattern_.begin(), pattern_.end(), [](char byte) { return byte < 0; })) {
    refuse(ErrorKind::unsupported, "has characters outside ASCII, which are not supported");
  }
  Piece whole = alternatives(0);
  if (!at_end()) refuse(ErrorKind::format, "has an unmatched ')'");
  whole.steps.push_back({.kind = RegexStep::Kind::match});
  return std::move(whole.steps);
}

RegexParser::Piece RegexParser::alternatives(int depth) {
  if (depth > kMaxRegexDepth) refuse(ErrorKind::unsupported, "is nested too deeply");
  Piece out = sequence(depth);
  while (take("|")) {
    const Piece other = sequence(depth);
    const int left = static_cast<int>(out.steps.size());
    const int right = static_cast<int>(other.steps.size());
    const bool same = out.width == other.width;
    Piece both{.steps = {{.kind = RegexStep::Kind::split, .a = 1, .b = left + 2}}};
    append(both, out);
    both.steps.push_back({.kind = RegexStep::Kind::jump, .a = right + 1});
    append(both, other);
    both.width = same ? other.width : std::nullopt;
    out = std::move(both);
  }
  return out;
}

RegexParser::Piece RegexParser::sequence(int depth) {
  Piece out;
  while (!at_end() && peek() != '|' && peek() != ')') {
    Piece next = item(depth);
    if (const auto counts = quantifier()) {
      if (!next.repeats) refuse(ErrorKind::format, "has a quantifier with nothing to repeat");
      next = repeated(next, *counts);
      if (quantifier()) refuse(ErrorKind::format, "has two quantifiers in a row");
    }
    append(out, next);
  }
  return out;
}

RegexParser::Piece RegexParser::set_of(const ByteSet& set) {
  const auto found = std::find(sets.begin(), sets.end(), set);
  const int index = static_cast<int>(found - sets.begin());
  if (found == sets.end()) sets.push_back(set);
  return {.steps = {{.kind = RegexStep::Kind::set, .a = index}}, .width = 1};
}

RegexParser::Piece RegexParser::assertion(RegexStep::Kind kind) const {
  return {.steps = {{.kind = kind}}, .width = 0, .repeats = false};
}

RegexParser::Piece RegexParser::item(int depth) {
  const char next = peek();
  if (next == '*' || next == '+' || next == '?') {
    refuse(ErrorKind::format, "has a quantifier with nothing to repeat");
  }
  if (next == '{') {
    const std::size_t before = at_;
    if (braces()) refuse(ErrorKind::format, "has a quantifier with nothing to repeat");
    at_ = before;
  }
  ++at_;
  switch (next) {
    case '(': return group(depth + 1);
    case '[': return set_of(bracket());
    case '\\': return escape();
    case '.': return set_of(~one('\n'));
    case '^': return assertion(RegexStep::Kind::start);
    case '$': return assertion(RegexStep::Kind::end);
    default: return set_of(one(next));
  }
}

RegexParser::Piece RegexParser::group(int depth) {
  if (take("?#")) {
    while (!at_end() && peek() != ')') ++at_;
    if (!take(")")) refuse(ErrorKind::format, "has a '(' without ')'");
    return {.repeats = false};
  }
  if (take("?=")) return look(depth, /*negated=*/false, /*behind=*/false);
  if (take("?!")) return look(depth, /*negated=*/true, /*behind=*/false);
  if (take("?<=")) return look(depth, /*negated=*/false, /*behind=*/true);
  if (take("?<!")) return look(depth, /*negated=*/true, /*behind=*/true);
  if (take("?P<")) {
    const std::size_t end = pattern_.find('>', at_);
    if (end == std::string_view::npos || end == at_) {
      refuse(ErrorKind::format, "has a group name without an end");
    }
    at_ = end + 1;
  } else if (take("?P=")) {
    refuse(ErrorKind::unsupported, "has a back-reference, which is not supported");
  } else if (take("?>")) {
    refuse(ErrorKind::unsupported, "has an atomic group, which is not supported");
  } else if (take("?(")) {
    refuse(ErrorKind::unsupported, "has a conditional group, which is not supported");
  } else if (!take("?:") && take("?")) {
    const bool flags = !at_end() && (is_letter_or_digit(peek()) || peek() == '-') && peek() != 'P';
    if (flags) refuse(ErrorKind::unsupported, "sets flags, which are not supported");
    refuse(ErrorKind::format, "has an unknown kind of group");
  }
  Piece out = alternatives(depth);
  if (!take(")")) refuse(ErrorKind::format, "has a '(' without ')'");
  return out;
}

RegexParser::Piece RegexParser::look(int depth, bool negated, bool behind) {
  Piece body = alternatives(depth);
  if (!take(")")) refuse(ErrorKind::format, "has a '(' without ')'");
  if (behind && !body.width) refuse(ErrorKind::format, "has a lookbehind of variable width");
  Piece out{.steps = {{.kind = RegexStep::Kind::look,
                       .a = static_cast<int>(body.steps.size()) + 2,
                       .negated = negated,
                       .behind = behind ? *body.width : -1}}};
  body.steps.push_back({.kind = RegexStep::Kind::match});
  append(out, body);
  out.width = 0;
  return out;
}

ByteSet RegexParser::escaped_set(char letter) {
  switch (letter) {
    case 'd': return digits();
    case 'D': return ~digits();
    case 'w': return words();
    case 'W': return ~words();
    case 's': return spaces();
    case 'S': return ~spaces();
    case 'a': return one('\a');
    case 'f': return one('\f');
    case 'n': return one('\n');
    case 'r': return one('\r');
    case 't': return one('\t');
    case 'v': return one('\v');
    default: break;
  }
  if (letter == 'x') {
    unsigned value = 0;
    for (int digit = 0; digit < 2; ++digit, ++at_) {
      if (at_end() || std::isxdigit(static_cast<unsigned char>(peek())) == 0) {
        refuse(ErrorKind::format, "has a '\\x' without two hexadecimal digits");
      }
      const char byte = peek();
      value =
          16 * value + static_cast<unsigned>(byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10);
    }
    if (value > 127) {
      refuse(ErrorKind::unsupported, "has characters outside ASCII, which are not supported");
    }
    return one(static_cast<char>(value));
  }
  if (letter >= '1' && letter <= '9') {
    refuse(ErrorKind::unsupported, "has a back-reference, which is not supported");
  }
  if (is_letter_or_digit(letter)) {
    refuse(ErrorKind::unsupported, std::string("has '\\") + letter + "', which is not supported");
  }
  return one(letter);
}

RegexParser::Piece RegexParser::escape() {
  if (at_end()) refuse(ErrorKind::format, "ends with '\\'");
  const char letter = pattern_[at_++];
  switch (letter) {
    case 'A': return assertion(RegexStep::Kind::start);
    case 'Z': return assertion(RegexStep::Kind::last);
    case 'b': return assertion(RegexStep::Kind::boundary);
    case 'B': return assertion(RegexStep::Kind::no_boundary);
    default: return set_of(escaped_set(letter));
  }
}

ByteSet RegexParser::bracket() {
  const bool negated = take("^");
  ByteSet out;
  const auto next = [&](bool& single, char& byte) {
    byte = pattern_[at_++];
    single = true;
    if (byte != '\\') return one(byte);
    if (at_end()) refuse(ErrorKind::format, "ends with '\\'");
    const char letter = pattern_[at_++];
    const ByteSet set = letter == 'b' ? one('\b') : escaped_set(letter);
    single = set.count() == 1;
    for (std::size_t at = 0; single && at < set.size(); ++at) {
      if (set.test(at)) byte = static_cast<char>(at);
    }
    return set;
  };
  for (bool first = true; at_end() || first || peek() != ']'; first = false) {
    if (at_end()) refuse(ErrorKind::format, "has a '[' without ']'");
    bool single = false, last_single = false;
    char low = 0, high = 0;
    ByteSet set = next(single, low);
    const bool ranges = at_ + 1 < pattern_.size() && peek() == '-' && pattern_[at_ + 1] != ']';
    if (ranges) {
      ++at_;
      next(last_single, high);
      if (!single || !last_single || high < low) {
        refuse(ErrorKind::format, "has an invalid character range");
      }
      set = range_of(static_cast<unsigned char>(low), static_cast<unsigned char>(high));
    }
    out |= set;
  }
  ++at_;
  return negated ? ~out : out;
}

std::optional<RegexParser::Counts> RegexParser::braces() {
  const std::size_t before = at_;
  const auto number = [&]() -> std::optional<int> {
    std::optional<int> value;
    while (!at_end() && std::isdigit(static_cast<unsigned char>(peek())) != 0) {
      value = std::min(10 * value.value_or(0) + (peek() - '0'), kMaxCount + 1);
      ++at_;
    }
    return value;
  };
  if (take("{")) {
    const std::optional<int> least = number();
    const bool comma = take(",");
    const std::optional<int> most = comma ? number() : least;
    if (take("}") && (least || comma)) {
      const Counts counts{.least = least.value_or(0), .most = most.value_or(-1)};
      if (counts.least > kMaxCount || counts.most > kMaxCount) {
        refuse(ErrorKind::unsupported, "repeats more than 1000 times");
      }
      if (most && counts.most < counts.least) {
        refuse(ErrorKind::format, "has a repetition range whose maximum is below its minimum");
      }
      return counts;
    }
  }
  at_ = before;
  return std::nullopt;
}

std::optional<RegexParser::Counts> RegexParser::quantifier() {
  std::optional<Counts> counts;
  if (take("*")) {
    counts = {.least = 0, .most = -1};
  } else if (take("+")) {
    counts = {.least = 1, .most = -1};
  } else if (take("?")) {
    counts = {.least = 0, .most = 1};
  } else {
    counts = braces();
  }
  if (!counts) return std::nullopt;
  if (take("+")) {
    refuse(ErrorKind::unsupported, "has a possessive quantifier, which is not supported");
  }
  take("?");  // greedy and lazy quantifiers differ only in which match is found
  return counts;
}

RegexParser::Piece RegexParser::repeated(const Piece& piece, Counts counts) const {
  const int size = static_cast<int>(piece.steps.size());
  Piece out;
  for (int count = 0; count < counts.least; ++count) append(out, piece);
  const auto fixed = out.width;
  if (counts.most < 0) {
    append(out, {.steps = {{.kind = RegexStep::Kind::split, .a = 1, .b = size + 2}}});
    append(out, piece);
    append(out, {.steps = {{.kind = RegexStep::Kind::jump, .a = -(size + 1)}}});
  }
  for (int count = counts.least; count < counts.most; ++count) {
    append(out, {.steps = {{.kind = RegexStep::Kind::split, .a = 1, .b = size + 1}}});
    append(out, piece);
  }
  const bool same = counts.most == counts.least || piece.width == 0;
  out.width = same ? fixed : std::nullopt;
  return out;
}

}  // namespace attnscope
