// What `predict` finds of one model: its prompt run, the likeliest tokens, what it writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attnscope/features/predict/run.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

struct Prediction {
  Record facts;
  std::vector<Record> rows;
  std::vector<std::string> notes;
};

/// Throws as run_predict().
Prediction run_prompt(const Model& model, const Prompt& prompt, const PredictRequest& request,
                      const Context& context, const Compute& compute);

/// The most that it holds at once, beside the mapped files.
std::uint64_t prompt_run_bytes(const Model& model, const Prompt& prompt,
                               const PredictRequest& request, const Context& context);

}  // namespace attnscope
