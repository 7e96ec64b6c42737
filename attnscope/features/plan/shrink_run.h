// Makes the model that a plan describes.
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

/// Of a plan's report: see features/plan/plan_file.h.
struct ShrinkRequest {
  std::string plan_text;   // of PLAN.json
  std::string plan_place;  // its file's name
  PlanFile plan;           // checked by check_plan()
  PlanText text;
  std::filesystem::path folder;
  WrittenForm form;  // its card is made here
};

/// Checks all of a plan but its text. Throws Error(format) for a plan of another model, or one that
/// does not fit the model.
void check_plan(const PlanFile& plan, const Model& model, std::string_view place);

/// Writes the model that a plan leaves, opens it, and measures it. Rows: its tensors. Throws
/// Error(format) for a plan of another text. The folder appears when all is done.
void run_shrink(const Model& model, const ShrinkRequest& request, const Context& context,
                RowSink& sink);

}  // namespace attnscope
