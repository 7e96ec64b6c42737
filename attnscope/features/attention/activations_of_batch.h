// The activations of a batch, next to the measures of its maps: the largest ones of the residual
// stream, outlier dimensions, and how much each head adds.
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
  /// `options`: of the batch's maps, must outlive it.
  ActivationsOfBatch(const WorkItem& item, const AttentionMapOptions& options,
                     const Compute& compute)
      : item_(item), options_(options), compute_(compute) {}

  /// The pass then runs to the end of the batch's last layer at least.
  void watch(const ForwardPass& pass, ForwardObserver& observer);
  /// Adds what was seen to the outcome of each layer.
  void add_to(std::vector<Outcome>& outcomes) const;

 private:
  struct Layer {
    Matrix<double> output_ratios;            // (sequences, H)
    std::vector<LargestActivation> largest;  // of each sequence, of the stream after the layer
    std::vector<std::int64_t> outliers;      // (D,): at how many positions
  };

  bool wants(std::int64_t layer) const;
  void add_heads(const ForwardPass& pass, std::int64_t layer, MatrixView<const float> heads);
  void add_stream(std::int64_t layer, MatrixView<const float> stream);

  const WorkItem& item_;
  const AttentionMapOptions& options_;
  const Compute& compute_;
  std::vector<std::int64_t> lengths_;  // rows of each sequence
  std::vector<double> stream_norms_;   // of each row, as it enters the layer under way
  std::map<std::int64_t, Layer> layers_;
};

/// What the rows of one layer say of its activations, over batches.
class ActivationSums {
 public:
  explicit ActivationSums(std::size_t heads) : output_ratios_(heads) {}

  /// Adds what ActivationsOfBatch gave an outcome; nothing if it has none, as of given maps.
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
