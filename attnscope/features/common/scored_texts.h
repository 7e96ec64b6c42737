// Texts whose losses are measured: which positions count, and why a model has none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/engine/work_item.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {

/// The mask token of a bidirectional model, which replaces the tokens to predict; empty for causal
/// models.
using MaskToken = std::optional<std::int64_t>;

/// The texts that each of several models has to predict.
struct ScoredTexts {
  std::vector<std::vector<TokenIds>> sequences;  // per model, of equal length except for targets
  std::vector<MaskToken> masks;                  // per model
  Record parameters;                             // report parameters that describe their source
  /// Per model; empty except for stacks of encoder-decoders. The encoder input of each sequence.
  /// The sequences are then whole targets, including the start token, of any lengths.
  std::vector<std::vector<TokenIds>> sources = {};
  /// Per model: which tokens of its sequences count; empty: all tokens of all models.
  std::vector<ScoredTokens> scored = {};

  const ScoredTokens& scored_of(std::size_t model) const {
    static const ScoredTokens all;
    return model < scored.size() ? scored[model] : all;
  }
  const std::vector<TokenIds>& sources_of(std::size_t model) const {
    static const std::vector<TokenIds> none;
    return model < sources.size() ? sources[model] : none;
  }
};

/// Seed for the choice of masked tokens.
inline constexpr std::uint64_t kMaskSeed = 0;

/// Throws Error(unsupported) if the model cannot predict tokens: it has no logits, or no mask token
/// although it needs one. Throws Error(usage) for sequences of fewer than two tokens, for invalid
/// token ids, and for the errors of ForwardPass::check(). `sources`: for a decoder, the sources of
/// its targets.
void check_predicts_tokens(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                           const MaskToken& mask, const std::vector<TokenIds>& sources = {});

/// The scored positions of an item's batch. The item's parameters contain the mask token, set by
/// add_mask_parameter().
ScoredPositions scored_positions(const WorkItem& item);
void add_mask_parameter(WorkItem& item, const MaskToken& mask);
MaskToken mask_parameter(const WorkItem& item);

}  // namespace attnscope
