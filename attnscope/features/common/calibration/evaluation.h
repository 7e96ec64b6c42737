// Quality of a changed model: its perplexity on a text, and its divergence from the original model.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Windows of a text, with the additional inputs of the model.
struct TextWindows {
  std::span<const TokenIds> windows;
  /// For bidirectional models: the mask token.
  std::optional<std::int64_t> mask = {};
  /// For an encoder-decoder: the encoder input of each window. The windows are then targets; the
  /// decoder runs them without the last token.
  std::span<const TokenIds> sources = {};
  /// Flags per window: 1 for each token that counts, else 0. Empty: all tokens count.
  std::span<const TokenIds> scored = {};
  /// Whether models that run the text keep a float32 copy of their weights: see ForwardPass.
  bool copy_weights = true;
};

/// In shorter windows no token is masked.
constexpr std::int64_t kFewestMaskedTokens = 5;

/// Number of windows of a text that run together: as many as have 512 tokens.
std::vector<TextWindows> batches_of(const TextWindows& text);

/// Windows with masked tokens, and the tokens that are masked.
struct MaskedWindows {
  std::vector<TokenIds> windows;
  std::vector<std::int64_t> rows;  // rows of the masks, over all windows
  TokenIds hidden;
};

/// Replaces the tokens that mean_nll() measures by `text.mask`.
MaskedWindows with_masks(const TextWindows& text);

/// Number of scored tokens among those that run_windows() predicts.
std::int64_t count_predicted(const TextWindows& text);

/// Sum of the losses of scored tokens. `losses`: of all tokens of each window except the first.
double sum_of_scored(const std::vector<std::vector<double>>& losses,
                     std::span<const TokenIds> scored);

/// Selects the rows of the states from run_windows() that predict scored tokens. All rows if all
/// tokens count, and for the encoder of an encoder-decoder, which predicts no tokens.
std::vector<std::int64_t> rows_that_count(const TextWindows& text, const Model& model);

/// Runs the windows without masks. For the encoder of an encoder-decoder: its sources. For its
/// decoder: sources and targets.
Matrix<float> run_windows(const ForwardPass& pass, const TextWindows& batch,
                          const ForwardObserver& observer, const Compute& compute);

/// Mean negative log-likelihood per token, in nats, over all scored tokens except the first of each
/// window. Bidirectional models: over every seventh token from the fourth on, masked at the same
/// time; with scored positions, over every seventh scored token from the first on. For either stack
/// of an encoder-decoder: the loss of its decoder. Throws Error(numerical) if the model produces
/// NaN.
double mean_nll(const Model& given, const TextWindows& text, const Compute& compute);
/// The same for a pass of model_that_predicts().
double mean_nll(const ForwardPass& pass, const TextWindows& text, const Compute& compute);

/// The decoder of an encoder; otherwise the model itself.
Model model_that_predicts(const Model& model);

/// Memory of a run over a calibration text in addition to the model's files, in bytes, estimated
/// before it starts. Not all of it is used at the same time.
struct PlanMemory {
  std::uint64_t moments = 0;         // second moments of as many layers as fit
  std::int64_t passes = 1;           // number of passes over the text for all layers
  std::uint64_t copies = 0;          // float32 copies of the model's weights
  std::uint64_t smaller = 0;         // weights of the compressed model
  std::uint64_t smaller_copies = 0;  // float32 copies of the compressed model's weights
  std::uint64_t matrices = 0;        // spectra and factors computed from moments
  std::uint64_t run = 0;             // running a text through a model

  /// Peak memory: the compressed model is first computed, then run.
  std::uint64_t peak() const;
};

/// Tells a user the expected memory, by what it is used for.
std::string memory_note(const PlanMemory& memory);

/// Memory in bytes for running these windows: states and logits of a batch, and the program itself.
std::uint64_t run_bytes_of(const Model& model, const TextWindows& text);

/// Memory of spectra on a text only (`spectrum --activations`).
PlanMemory activation_memory(const Model& model, std::span<const TokenIds> windows,
                             const Context& context);

}  // namespace attnscope
