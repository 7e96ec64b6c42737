// Which keys the queries of a layer see, where an indexer selects them.
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

/// Keeps a layer's selection for those after it that see the same keys. Of keys with equal scores
/// the earlier ones are selected. Source: transformers, DeepseekV32Indexer and GlmMoeDsaIndexer.
class KeySelection {
 public:
  /// All must outlive it.
  KeySelection(const ModelSpec& spec, const ForwardWeights& weights, const SequenceRows& rows,
               const Compute& compute, std::span<KeyValueCache> caches);

  /// Selects the keys of a layer that has an indexer, before of() is asked for them. From the
  /// attention's input (rows, D) and the latents of its queries (rows, rank). `tables`: of each
  /// sequence how the indexer's heads turn; empty: they do not. Throws Error(numerical) for scores
  /// that are NaN or infinite.
  void enter(std::int64_t layer, MatrixView<const float> input, MatrixView<const float> latents,
             std::span<const RotaryTable* const> tables);

  /// 0 of each query for the keys that it sees, −∞ for others, as AttentionRule::bias has it; no
  /// data where all are seen. Valid until enter().
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
  std::int64_t tokens_ = 0;               // of the longest sequence
  Matrix<float> queries_, keys_, parts_;  // (rows, H d), (rows, d), and w, (rows, H)
  std::vector<Matrix<float>> seen_;       // what of() gives
};

/// How many keys each query sees at most; none where nothing selects them.
std::optional<std::int64_t> kept_keys(const ModelSpec& spec);

/// Numbers that enter() keeps of each row; 0 where nothing selects keys.
std::int64_t selection_row_size(const ModelSpec& spec);

}  // namespace attnscope
