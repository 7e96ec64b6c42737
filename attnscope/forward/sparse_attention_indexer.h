// Sparse attention: an indexer selects the keys that each query attends to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/numerics/inference/attention.h"
#include "attnscope/numerics/inference/rotary.h"

namespace attnscope {

/// Key selection of a pass. Keeps a layer's selection for later layers that share it. Among keys
/// with equal scores, earlier ones are selected. Reference: transformers, DeepseekV32Indexer and
/// GlmMoeDsaIndexer.
class KeySelection {
 public:
  /// All arguments must outlive this object.
  KeySelection(const ModelSpec& spec, const ForwardWeights& weights, const SequenceRows& rows,
               const Compute& compute, std::span<KeyValueCache> caches);

  /// Selects the keys of a layer with an indexer. Must be called before of(). Takes the attention's
  /// input (rows, D) and the query latents (rows, rank). `tables`: rotary table of the indexer's
  /// heads for each sequence; empty: no rotation. Throws Error(numerical) for scores that are NaN
  /// or infinite.
  void enter(std::int64_t layer, MatrixView<const float> input, MatrixView<const float> latents,
             std::span<const RotaryTable* const> tables);

  /// Returns, for each query, 0 for selected keys and −∞ for others, for AttentionRule::bias. No
  /// data if all keys are selected. Valid until enter().
  MatrixView<const float> of(std::size_t sequence) const;

 private:
  /// Some queries of a sequence, counted from its first new token.
  struct Block {
    std::size_t sequence;
    std::int64_t first, count;
  };

  void make_keys(std::int64_t layer, MatrixView<const float> input,
                 std::span<const RotaryTable* const> tables);
  void make_queries(std::int64_t layer, MatrixView<const float> input,
                    MatrixView<const float> latents, std::span<const RotaryTable* const> tables);
  MatrixView<const float> keys_of(std::int64_t layer, std::size_t sequence) const;
  void select(std::int64_t layer, const Block& block, const Compute& alone);

  const ModelSpec& spec_;
  const ForwardWeights& weights_;
  const SequenceRows& rows_;
  const Compute& compute_;
  std::span<KeyValueCache> caches_;
  std::int64_t tokens_ = 0;               // tokens of the longest sequence
  Matrix<float> queries_, keys_, parts_;  // (rows, H d), (rows, d), and w, (rows, H)
  std::vector<Matrix<float>> seen_;       // results of of()
};

/// Returns the maximum number of keys per query. Empty without key selection.
std::optional<std::int64_t> kept_keys(const ModelSpec& spec);

/// Returns the number of values per row that enter() keeps. 0 without key selection.
std::int64_t selection_row_size(const ModelSpec& spec);

}  // namespace attnscope
