// Attention maps of a model on text, layer by layer, for saving to files.
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
  std::span<const TokenIds> sequences;     // for a mean, all of length T
  std::vector<std::int64_t> layers;        // ascending
  bool mean = false;                       // over all sequences; otherwise of the first one
  std::span<const TokenIds> sources = {};  // for a decoder; for a mean, all of the same length
  std::span<const MediaInput> media_inputs = {};  // replace sequences, or the sources of a decoder

  BatchInputs inputs() const;
  /// Throws Error(usage) if the maps of the layers differ in size, as between stages.
  void check_layers(const Model& model) const;
  // The sizes of the maps of the first layer.
  std::int64_t heads(const Model& model) const;
  /// Number of rows T and of columns of the maps: S for cross-attention, otherwise T. With
  /// attention in windows, T is the number of patches of the whole image.
  std::int64_t map_rows(const Model& model) const;
  std::int64_t map_columns(const Model& model) const;
};

/// Calls take() for each layer in order with its maps (H, T, T), or (H, T, S) for cross-attention.
/// Weights between windows of an image are 0.
/// For the first sequence, the maps of one layer are held at a time. A mean holds float64 sums of
/// all layers, added in the order of the sequences. Throws Error(usage) if these exceed the memory
/// limit, and the errors of ForwardPass.
void visit_saved_maps(const Model& model, const SavedMapsRequest& request, const Context& context,
                      const std::function<void(std::span<const float>)>& take);

/// visit_saved_maps() for the first sequence of a run that also measures it. If the maps are small,
/// they are kept during the run, so that the model does not run again.
class SavedMaps : public PassWatcher {
 public:
  /// The model and the sequences must outlive this object.
  SavedMaps(const Model& model, SavedMapsRequest request);

  const std::vector<std::int64_t>& layers() const { return request_.layers; }

  /// The context for measuring attention, in which the maps are kept; valid as long as this object.
  Context watching(const Context& context);

  /// Calls take() like visit_saved_maps(), which it calls if the maps were not kept, and frees the
  /// maps. Throws the same errors.
  void give(const Context& context, const std::function<void(std::span<const float>)>& take);

 private:
  void on_maps(const WorkItem& batch, const LayerMaps& maps) override;
  bool fits_in(const Context& context) const;

  const Model& model_;
  SavedMapsRequest request_;
  std::vector<std::vector<float>> held_;  // per layer, (H, T, T)
};

}  // namespace attnscope
