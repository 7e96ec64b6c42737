// Perplexity: windows of a text and the losses of their tokens. Reference: transformers
// documentation, "Perplexity of fixed-length models".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// A window of a text, which is run separately.
struct PerplexityWindow {
  std::int64_t first = 0;      // first token
  std::int64_t length = 0;     // number of tokens
  std::int64_t predicted = 0;  // number of scored tokens, at the end
};

/// Returns windows of `length` tokens (the last may be shorter), each starting `stride` tokens
/// after the previous one. Only tokens that no earlier window covers are scored. The first token of
/// a window is never scored, because nothing precedes it. `stride` must be from 1 to `length`.
std::vector<PerplexityWindow> perplexity_windows(std::int64_t tokens, std::int64_t length,
                                                 std::int64_t stride);

/// Concatenated separate texts. Each is a window whose tokens are all scored except the first.
struct JoinedTexts {
  TokenIds tokens;
  std::vector<PerplexityWindow> windows;
};
JoinedTexts joined_texts(std::span<const TokenIds> texts);

/// Returns the negative log-likelihoods of each window's scored tokens, in order, in nats. Softmax
/// in float64. Throws like ForwardPass. `hooks`: of the run; may be null.
std::vector<std::vector<double>> window_losses(const ForwardPass& pass, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute,
                                               ForwardHooks* hooks = nullptr);

/// Computes the losses from the states of these windows, stacked. All token ids must be valid for
/// the pass.
std::vector<std::vector<double>> window_losses(const ForwardPass& pass,
                                               MatrixView<const float> states, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute);

/// Source and target of an encoder-decoder. `target` is the decoder's input plus the last label.
/// Each target token except the first is predicted from the source and the tokens before it.
struct TargetPair {
  TokenIds source, target;

  bool operator==(const TargetPair&) const = default;
};

/// Returns, for each pair, the losses of its target's tokens except the first. `pass`: of a
/// decoder. Targets must have at least two tokens.
std::vector<std::vector<double>> pair_losses(const ForwardPass& pass,
                                             std::span<const TargetPair> pairs,
                                             const Compute& compute, ForwardHooks* hooks = nullptr);

}  // namespace attnscope
