// Edits of activations while a lens reads them.
#pragma once

#include <optional>
#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// The edits of a run that reads activations, too.
class ItemEdits {
 public:
  ItemEdits(const ForwardPass& pass, std::span<BatchWatcher* const> watchers,
            const Compute& compute)
      : pass_(pass), watchers_(watchers), compute_(compute) {}

  MakeHooks maker() {
    return [this](ForwardHooks* next) {
      return edits_.emplace(pass_, watchers_, compute_, next).hooks();
    };
  }

 private:
  const ForwardPass& pass_;
  std::span<BatchWatcher* const> watchers_;
  const Compute& compute_;
  std::optional<RunEdits> edits_;
};

}  // namespace attnscope
