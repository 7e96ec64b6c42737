// README.md of a compressed model.
#pragma once

#include <string>

#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {

/// What a plan makes: "hidden,width", and its choices in words.
struct PlanWords {
  std::string methods, choices;
};

/// The text: what the model was made from and how, with its figures.
std::string model_card(const Model& model, const PlanFile& plan, const PlanWords& words,
                       double nll_before, const ModelSize& before, const ModelSize& after,
                       const PlanText& text);

/// "12.346": rounded to so many digits after the point.
std::string rounded_text(double value, int digits);

}  // namespace attnscope
