// Composition scores of paths from the weights.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "attnscope/base/head_index.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/features/common/composition_measures.h"
#include "attnscope/interventions/path_patching.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The inputs of a head that a path may reach, in the order of kReadingKinds.
inline constexpr std::array kPathInputs = {PatchedKind::q, PatchedKind::k, PatchedKind::v};

/// Scores of pairs of heads of one model, which are computed once per pair of layers.
class CompositionByWeights {
 public:
  /// Both must outlive this object.
  CompositionByWeights(const Model& model, const Compute& compute)
      : model_(model), compute_(compute) {}

  /// Returns the mean score of all senders with all query heads that read the receivers. Empty for
  /// the logits, and if a circuit cannot be analyzed.
  std::optional<double> mean(const std::vector<HeadIndex>& senders, const PathTarget& target);

 private:
  /// Prepared heads of one layer. Empty if its circuits cannot be analyzed.
  struct ComposingLayer {
    std::vector<WritingHeads> writers;
    std::map<PatchedKind, ReadingHeads> readers;
  };

  const ComposingLayer& composing_layer(std::int64_t layer);
  /// (query heads of the reader, heads of the writer). Null if a circuit cannot be analyzed.
  const Matrix<double>* scores(std::int64_t writer, std::int64_t reader, PatchedKind input);

  const Model& model_;
  const Compute& compute_;
  std::map<std::int64_t, ComposingLayer> layers_;
  std::map<std::tuple<std::int64_t, std::int64_t, PatchedKind>, Matrix<double>> scores_;
};

}  // namespace attnscope
