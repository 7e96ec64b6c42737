#include "attnscope/forward/perplexity.h"

#include <algorithm>

#include "attnscope/forward/generation.h"
#include "attnscope/forward/token_scores.h"
#include "attnscope/forward/token_windows.h"

namespace attnscope {
namespace {

/// Rows of logits that are held at once: 64 MB of float32.
std::int64_t rows_at_once(std::int64_t vocabulary) {
  constexpr std::int64_t kMostLogits = 16 << 20;
  return std::max<std::int64_t>(1, kMostLogits / std::max<std::int64_t>(1, vocabulary));
}

/// `states`: the rows of one window.
double window_sum(const ForwardPass& pass, const TokenIds& text, const PerplexityWindow& window,
                  MatrixView<const float> states, const Compute& compute) {
  const std::int64_t each = rows_at_once(pass.logits_width());
  const std::int64_t last = window.length - 1;  // whose row foretells what is not there
  double sum = 0;
  for (std::int64_t row = last - window.predicted; row < last; row += each) {
    const std::int64_t count = std::min(each, last - row);
    const Matrix<float> logits = finite_logits(pass, states.row_block(row, count), compute);
    for (std::int64_t at = 0; at < count; ++at) {
      const auto next = text[static_cast<std::size_t>(window.first + row + at + 1)];
      const std::span<const float> scores(logits.data() + at * logits.cols(),
                                          static_cast<std::size_t>(logits.cols()));
      sum += log_sum_exp(scores) - static_cast<double>(scores[static_cast<std::size_t>(next)]);
    }
  }
  return sum;
}

}  // namespace

std::vector<PerplexityWindow> perplexity_windows(std::int64_t tokens, std::int64_t length,
                                                 std::int64_t stride) {
  std::vector<PerplexityWindow> windows;
  std::int64_t done = 0;  // tokens that windows have reached
  for (std::int64_t first = 0; done < tokens; first += stride) {
    const std::int64_t end = std::min(tokens, first + length);
    windows.push_back({.first = first,
                       .length = end - first,
                       .predicted = std::min(end - done, end - first - 1)});
    done = end;
  }
  return windows;
}

std::vector<double> negative_log_likelihoods(const ForwardPass& pass, const TokenIds& text,
                                             std::span<const PerplexityWindow> windows,
                                             const Compute& compute) {
  if (pass.no_logits().empty()) {  // a head may know fewer tokens than the embedding
    check_token_ids(text, std::min(pass.vocabulary(), pass.logits_width()), pass.model().name());
  }
  std::vector<TokenIds> sequences;
  for (const PerplexityWindow& window : windows) {
    const auto begin = text.begin() + window.first;
    sequences.emplace_back(begin, begin + window.length);
  }
  const Matrix<float> states = pass.run(sequences, {}, compute);
  std::vector<double> sums;
  std::int64_t row = 0;
  for (const PerplexityWindow& window : windows) {
    sums.push_back(
        window_sum(pass, text, window, states.view().row_block(row, window.length), compute));
    row += window.length;
  }
  return sums;
}

}  // namespace attnscope
