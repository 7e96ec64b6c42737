#include "attnscope/base/python_regex.h"

#include <cctype>
#include <map>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/regex_parser.h"

namespace attnscope {

/// A single match. Every pair of step and position is visited at most once.
class RegexRun {
 public:
  RegexRun(const PythonRegex& regex, std::string_view text, std::uint64_t& budget)
      : regex_(regex), text_(text), budget_(budget) {}

  /// Runs from that step and position. `whole`: the match must extend to the end of the text.
  bool run(std::size_t step, std::size_t at, bool whole) {
    const std::size_t width = text_.size() + 1;
    constexpr std::size_t kMaxPairs = std::size_t{1} << 28;  // 32 MB of bits
    if (width > kMaxPairs / regex_.steps_.size()) budget_ = 0;
    spend(regex_.steps_.size() * width / 64 + 1);
    std::vector<bool> seen(regex_.steps_.size() * width);
    std::vector<std::pair<std::size_t, std::size_t>> open = {{step, at}};
    while (!open.empty()) {
      const std::size_t here = open.back().first, position = open.back().second;
      open.pop_back();
      if (seen[here * width + position]) continue;
      seen[here * width + position] = true;
      spend(1);
      const RegexStep& now = regex_.steps_[here];
      const auto to = [&](int distance) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(here) + distance);
      };
      switch (now.kind) {
        case RegexStep::Kind::match:
          if (!whole || position == text_.size()) return true;
          break;
        case RegexStep::Kind::split:
          open.emplace_back(to(now.b), position);
          open.emplace_back(to(now.a), position);
          break;
        case RegexStep::Kind::jump: open.emplace_back(to(now.a), position); break;
        case RegexStep::Kind::set:
          if (position < text_.size() && accepts(now, text_[position])) {
            open.emplace_back(here + 1, position + 1);
          }
          break;
        case RegexStep::Kind::look:
          if (looks(here, position)) open.emplace_back(to(now.a), position);
          break;
        default:
          if (holds(now.kind, position)) open.emplace_back(here + 1, position);
      }
    }
    return false;
  }

 private:
  void spend(std::uint64_t steps) {
    if (budget_ < steps) {
      throw Error(ErrorKind::unsupported, {.file = regex_.file_,
                                           .problem = verbatim("pattern '" + regex_.pattern_ +
                                                               "' takes too long to match this "
                                                               "text")});
    }
    budget_ -= steps;
  }

  bool accepts(const RegexStep& step, char byte) const {
    return regex_.sets_[static_cast<std::size_t>(step.a)].test(static_cast<unsigned char>(byte));
  }

  bool is_word(std::size_t position) const {
    if (position >= text_.size()) return false;
    const auto byte = static_cast<unsigned char>(text_[position]);
    return byte < 128 && (std::isalnum(byte) != 0 || byte == '_');
  }

  bool holds(RegexStep::Kind kind, std::size_t position) const {
    const std::size_t size = text_.size();
    switch (kind) {
      case RegexStep::Kind::start: return position == 0;
      case RegexStep::Kind::last: return position == size;
      case RegexStep::Kind::end:
        return position == size || (position + 1 == size && text_.back() == '\n');
      default: break;
    }
    const bool between = is_word(position) != (position > 0 && is_word(position - 1));
    return between == (kind == RegexStep::Kind::boundary);
  }

  /// Remembers the result per position, so that nested lookarounds stay polynomial.
  bool looks(std::size_t here, std::size_t position) {
    const auto [found, is_new] = known_.try_emplace({here, position}, false);
    if (!is_new) return found->second;
    const RegexStep& look = regex_.steps_[here];
    const auto behind = static_cast<std::size_t>(look.behind < 0 ? 0 : look.behind);
    const bool matches = behind <= position && run(here + 1, position - behind, /*whole=*/false);
    return known_[{here, position}] = matches != look.negated;
  }

  const PythonRegex& regex_;
  std::string_view text_;
  std::uint64_t& budget_;
  std::map<std::pair<std::size_t, std::size_t>, bool> known_;
};

PythonRegex::PythonRegex(std::string_view pattern, std::string_view file)
    : pattern_(pattern), file_(file) {
  RegexParser parser(pattern_, file_);
  steps_ = parser.parse();
  sets_ = std::move(parser.sets);
}

bool PythonRegex::matches_start(std::string_view text, std::uint64_t& budget) const {
  return RegexRun(*this, text, budget).run(0, 0, /*whole=*/false);
}

bool PythonRegex::matches_whole(std::string_view text, std::uint64_t& budget) const {
  return RegexRun(*this, text, budget).run(0, 0, /*whole=*/true);
}

}  // namespace attnscope
