// KV cache of one text: keys and values of every attention layer, and the states of mixers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/numerics/inference/attention.h"

namespace attnscope {

/// Cache of one text for one model, filled by ForwardPass. Keys are stored after norm and rotation.
/// Layers with sliding-window attention keep all tokens too.
class KeyValueCache {
 public:
  /// Allocates room for `room` tokens. Throws std::bad_alloc.
  KeyValueCache(const ModelSpec& spec, std::int64_t room);

  /// Returns the size in bytes, or the largest integer if it overflows. `encoder_length`: encoder
  /// tokens of cross-attention; see set_encoder_length().
  static std::uint64_t bytes(const ModelSpec& spec, std::int64_t room,
                             std::int64_t encoder_length = 0);

  /// The cached tokens.
  const TokenIds& tokens() const { return tokens_; }
  std::int64_t room() const { return room_; }

  /// Keeps the first `count` tokens, so that others may follow. States cannot be rewound: a cache
  /// with states then forgets all tokens.
  void keep(std::int64_t count);

  /// Takes the tokens of `other`, with their keys and values in the layers from `first_layer` on.
  /// Requires a cache of the same model with the same room, and a model without mixers.
  void copy_from(const KeyValueCache& other, std::int64_t first_layer);

  // For ForwardPass:
  /// Sets the number of encoder tokens for a decoder's cross-attention.
  void set_encoder_length(std::int64_t encoder_length) { encoder_length_ = encoder_length; }
  std::int64_t encoder_length() const { return encoder_length_; }
  /// Keys and values of the encoder tokens, computed by a layer at the start of the text.
  KeysAndValues& cross_head(std::int64_t layer, std::int64_t kv_head);
  KeysAndValues& head(std::int64_t layer, std::int64_t kv_head);
  /// Keys of a layer's indexer, rotated: (room, d).
  MatrixView<float> indexer_keys(std::int64_t layer) {
    return indexer_keys_[static_cast<std::size_t>(layer)].view();
  }
  /// State of a layer's mixer after the cached tokens. Empty if there are none.
  std::span<const float> state(std::int64_t layer) const;
  /// Buffer for the state after the next tokens, which becomes current with add().
  std::span<float> next_state(std::int64_t layer);
  /// Adds tokens after all heads have stored their keys and values, and all layers their next
  /// states.
  void add(const TokenIds& tokens);

 private:
  TokenIds tokens_;
  std::int64_t room_, state_size_ = 0, encoder_length_ = 0;
  /// One entry per layer. Empty for layers without attention, and for layers that share keys and
  /// values of an earlier one.
  std::vector<std::vector<KeysAndValues>> layers_;
  std::vector<std::vector<KeysAndValues>> cross_;  // one entry per layer
  std::vector<Matrix<float>> indexer_keys_;        // one per layer; empty without an indexer
  std::vector<std::int64_t> place_;                // index among the layers with mixers
  std::vector<float> states_, next_states_;        // states of mixers
};

/// Returns whether a text of `tokens` tokens may continue from a cache of its first `past` tokens.
/// False if a longer text changes earlier keys: bidirectional attention, embeddings scaled by the
/// share of masked tokens (ESM), and the start of longrope's long factors. The rotation of
/// `dynamic` RoPE also changes as a text grows. There, generate() in transformers keeps the
/// existing keys; it restarts only for longrope (Phi-3).
bool can_continue(const ModelSpec& spec, std::int64_t past, std::int64_t tokens);

}  // namespace attnscope
