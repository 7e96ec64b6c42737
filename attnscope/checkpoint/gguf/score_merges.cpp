#include "attnscope/checkpoint/gguf/score_merges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "attnscope/core/utf8.h"

namespace attnscope {
namespace {

constexpr std::size_t kLongestToken = 256;

struct Merge {
  std::string_view left, right;
  float score;
  std::size_t left_length, right_length;  // code points
};

/// Bytes of the code point at `at`; 1 where it is broken.
std::size_t step(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(utf8_length(text.substr(at)), 1);
}

std::size_t length_of(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += step(text, at)) ++count;
  return count;
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> merges_by_score(
    const std::vector<ScoredToken>& tokens) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids.emplace(tokens[id].spelling, id);

  std::vector<Merge> merges;
  for (const ScoredToken& token : tokens) {
    const std::string_view whole = token.spelling;
    if (!token.joined || whole.size() > kLongestToken) continue;
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, Merge>> own;
    const std::size_t length = length_of(whole);
    std::size_t left_length = 0;
    for (std::size_t at = step(whole, 0); at < whole.size(); at += step(whole, at)) {
      ++left_length;
      const auto left = ids.find(whole.substr(0, at)), right = ids.find(whole.substr(at));
      if (left == ids.end() || right == ids.end()) continue;
      own.push_back({{left->second, right->second},
                     {left->first, right->first, token.score, left_length, length - left_length}});
    }
    std::sort(own.begin(), own.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, merge] : own) merges.push_back(merge);
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tie(a.score, a.left_length, a.right_length) >
           std::tie(b.score, b.left_length, b.right_length);
  });
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const Merge& merge : merges) out.emplace_back(merge.left, merge.right);
  return out;
}

}  // namespace attnscope
