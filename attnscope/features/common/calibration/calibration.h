// A calibration text, run when its statistics are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/moments_cache.h"
#include "attnscope/features/common/calibration/text_statistics.h"

namespace attnscope {

/// What the spectra of the largest matrix take on a text, in bytes, with the matrix: of a plan with
/// its directions, else the energies alone.
std::uint64_t spectra_bytes(const Model& model, bool with_directions);

/// The second moments of as many layers as fit in the memory that there is for them; asked for
/// another layer, the text is run again for it and those after it. Not for several threads.
class Calibration {
 public:
  /// Model and text must outlive it. `memory_bytes`: for moments; those of one layer are always
  /// held. `kept`: where sums are kept, too; null: nowhere.
  Calibration(const Model& model, const TextWindows& text, std::uint64_t memory_bytes, double ridge,
              MomentsCache* kept = nullptr);

  /// The peak memory of its moments, in bytes.
  std::uint64_t buffered_bytes() const;
  /// How often the text is run for the moments of all layers.
  std::int64_t passes() const;
  std::int64_t tokens() const;

  /// Of the model: made when it is first asked for, and kept. `compute` as of statistics().
  const ForwardPass& pass(const Compute& compute);

  /// `compute` must outlive what is returned.
  TextStatistics statistics(const Compute& compute);

 private:
  std::int64_t layers_at_once() const;
  void run(const TextWindows& batch, const ForwardObserver& observer, const Compute& compute);
  /// Of this layer and `count` - 1 after it.
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
  // stack_of_same_width() and its moments, once they were asked for.
  std::optional<Model> other_;
  std::unique_ptr<Calibration> other_stack_;
};

}  // namespace attnscope
