// Saves a run of `predict` as one .safetensors file.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/base/temporary_file.h"
#include "attnscope/checkpoint/sentence_transformers.h"
#include "attnscope/features/predict/run.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {

/// Writes these tensors in this order:
/// - the input: `tokens` (T), int64; `pixel_values` (C, H, W) for images; `input_values` for audio
/// - `attentions` (L, H, T, T) in float32. If some layers have no attention, only the A others are
///   written, after their indices `attention_layers` (A), int64.
/// - `hidden_states` (L + 1, T, D) in float32. If the last hidden state has another width E (the
///   projection of OPT), the tensors are `hidden_states` (L, T, D) and `last_hidden_state` (T, E).
/// - `logits` (T, V) in float32, if the model has logits. Classifiers write `logits` (labels), or
///   (T, labels) if they label tokens or mark answers. Vision models write `logits` (labels), or
///   `image_embedding` if they compare images with texts.
/// - `sentence_embedding` (D, or D for each pooling), for a text and a folder of
///   sentence-transformers.
///
/// For an encoder-decoder, these tensors describe the decoder. `source_tokens` (S) or
/// `input_values` precede `tokens`. `encoder_attentions` (Lₑ, Hₑ, S, S) and `encoder_hidden_states`
/// (Lₑ + 1, S, D) precede `attentions`, and `cross_attentions` (L, H, T, S) follow them.
///
/// Attention maps are written as they are computed. Hidden states and cross-attention maps wait
/// until the attention maps are complete: each in memory up to 64 MB, then in a temporary file.
class SavedRun {
 public:
  /// Both must outlive it.
  SavedRun(const Prompt& prompt, std::ostream& out) : prompt_(&prompt), out_(out) {}
  SavedRun(const MediaInput& media_input, std::ostream& out)
      : media_input_(&media_input), out_(out) {}
  SavedRun(const SavedRun&) = delete;
  SavedRun& operator=(const SavedRun&) = delete;

  /// Valid as long as this is.
  PromptWatcher watcher();

 private:
  static constexpr std::size_t kInMemory = std::size_t{64} << 20;

  void begin(const ForwardPass& pass, const TokenIds& ids, std::int64_t tokens);
  const MediaInput* media_input() const;
  static void keep(MatrixView<const float> rows, Spool& in);
  void write_all(Spool& kept);
  void write_kept();
  void write(MatrixView<const float> rows);

  const Prompt* prompt_ = nullptr;  // exactly one of the two is set
  const MediaInput* media_input_ = nullptr;
  std::ostream& out_;
  std::optional<SafetensorsWriter> file_;
  std::optional<SentenceModules> sentence_modules_;
  std::vector<float> sentence_embedding_;
  Spool cross_maps_{kInMemory}, hidden_states_{kInMemory};
};

}  // namespace attnscope
