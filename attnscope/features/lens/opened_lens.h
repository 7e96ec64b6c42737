// The lens of one model, as a request selects it.
#pragma once

#include <optional>

#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/features/lens/run.h"
#include "attnscope/features/lens/tuned_lens.h"
#include "attnscope/rows/record.h"

namespace attnscope {

/// Adds the parameters of a report. Those that few reports have are absent otherwise.
void add_states(Record& parameters, const LensStates& states);

/// The lens of one model, whose files stay open.
class OpenedLens {
 public:
  /// Throws Error if the files of a tuned lens cannot be read, or do not fit the model.
  OpenedLens(const LensStates& states, const Model& model);
  OpenedLens(const OpenedLens&) = delete;
  OpenedLens& operator=(const OpenedLens&) = delete;

  const LensChoice& choice() const { return choice_; }

 private:
  std::optional<TunedLens> tuned_;
  LensChoice choice_;
};

}  // namespace attnscope
