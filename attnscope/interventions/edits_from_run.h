// Edits that take their values from another run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/interventions/activation_edits.h"

namespace attnscope {

/// An activation of one layer in another run: (positions, heads, columns) or (positions, columns);
/// of maps, (heads, queries, keys).
struct RunActivation {
  Shape shape;
  std::vector<float> numbers;
};

/// An edit that takes its values from another run.
struct RunEdit {
  ActivationEdit edit;  // `how`, `value` and `tokens` are ignored
  /// Positions in the other run, one for each of the edit. Empty: the same ones, which requires a
  /// run with the same number of tokens.
  std::vector<std::int64_t> from_positions = {};
};

/// Returns the edit of one layer. Throws Error(usage) if the other run lacks a position or head.
ActivationEdit edit_from(const RunEdit& wanted, std::int64_t layer, const RunActivation& found);

/// The input of another run. Of an encoder-decoder, `tokens` or `media` is the source.
struct RunInput {
  TokenIds tokens = {};
  std::optional<MediaInput> media = std::nullopt;  // an image or audio instead of tokens
  TokenIds target = {};                            // of a decoder with an encoder
};

/// Runs the model without edits on another input. Returns the edits of each of `wanted`, one per
/// layer. Throws Error(usage) for an input or an edit that does not fit the model.
std::vector<std::vector<ActivationEdit>> edits_from_input(const ForwardPass& pass,
                                                          std::span<const RunEdit> wanted,
                                                          const RunInput& input,
                                                          const Compute& compute);

}  // namespace attnscope
