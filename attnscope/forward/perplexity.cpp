#include "attnscope/forward/perplexity.h"

#include <algorithm>

#include "attnscope/forward/logits.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

/// Returns the losses of one window. `states`: its rows.
std::vector<double> losses_of(const ForwardPass& pass, const TokenIds& text,
                              const PerplexityWindow& window, MatrixView<const float> states,
                              const Compute& compute) {
  // The window's last row predicts a token outside the window.
  const std::int64_t begin = window.length - 1 - window.predicted;
  const std::int64_t first_next = window.first + begin + 1;  // token predicted by the first row
  std::vector<double> losses;
  const auto add = [&](std::int64_t first, MatrixView<const float> logits) {
    const auto next = std::span(text).subspan(static_cast<std::size_t>(first_next + first),
                                              static_cast<std::size_t>(logits.rows));
    const std::vector<double> some = token_losses(logits, next, compute);
    losses.insert(losses.end(), some.begin(), some.end());
  };
  for_logits(pass, states.row_block(begin, window.predicted), add, compute);
  return losses;
}

}  // namespace

std::vector<PerplexityWindow> perplexity_windows(std::int64_t tokens, std::int64_t length,
                                                 std::int64_t stride) {
  std::vector<PerplexityWindow> windows;
  std::int64_t done = 0;  // number of tokens covered by windows
  for (std::int64_t first = 0; done < tokens; first += stride) {
    const std::int64_t end = std::min(tokens, first + length);
    windows.push_back({.first = first,
                       .length = end - first,
                       .predicted = std::min(end - done, end - first - 1)});
    done = end;
  }
  return windows;
}

JoinedTexts joined_texts(std::span<const TokenIds> texts) {
  JoinedTexts out;
  for (const TokenIds& text : texts) {
    const std::int64_t length = std::ssize(text);
    out.windows.push_back(
        {.first = std::ssize(out.tokens), .length = length, .predicted = length - 1});
    out.tokens.insert(out.tokens.end(), text.begin(), text.end());
  }
  return out;
}

std::vector<std::vector<double>> window_losses(const ForwardPass& pass, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute, ForwardHooks* hooks) {
  if (pass.no_logits().empty()) {  // the LM head may have fewer tokens than the embedding
    check_token_ids(text, std::min(pass.vocabulary(), pass.logits_width()), pass.model().name());
  }
  std::vector<TokenIds> sequences;
  for (const PerplexityWindow& window : windows) {
    const auto begin = text.begin() + window.first;
    sequences.emplace_back(begin, begin + window.length);
  }
  const Matrix<float> states = pass.run(sequences, {.hooks = hooks}, compute);
  return window_losses(pass, states.view(), text, windows, compute);
}

std::vector<std::vector<double>> window_losses(const ForwardPass& pass,
                                               MatrixView<const float> states, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute) {
  std::vector<std::vector<double>> losses;
  std::int64_t row = 0;
  for (const PerplexityWindow& window : windows) {
    losses.push_back(losses_of(pass, text, window, states.row_block(row, window.length), compute));
    row += window.length;
  }
  return losses;
}

std::vector<std::vector<double>> pair_losses(const ForwardPass& pass,
                                             std::span<const TargetPair> pairs,
                                             const Compute& compute, ForwardHooks* hooks) {
  std::vector<TokenIds> sources, inputs;
  for (const TargetPair& pair : pairs) {
    check_token_ids(pair.target, std::min(pass.vocabulary(), pass.logits_width()),
                    pass.model().name());
    sources.push_back(pair.source);
    inputs.emplace_back(pair.target.begin(), pair.target.end() - 1);
  }
  const EncoderOutput encoder_output = pass.encode(sources, {}, compute);
  const Matrix<float> states = pass.run(inputs, {.hooks = hooks}, compute, {}, &encoder_output);
  std::vector<std::vector<double>> losses;
  std::int64_t row = 0;
  for (const TargetPair& pair : pairs) {
    const std::int64_t length = std::ssize(pair.target);
    const PerplexityWindow whole{.first = 0, .length = length, .predicted = length - 1};
    losses.push_back(
        losses_of(pass, pair.target, whole, states.view().row_block(row, length - 1), compute));
    row += length - 1;
  }
  return losses;
}

}  // namespace attnscope
