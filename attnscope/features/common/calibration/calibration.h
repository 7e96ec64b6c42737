// A calibration text that is run when its statistics are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/moments_cache.h"
#include "attnscope/features/common/calibration/text_statistics.h"

namespace attnscope {

/// Memory in bytes for the spectra of the largest matrix on a text, including the matrix. For a
/// plan including directions, otherwise only energies.
std::uint64_t spectra_bytes(const Model& model, bool with_directions);

/// Second moments of as many layers as fit into memory. A request for another layer runs the text
/// again for that layer and those after it. Not thread-safe.
class Calibration {
 public:
  /// Model and text must outlive this object. `memory_bytes`: limit for the moments, but those of
  /// one layer are always kept. `kept`: cache for the sums; null: none.
  Calibration(const Model& model, const TextWindows& text, std::uint64_t memory_bytes, double ridge,
              MomentsCache* kept = nullptr);

  /// Peak memory of the moments, in bytes.
  std::uint64_t buffered_bytes() const;
  /// Number of passes over the text for the moments of all layers.
  std::int64_t passes() const;
  std::int64_t tokens() const;

  /// The pass of the model, created on first use and kept. `compute`: see statistics().
  const ForwardPass& pass(const Compute& compute);

  /// `compute` must outlive the result.
  TextStatistics statistics(const Compute& compute);

 private:
  std::int64_t layers_at_once() const;
  void run(const TextWindows& batch, const ForwardObserver& observer, const Compute& compute);
  /// Sums moments of `count` layers from `first` on.
  void sum(std::int64_t first, std::int64_t count, const Compute& compute);
  const SecondMoments& moments(std::int64_t layer, Role projection, const Compute& compute);
  const SecondMoments& moments_of_other_stack(std::int64_t layer, Role projection,
                                              const Compute& compute);

  const Model& model_;
  TextWindows text_;
  std::uint64_t memory_bytes_;
  double ridge_;
  MomentsCache* kept_;
  std::optional<SecondMomentSums> sums_;
  std::optional<ForwardPass> pass_;
  // stack_of_same_width() and its moments, if they were requested.
  std::optional<Model> other_;
  std::unique_ptr<Calibration> other_stack_;
};

}  // namespace attnscope
