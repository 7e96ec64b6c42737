// How good a changed model is: its perplexity on a text, and how far it is from the one before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Windows of a text, and what a model needs beside them.
struct TextWindows {
  std::span<const TokenIds> windows;
  /// Of a model that sees a text both ways: the token that stands for one that it has to fill in.
  std::optional<std::int64_t> mask = {};
  /// Of an encoder-decoder, whose decoder the windows are for, each but for its last token: what
  /// its encoder reads. One for each window.
  std::span<const TokenIds> sources = {};
  /// One for each window: 1 for each token that counts, else 0. None: all count.
  std::span<const TokenIds> scored = {};
  /// Whether models that run it keep a copy of their float32 weights, as ForwardPass.
  bool copy_weights = true;
};

/// Of shorter windows no token is masked.
constexpr std::int64_t kFewestMaskedTokens = 5;

/// Windows of a text that are run together: as many as have 512 tokens.
std::vector<TextWindows> batches_of(const TextWindows& text);

/// Windows with masks, and what they hide.
struct MaskedWindows {
  std::vector<TokenIds> windows;
  std::vector<std::int64_t> rows;  // of the masks, of all windows' together
  TokenIds hidden;
};

/// With `text.mask` in place of the tokens that mean_nll() measures.
MaskedWindows with_masks(const TextWindows& text);

/// How many of the tokens that run_windows() predicts count.
std::int64_t count_predicted(const TextWindows& text);

/// The sum of the losses of tokens that count. `losses`: of each window's tokens but the first.
double sum_of_scored(const std::vector<std::vector<double>>& losses,
                     std::span<const TokenIds> scored);

/// Of the states that run_windows() gives, the rows at which tokens that count are predicted. Of an
/// encoder of an encoder-decoder, which predicts none, and if all tokens count: all rows.
std::vector<std::int64_t> rows_that_count(const TextWindows& text, const Model& model);

/// Runs them without masks: of an encoder-decoder's encoder its sources, of its decoder both.
Matrix<float> run_windows(const ForwardPass& pass, const TextWindows& batch,
                          const ForwardObserver& observer, const Compute& compute);

/// Mean of the windows' tokens' negative log likelihoods, in nats: of each window all tokens that
/// count but the first; with a mask every seventh token, the fourth first, all of which are masked
/// at once; of tokens that count every seventh, the first first.
/// Of either stack of an encoder-decoder what its decoder foretells. Throws Error(numerical) where
/// the model gives NaN.
double mean_nll(const Model& given, const TextWindows& text, const Compute& compute);
/// The same of a pass of what is model_that_predicts().
double mean_nll(const ForwardPass& pass, const TextWindows& text, const Compute& compute);

/// An encoder's decoder; of others the model itself.
Model model_that_predicts(const Model& model);

/// What a run over a calibration text takes in memory beside the model's files, in bytes, known
/// before it starts. Not all of it is used at once.
struct PlanMemory {
  std::uint64_t moments = 0;         // second moments of as many layers as fit
  std::int64_t passes = 1;           // over the text for those of all layers
  std::uint64_t copies = 0;          // of the model's weights, laid out for products
  std::uint64_t smaller = 0;         // numbers of a smaller model
  std::uint64_t smaller_copies = 0;  // of its weights, while it is run
  std::uint64_t matrices = 0;        // spectra and factors that are made of moments
  std::uint64_t run = 0;             // of a text through a model

  /// At most, at any time: a smaller model is made, and then it is run.
  std::uint64_t peak() const;
};

/// Bytes of running these windows: states and logits of a batch, and what the program itself holds.
std::uint64_t run_bytes_of(const Model& model, const TextWindows& text);

/// Of spectra on a text alone (`spectrum --activations`).
PlanMemory activation_memory(const Model& model, std::span<const TokenIds> windows,
                             const Context& context);

}  // namespace attnscope
