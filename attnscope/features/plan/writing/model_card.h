// README.md of a compressed model.
#pragma once

#include <string>

#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {

/// The methods of a plan ("hidden-size,mlp") and descriptions of its choices.
struct PlanWords {
  std::string methods, choices;
};

/// The text of the card: the base model, the methods and the measurements.
std::string model_card(const Model& model, const PlanFile& plan, const PlanWords& words,
                       double nll_before, const ModelSize& before, const ModelSize& after,
                       const PlanText& text);

/// Rounds to `digits` decimal places: "12.346".
std::string rounded_text(double value, int digits);

}  // namespace attnscope
