// Where routers send a text, seen while its maps are measured.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/engine/context.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// run_routing() for those who also measure the maps of the same sequences, layer by layer, with
/// run_attention(): what that pass saw is held, and the model is not run again.
class SavedRouting : public PassWatcher {
 public:
  /// The model must outlive it. Holds nothing if `sequences` differ in length.
  SavedRouting(const Model& model, const std::vector<TokenIds>& sequences);

  /// The context in which attention is to be measured; valid as long as this.
  Context watching(const Context& context);

  /// The context for run_routing() of the same sequences: of batches that were seen nothing is
  /// computed. `context` where some were not: the store had their maps, another process measured
  /// them, or they would be too much to hold.
  Context giving(const Context& context) const;

 private:
  bool wants_routing() const override { return true; }
  void on_routing(const WorkItem& batch, const LayerRouting& routing) override;

  const Model& model_;
  bool fits_ = false;
  std::size_t batches_ = 0;
  std::mutex mutex_;
  /// By the first sequence of each batch: its outcomes, by layer.
  std::map<std::int64_t, std::map<std::int64_t, Outcome>> seen_;
};

}  // namespace attnscope
