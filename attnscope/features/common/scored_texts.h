// Texts on which it is measured how well a model foretells: which places count, and why a model
// has none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attnscope/engine/work_item.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {

/// The token that a model that sees texts both ways has in place of what it foretells; none of
/// models that write.
using MaskToken = std::optional<std::int64_t>;

/// What each of several models is to foretell.
struct ScoredTexts {
  std::vector<std::vector<TokenIds>> sequences;  // of each model, of one length but for targets
  std::vector<MaskToken> masks;                  // of each model
  Record parameters;                             // what the report says of where they come from
  /// Of each model; none but of stacks of encoder-decoders: what the encoder reads for each of the
  /// sequences, which are whole targets then, start token and all, of any lengths.
  std::vector<std::vector<TokenIds>> sources = {};
  /// Of each model: which tokens of its sequences count; none: all of every model.
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

/// What decides which tokens of texts are masked.
inline constexpr std::uint64_t kMaskSeed = 0;

/// Throws Error(unsupported) where nothing can be foretold: no logits, or no mask where one is
/// needed; Error(usage) for sequences of fewer than two tokens, for ids that are no tokens, and as
/// ForwardPass::check(). `sources`: of a decoder, those of its targets.
void check_predicts_tokens(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                           const MaskToken& mask, const std::vector<TokenIds>& sources = {});

/// Of an item's batch; its parameters say the mask. The ids of the mask are written by
/// add_mask_parameter().
ScoredPositions scored_positions(const WorkItem& item);
void add_mask_parameter(WorkItem& item, const MaskToken& mask);
MaskToken mask_parameter(const WorkItem& item);

}  // namespace attnscope
