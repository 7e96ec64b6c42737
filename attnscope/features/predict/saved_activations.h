// Saves activations of `predict` by name as one .safetensors file.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/temporary_file.h"
#include "attnscope/features/common/prompt.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {

/// Requested activations.
struct NamedActivations {
  std::vector<HookPoint> points;  // in the order of HookPoint, each once
  LayerSelection layers;
  LayerSelection heads;                  // of q and z: query heads; of k and v: key/value heads
  std::vector<PositionRange> positions;  // empty: all
  DType dtype = DType::f32;              // f32, f16 or bf16
};

/// Writes these tensors:
/// - `tokens` (T), int64, and `positions` (P) and `heads` (H), int64, if some were selected
/// - for each name: NAME.layers, int64, if only some layers have it or were requested
/// - NAME: (L, P, …), of maps (L, H, P, T), of `final_norm` and `logits` (P, …). `expert_index` has
///   integers with the size of the dtype.
/// For several texts, the names of `tokens`, `positions` and activations end with .0, .1, …
///
/// Values are written as they are computed. Those that belong behind others wait in temporary
/// files.
class SavedActivations : public ForwardHooks {
 public:
  /// `prompts`: those that will run, in this order. All arguments must outlive this object.
  SavedActivations(const NamedActivations& request, std::span<const Prompt> prompts,
                   std::ostream& out)
      : request_(request), prompts_(prompts), out_(out) {}

  /// Valid as long as this object.
  PromptWatcher watcher();

  bool wants(HookPoint point, std::int64_t layer) const override;
  bool changes(HookPoint point, std::int64_t layer) const override;
  void visit(const HookedValues& values) override;

 private:
  /// One activation in the file, of all texts.
  struct Saved {
    HookPoint point;
    HookShape shape;
    std::vector<std::int64_t> layers, heads;  // selected; of activations without them: empty
  };
  /// One tensor of the current text.
  struct Waiting {
    Spool bytes = Spool();
    std::uint64_t left = 0;  // bytes that have not arrived
  };

  void begin(const ForwardPass& pass, const TokenIds& ids, std::int64_t tokens);
  void open(const ForwardPass& pass, const TokenIds& ids);
  Positions selected(std::int64_t tokens) const;
  SavedTensor tensor_of(const Saved& saved, std::int64_t tokens, std::int64_t source) const;
  std::vector<SavedTensor> tensors_of_text(std::int64_t tokens, std::int64_t source) const;
  std::string name_in_file(std::string_view name, std::size_t text) const;
  std::size_t index_of(HookPoint point) const;
  void take_rows(std::size_t index, MatrixView<const float> values,
                 std::span<const std::int64_t> rows);
  void take_maps(std::size_t index, std::span<const MatrixView<float>> maps);
  void take_indices(std::size_t index, std::span<const std::int64_t> experts);
  void take_logits(MatrixView<const float> logits);
  void give(std::size_t index, std::span<const float> values);
  void give_bytes(std::size_t index, DType type, std::span<const std::byte> bytes);
  void write_complete();
  void end();

  const NamedActivations& request_;
  std::span<const Prompt> prompts_;
  std::ostream& out_;
  std::optional<SafetensorsWriter> file_;
  std::vector<Saved> saved_;
  std::vector<SavedTensor> tensors_;  // of the current text
  std::deque<Waiting> waiting_;       // of the current text
  std::size_t text_ = 0, next_ = 0;   // the current text, and the tensor that is being written
  Positions positions_;               // selected in the current text
  std::int64_t logits_row_ = 0;       // first row of the next block of logits
  std::vector<float> buffer_;
};

}  // namespace attnscope
