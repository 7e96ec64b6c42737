// What a model foretells when a part of one layer is replaced while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/interventions/layer_components.h"

namespace attnscope {

// What takes the place of a part of a layer.

enum class Replacement {
  mean,      // its mean over all positions of all texts
  zero,      // zeros
  resample,  // what it gave at the same place of the next text; all are of one length
};

/// Means of columns over rows, summed in float64.
std::vector<float> column_means(const Matrix<float>& rows);

class Replacements {
 public:
  /// `length`: rows of each text's parts, where they are resampled. `layer` must outlive it.
  Replacements(const LayerParts& layer, Replacement how, std::int64_t length);

  /// For runs of that chunk, which it must not outlive.
  LayerParts::Replace of(const TextChunk& chunk) const;

 private:
  const LayerParts& layer_;
  Replacement how_;
  std::int64_t length_;
  std::vector<float> heads_, mlp_;  // means
};

/// What a part gave on other texts of the same lengths.
LayerParts::Replace given_on(const LayerParts& other, const TextChunk& chunk);

struct AblationRequest {
  LayerInStack place;
  AskedParts parts;
  Replacement how = Replacement::mean;
};

/// Sums over the places of each sequence: what is foretold there, whichever stack the part is of.
struct AblationEffect {
  PartOfLayer part;
  std::vector<double> loss;     // −log of the probability of the text's token, nats
  std::vector<double> kl;       // KL(the model ‖ this), nats
  std::vector<double> changed;  // places with another likeliest token
  /// What the part itself adds to the logit of the text's token, less the mean over the vocabulary;
  /// empty where logits are no sum of what parts write, and of an encoder's.
  std::vector<double> direct;
};

struct LayerAblation {
  std::vector<double> loss;  // of the model as it is
  std::vector<std::int64_t> places, predicted;
  std::vector<AblationEffect> effects;  // attention, MLP, then heads
};

/// Each part of the layer that is asked for and there is, alone. What comes before the layer, and
/// its attention, is computed once; variants run beside each other. Of a decoder, what its encoder
/// gives is computed once too, unless the part is that one's. Throws as ForwardPass::run().
LayerAblation ablate_layer(const ForwardPass& pass, const ScoredPositions& texts,
                           const AblationRequest& request, const Compute& compute);

}  // namespace attnscope
