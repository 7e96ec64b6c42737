// The sections of one model on prompts with answers.
#pragma once

#include <cstdint>

#include "attnscope/features/common/prompt_preference.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/report/sections.h"

namespace attnscope {

class PromptsRun {
 public:
  /// Reads the prompts. `model` and `session` must outlive it. Throws Error if the model cannot be
  /// run, the errors of prompts_request(), and for given positions those of patched_places().
  PromptsRun(const ReportModel& model, const Session& session);

  /// Adds the effects of components, of activations at each position, and of paths between layers.
  /// Heads, positions and paths that take long are left out, with a command. Without corrupted
  /// prompts, positions and paths are left out. Throws Error if the model does not predict the
  /// answers.
  void add(ReportFile& file) const;

 private:
  void add_components(ReportFile& file) const;
  void add_positions(ReportFile& file) const;
  void add_paths(ReportFile& file) const;
  void leave_out_slow(const ReportPart& part, const char* what, ReportFile& file) const;
  /// Number of positions that are patched separately. Throws the errors of patched_places().
  std::int64_t count_positions() const;
  /// FLOPs of patching these components in one direction.
  double flops_of(const char* parts) const;

  const ReportModel& model_;
  const Session& session_;
  PromptsRequest request_;
};

}  // namespace attnscope
