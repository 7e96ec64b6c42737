// Predictions of a changed run compared with those of the unmodified model, at scored positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/interventions/layer_components.h"

namespace attnscope {

/// Sums over the scored positions of each sequence.
struct PredictionChange {
  std::vector<double> loss;     // negative log-likelihood of the text's token, nats
  std::vector<double> kl;       // KL(unmodified model ‖ changed model), nats
  std::vector<double> changed;  // positions at which the top-1 token changes

  static PredictionChange zeros(std::size_t sequences);
};

/// A chunk of texts with its scored positions.
struct ScoredChunk {
  const TextChunk& text;
  std::size_t first_place = 0;     // index of its first scored position among those of all texts
  std::vector<std::int64_t> rows;  // scored rows within the chunk's states

  /// Calls visit(position in the chunk, sequence, token or −1) for each scored position.
  template <class Visit>
  void for_positions(const ScoredPositions& texts, const Visit& visit) const {
    std::size_t position = 0;
    for (std::size_t at = 0; at < text.texts.size(); ++at) {
      const std::size_t sequence = text.first + at;
      for (std::int64_t left = texts.of_sequence[sequence]; left > 0; --left, ++position) {
        visit(position, sequence, texts.tokens[first_place + position]);
      }
    }
  }
};

/// Returns the chunks that have scored positions. The chunks must outlive the result.
std::vector<ScoredChunk> scored_chunks(const std::vector<TextChunk>& chunks,
                                       const ScoredPositions& texts);

/// Predictions of the unmodified model on one chunk.
class CleanPredictions {
 public:
  /// `states`: the last states of the unmodified run. All other arguments must outlive this object.
  /// Throws Error(numerical) if a logit is not finite.
  CleanPredictions(const ForwardPass& pass, const ScoredPositions& texts, const ScoredChunk& chunk,
                   MatrixView<const float> states, const Compute& compute);

  /// Adds the losses, and the numbers of predicted tokens, of the chunk's sequences.
  void add_loss(std::vector<double>& loss, std::vector<std::int64_t>& predicted) const;

  /// Adds the effect of a change on the chunk's sequences. `states`: the last states of the changed
  /// run. `room`: a buffer for logits.
  void add_change(MatrixView<const float> states, PredictionChange& change,
                  Matrix<float>& room) const;

 private:
  const ForwardPass& pass_;
  const ScoredPositions& texts_;
  const ScoredChunk& chunk_;
  const Compute& compute_;
  Matrix<float> logits_, probabilities_;  // one row per scored position
  std::vector<TokenOdds> odds_;
};

}  // namespace attnscope
