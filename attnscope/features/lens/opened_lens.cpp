#include "attnscope/features/lens/opened_lens.h"

namespace attnscope {

void add_states(Record& parameters, const LensStates& states) {
  parameters.add("resid_mid", states.middles);
  if (states.attn_out) parameters.add("attn_out", true);
  if (states.mlp_out) parameters.add("mlp_out", true);
  if (!states.tuned_lens.empty()) parameters.add("tuned_lens", states.tuned_lens);
}

OpenedLens::OpenedLens(const LensStates& states, const Model& model)
    : choice_{.middles = states.middles, .attn_out = states.attn_out, .mlp_out = states.mlp_out} {
  if (states.tuned_lens.empty()) return;
  tuned_.emplace(states.tuned_lens);
  tuned_->check_fits(model);
  choice_.tuned = &*tuned_;
}

}  // namespace attnscope
