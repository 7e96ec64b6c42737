// Activations of a batch, in addition to the measures of its maps: the largest activations of the
// residual stream, outlier dimensions, and the norm of each head's output.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/features/attention/activations.h"
#include "attnscope/features/attention/layer_means.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

class ActivationsOfBatch {
 public:
  /// `options`: options of the batch's maps; must outlive this object.
  ActivationsOfBatch(const WorkItem& item, const AttentionMapOptions& options,
                     const Compute& compute)
      : item_(item), options_(options), compute_(compute) {}

  /// Adds observers to the pass. It then runs at least to the end of the batch's last layer.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Adds the results to the first outcome of each layer.
  void add_to(std::vector<Outcome>& outcomes) const;

 private:
  struct Layer {
    Matrix<double> output_ratios;            // (sequences, H)
    std::vector<LargestActivation> largest;  // per sequence, of the residual stream after the layer
    std::vector<std::int64_t> outliers;      // (D,): number of positions
    std::int64_t positions = 0;              // all of them
  };

  bool wants(std::int64_t layer) const;
  void add_heads(const ForwardPass& pass, std::int64_t layer, MatrixView<const float> heads);
  void add_stream(std::int64_t layer, MatrixView<const float> stream);

  const WorkItem& item_;
  const AttentionMapOptions& options_;
  const Compute& compute_;
  std::vector<std::int64_t> lengths_;  // number of rows per sequence, in the current layer
  std::vector<double> stream_norms_;   // per row, of the residual stream before the current layer
  std::map<std::int64_t, Layer> layers_;
};

/// Activations in the rows of one layer, averaged over batches.
class ActivationSums {
 public:
  explicit ActivationSums(std::size_t heads) : output_ratios_(heads) {}

  /// Adds the results of ActivationsOfBatch from an outcome; nothing if it has none, as for given
  /// maps.
  void add(const Record& fields);
  void add_head_fields(std::size_t head, Record& row) const;
  void add_layer_fields(Record& row) const;

 private:
  std::vector<RunningMean> output_ratios_;
  std::optional<LargestActivation> largest_;
  std::vector<std::int64_t> outliers_;
  std::int64_t positions_ = 0;
};

}  // namespace attnscope
