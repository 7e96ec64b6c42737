// What `predict` saves of a run, as one .safetensors file.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>

#include "attnscope/base/model_inputs.h"
#include "attnscope/base/temporary_file.h"
#include "attnscope/features/predict/run.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {

/// Writes, in this order: `tokens` (T), int64; `attentions` (L, H, T, T), `hidden_states`
/// (L + 1, T, D) and `logits` (T, V), float32. Logits are left out where the model has none. Where
/// some layers do not attend, `attentions` are those of the A others, whose numbers come before
/// them as `attention_layers` (A), int64. Where the last hidden state has another width E than the
/// others (OPT's projection), those are `hidden_states` (L, T, D), and it is `last_hidden_state`
/// (T, E). Of an image `pixel_values` (C, H, W) stand first, of sound `input_values`; `logits`
/// (labels) or, where images are compared with texts, `image_embedding` last. Of an encoder-decoder
/// these are of its decoder; before `tokens` come `source_tokens` (S) or `input_values`, before
/// `attentions` those of the encoder, `encoder_attentions` (Lₑ, Hₑ, S, S) and
/// `encoder_hidden_states` (Lₑ + 1, S, D), and after them `cross_attentions` (L, H, T, S). Maps go
/// to the file as they come. Hidden states and cross maps wait until these are whole: each in
/// memory up to 64 MB, and then in a temporary file.
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

  const Prompt* prompt_ = nullptr;  // one of these
  const MediaInput* media_input_ = nullptr;
  std::ostream& out_;
  std::optional<SafetensorsWriter> file_;
  Spool cross_maps_{kInMemory}, hidden_states_{kInMemory};
};

}  // namespace attnscope
