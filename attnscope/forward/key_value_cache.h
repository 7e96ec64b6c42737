// What a run leaves of a text for the tokens that follow it: keys and values of every layer that
// attends, and the states of the others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/numerics/inference/attention.h"

namespace attnscope {

/// Belongs to one text and one model, whose ForwardPass fills it. Keys are as their layer's norm
/// and rotation left them. Layers with a window keep all tokens, too.
class KeyValueCache {
 public:
  /// Room for `room` tokens. Throws std::bad_alloc.
  KeyValueCache(const ModelSpec& spec, std::int64_t room);

  /// What it takes, in bytes; the largest integer where that is more. `encoder_length`: tokens of
  /// an encoder, see look_at().
  static std::uint64_t bytes(const ModelSpec& spec, std::int64_t room,
                             std::int64_t encoder_length = 0);

  /// Those whose keys and values it holds.
  const TokenIds& tokens() const { return tokens_; }
  std::int64_t room() const { return room_; }

  /// Forgets all tokens but the first `count`, after which others may then follow. States cannot go
  /// back: a cache that has some then forgets all tokens.
  void keep(std::int64_t count);

  // For ForwardPass:
  /// The text is that of a decoder, whose layers look at so many tokens of an encoder.
  void set_encoder_length(std::int64_t encoder_length) { encoder_length_ = encoder_length; }
  std::int64_t encoder_length() const { return encoder_length_; }
  /// Keys and values that a layer made of them when the text was begun.
  KeysAndValues& cross_head(std::int64_t layer, std::int64_t kv_head);
  KeysAndValues& head(std::int64_t layer, std::int64_t kv_head);
  /// (room, d) of the keys of a layer's own indexer, rotated.
  MatrixView<float> indexer_keys(std::int64_t layer) {
    return indexer_keys_[static_cast<std::size_t>(layer)].view();
  }
  /// What a layer that does not attend has left of the tokens; empty where there are none.
  std::span<const float> state(std::int64_t layer) const;
  /// Where it puts what it leaves of these and of those that add() will be told of.
  std::span<float> next_state(std::int64_t layer);
  /// Tokens of which every head holds keys and values, and every next state what they left.
  void add(const TokenIds& tokens);

 private:
  TokenIds tokens_;
  std::int64_t room_, state_size_ = 0, encoder_length_ = 0;
  /// Of each layer; none where it does not attend, or takes those of an earlier one.
  std::vector<std::vector<KeysAndValues>> layers_;
  std::vector<std::vector<KeysAndValues>> cross_;  // likewise
  std::vector<Matrix<float>> indexer_keys_;        // of each layer; empty where it has no indexer
  std::vector<std::int64_t> place_;                // of each layer among those that do not attend
  std::vector<float> states_, next_states_;        // of these
};

/// Whether a text of `tokens` tokens may be run from a cache of its first `past`. Not where the run
/// of a longer text gives these other keys: where attention looks forward too, where tokens are
/// embedded by the share of masks in the text (ESM), and where longrope's long factors begin.
/// (dynamic turns tokens otherwise as a text grows, too, but there transformers' generate() keeps
/// the keys that it has, and begins anew only where longrope does, in Phi-3.)
bool can_continue(const ModelSpec& spec, std::int64_t past, std::int64_t tokens);

}  // namespace attnscope
