// Expert routing of a text, recorded while its attention maps are measured.
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

/// Lets run_routing() reuse the forward pass of run_attention() on the same sequences, so that the
/// model is not run twice.
class SavedRouting : public PassWatcher {
 public:
  /// The model must outlive it. Records nothing if `sequences` differ in length.
  SavedRouting(const Model& model, const std::vector<TokenIds>& sequences);

  /// The context for run_attention(); valid as long as this object.
  Context watching(const Context& context);

  /// The context for run_routing() on the same sequences, in which recorded batches are not
  /// recomputed. Returns `context` if some batches were not recorded: their maps came from the
  /// store or another process, or needed too much memory.
  Context giving(const Context& context) const;

 private:
  bool wants_routing() const override { return true; }
  void on_routing(const WorkItem& batch, const LayerRouting& routing) override;

  const Model& model_;
  bool fits_ = false;
  std::size_t batches_ = 0;
  std::mutex mutex_;
  /// Outcomes by the first sequence of each batch, then by layer.
  std::map<std::int64_t, std::map<std::int64_t, Outcome>> seen_;
};

}  // namespace attnscope
