// Ablation: predictions of a model while one component of a layer is replaced.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/interventions/layer_components.h"
#include "attnscope/interventions/prediction_changes.h"

namespace attnscope {

// Values that replace the output of a component.

enum class Replacement {
  mean,      // mean over all positions of all texts
  zero,      // zeros
  resample,  // output at the same position of the next text; all texts have one length
};

/// Means of columns over rows that are added in blocks, summed in float64.
class ColumnMeans {
 public:
  void add(MatrixView<const float> rows);
  std::vector<float> means() const;

 private:
  std::vector<double> sums_;
  std::int64_t rows_ = 0;
};

/// Returns the mean of each column over the rows.
std::vector<float> column_means(const Matrix<float>& rows);

/// Writes the values that replace outputs. `means`: of the columns of `out`, for mean ablation.
/// `outputs`: the same columns on all texts, of which rows `first_row`, … are written, for resample
/// ablation. After the last row, the first one follows.
void write_replacement(Replacement how, std::span<const float> means,
                       MatrixView<const float> outputs, std::int64_t first_row,
                       MatrixView<float> out);

class Replacements {
 public:
  /// `length`: rows per text, for resample ablation. `layer` must outlive this object.
  Replacements(const LayerParts& layer, Replacement how, std::int64_t length);

  /// Returns the replacements for runs of that chunk. The chunk must outlive them.
  LayerParts::Replace of(const TextChunk& chunk) const;

 private:
  const LayerParts& layer_;
  Replacement how_;
  std::int64_t length_;
  std::vector<float> heads_, mixer_, mlp_;  // mean outputs
};

/// Returns the outputs of a component on other texts of the same lengths as replacements.
LayerParts::Replace given_on(const LayerParts& other, const TextChunk& chunk);

struct AblationRequest {
  LayerInStack place;
  AskedParts parts;
  Replacement how = Replacement::mean;
};

/// Effects of one ablated component, summed over the scored positions of each sequence. The
/// positions are those of the predicted tokens, whichever stack the component belongs to.
struct AblationEffect {
  PartOfLayer part;
  PredictionChange predictions;
  /// Direct effect of the component on the logit of the text's token, relative to the mean over the
  /// vocabulary. Empty if logits are not a sum of component outputs, and for components of an
  /// encoder.
  std::vector<double> direct;
};

struct LayerAblation {
  std::vector<double> loss;  // loss of the unmodified model, nats
  std::vector<std::int64_t> places, predicted;
  std::vector<AblationEffect> effects;  // order: attention, mixer, MLP, heads
};

/// Ablates each requested component of the layer separately. The states before the layer and its
/// attention are computed once; ablated runs share batches. The output of a decoder's encoder is
/// computed once too, unless the component belongs to the encoder. Throws like ForwardPass::run().
LayerAblation ablate_layer(const ForwardPass& pass, const ScoredPositions& texts,
                           const AblationRequest& request, const Compute& compute);

}  // namespace attnscope
