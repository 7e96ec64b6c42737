// How well a model foretells a text: windows of it, and what each says of its tokens. Source:
// transformers' documentation, "Perplexity of fixed-length models".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// A part of a text that is run on its own.
struct PerplexityWindow {
  std::int64_t first = 0;      // its first token
  std::int64_t length = 0;     // tokens
  std::int64_t predicted = 0;  // its last ones, which are foretold from those before them
};

/// Windows of `length` tokens (the last one of what is left), each beginning `stride` after the one
/// before it; of a window that begins with tokens of the one before, only new tokens count. The
/// first token of a window has nothing before it to be foretold from. `stride` from 1 to `length`.
std::vector<PerplexityWindow> perplexity_windows(std::int64_t tokens, std::int64_t length,
                                                 std::int64_t stride);

/// Texts of their own one after the other, each a window in which every token counts but the first.
struct JoinedTexts {
  TokenIds tokens;
  std::vector<PerplexityWindow> windows;
};
JoinedTexts joined_texts(std::span<const TokenIds> texts);

/// Of each window the negative log-likelihoods of the tokens that count, in their order and in
/// nats; softmax in float64. Throws as ForwardPass does.
std::vector<std::vector<double>> window_losses(const ForwardPass& pass, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute);

/// The same of states that a pass gave of those windows, one below the other, and of tokens that it
/// knows.
std::vector<std::vector<double>> window_losses(const ForwardPass& pass,
                                               MatrixView<const float> states, const TokenIds& text,
                                               std::span<const PerplexityWindow> windows,
                                               const Compute& compute);

/// `target`: what a decoder runs on, and then the last label. Each token but the first is foretold
/// from the source and those before it.
struct TargetPair {
  TokenIds source, target;

  bool operator==(const TargetPair&) const = default;
};

/// The same of encoder-decoders: of each pair the losses of its target's tokens but the first.
/// `pass`: of a decoder; targets have two tokens at least.
std::vector<std::vector<double>> pair_losses(const ForwardPass& pass,
                                             std::span<const TargetPair> pairs,
                                             const Compute& compute);

}  // namespace attnscope
