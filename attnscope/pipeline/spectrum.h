// `spectrum`: models × layers × matrices (× heads) → rows of spectra.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/pipeline/selection.h"
#include "attnscope/pipeline/work_queue.h"
#include "attnscope/results/report.h"
#include "attnscope/store/store.h"

namespace attnscope {

/// A rank that is asked for: a whole number, or a share of the model's width.
struct WantedRank {
  double number = 0;  // the rank, or the share in (0, 1]
  bool of_width = false;

  bool operator==(const WantedRank&) const = default;

  /// "512", "0.1D".
  std::string text() const;

  /// At least 1; a share of the width goes to the nearest whole number.
  std::int64_t resolve(std::int64_t width) const;
};

struct SpectrumRequest {
  std::vector<Role> matrices;  // empty: the projections that each model has
  LayerSelection layers;
  bool per_head = false;
  std::vector<double> thresholds = {0.9, 0.99};  // ascending, each in (0, 1)
  std::vector<WantedRank> ranks;                 // to read the kept energy at
  bool with_values = false;
  Resources resources;
  Store* store = nullptr;  // keeps finished rows; null: none does
};

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
/// The same request gives the same report whatever the number of threads.
Report run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                    const ProgressFn& on_progress);

/// The spectrum of one 2-D tensor as it is stored, from each checkpoint; needs no known
/// architecture. `names` are the checkpoints'. Uses the request's thresholds, ranks, values and
/// threads; a rank that is a share of the width has no meaning here and is Error(usage).
Report run_tensor_spectrum(std::span<const Checkpoint> checkpoints,
                           std::span<const std::string> names, const std::string& tensor,
                           const SpectrumRequest& request, const ProgressFn& on_progress);

}  // namespace attnscope
