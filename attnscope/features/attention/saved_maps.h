// The attention maps of a model on text, layer by layer, for files that keep them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"

namespace attnscope {

struct SavedMapsRequest {
  std::span<const TokenIds> sequences;     // of a mean, all of one length T
  std::vector<std::int64_t> layers;        // ascending
  bool mean = false;                       // over all sequences; else of the first one
  std::span<const TokenIds> sources = {};  // of a decoder; of a mean, all of one length
  std::span<const MediaInput> media_inputs =
      {};  // in place of sequences, or of a decoder of sources

  BatchInputs inputs() const;
  /// T, and the keys of maps: S, those of a source, across; else T.
  std::int64_t map_rows(const Model& model) const;
  std::int64_t map_columns(const Model& model) const;
};

/// Calls take() for each layer in turn with its maps (H, T, T), across (H, T, S). Of the first
/// sequence nothing larger is held; a mean needs the sums of all layers, in float64, added up in
/// the order of the sequences. Throws Error(usage) where those exceed the memory budget, and as
/// ForwardPass does.
void visit_saved_maps(const Model& model, const SavedMapsRequest& request, const Context& context,
                      const std::function<void(std::span<const float>)>& take);

/// visit_saved_maps() of the first sequence for those who also measure it: where the maps are few,
/// they are held while they are measured, and the model is not run again.
class SavedMaps : public PassWatcher {
 public:
  /// The model and the sequences must outlive it.
  SavedMaps(const Model& model, SavedMapsRequest request);

  const std::vector<std::int64_t>& layers() const { return request_.layers; }

  /// The context in which attention is to be measured for the maps to be held; valid as long as
  /// this.
  Context watching(const Context& context);

  /// Calls take() as visit_saved_maps() does, which it is where the maps were not held, and lets go
  /// of them. Throws the same.
  void give(const Context& context, const std::function<void(std::span<const float>)>& take);

 private:
  void on_maps(const WorkItem& batch, const LayerMaps& maps) override;
  bool fits_in(const Context& context) const;

  const Model& model_;
  SavedMapsRequest request_;
  std::vector<std::vector<float>> held_;  // of each layer, (H, T, T)
};

}  // namespace attnscope
