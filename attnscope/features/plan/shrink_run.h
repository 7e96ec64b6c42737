// Writes the compressed model that a plan describes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/writing/checkpoint_writer.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The plan is a report of `plan`: see features/plan/plan_file.h.
struct ShrinkRequest {
  std::string plan_text;   // content of PLAN.json
  std::string plan_place;  // name of the plan file
  PlanFile plan;           // checked by check_plan()
  PlanText text;
  std::filesystem::path folder;
  WrittenForm form;  // without its model card, which run_shrink() makes
};

/// Checks everything in a plan except its text. Throws Error(format) if the plan belongs to another
/// model or does not fit the model.
void check_plan(const PlanFile& plan, const Model& model, std::string_view place);

/// Writes the compressed model, reopens it and measures it. Rows: its tensors. Throws Error(format)
/// if the plan belongs to another text. The folder appears only when it is complete.
void run_shrink(const Model& model, const ShrinkRequest& request, const Context& context,
                RowSink& sink);

}  // namespace attnscope
