#include "attnscope/features/plan/memory.h"

#include <algorithm>
#include <limits>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/model_size.h"

namespace attnscope {
namespace {

std::uint64_t float_bytes(std::int64_t elements) {
  return static_cast<std::uint64_t>(elements) * sizeof(float);
}

std::uint64_t moments_bytes(const Model& model, std::uint64_t memory_bytes) {
  return Calibration(model, TextWindows{}, memory_bytes, /*ridge=*/0).buffered_bytes();
}

PlanMemory memory_of_methods(const Model& model, std::span<const Method> methods,
                             const PlanText& text, const Context& context) {
  PlanMemory out;
  std::uint64_t changed = 0, latents = 0;
  for (const Method method : methods) {
    if (!why_not(model, method).empty()) continue;
    const std::uint64_t own =
        method->changed_elements == nullptr ? 0 : method->changed_elements(model);
    changed = std::max(changed, own);
    if (method->makes_latents) latents += own / 2 * sizeof(float);
    if (method->fitting_bytes == nullptr) continue;
    out.matrices = std::max(out.matrices, method->fitting_bytes(model, context));
  }
  if (text.copy_weights) {
    out.copies = copied_weights_bytes(model, std::numeric_limits<std::uint64_t>::max());
    out.smaller_copies = out.copies + latents;
  }
  const Model decoder = model_that_predicts(model);
  out.run = run_bytes_of(decoder, text.measured());
  if (changed == 0) return out;
  out.smaller =
      changed * static_cast<std::uint64_t>(dtype_info(ChangedModel(model).dtype()).bits) / 8;
  const std::uint64_t room = context.memory_bytes / 2;
  const Calibration calibration(model, TextWindows{}, room, /*ridge=*/0);
  out.moments = calibration.buffered_bytes();
  out.passes = calibration.passes();
  out.run = std::max(out.run, run_bytes_of(model, text.fitted()));
  const Model* other = stack_of_same_width(model);
  if (other != nullptr && std::ranges::any_of(methods, &MethodInfo::both_stacks)) {
    out.moments =
        std::max(out.moments, moments_bytes(model, room / 2) + moments_bytes(*other, room / 2));
  }
  return out;
}

}  // namespace

PlanMemory plan_memory(const Model& model, const PlanRequest& request, const Context& context) {
  const std::vector<Method> methods = request.by.empty() ? possible_methods(model) : request.by;
  PlanMemory out = memory_of_methods(model, methods, request.text, context);
  if (std::ranges::any_of(methods,
                          &MethodInfo::allocates_ranks)) {  // layer inputs for sensitivities
    const Dimensions& dimensions = model.dimensions();
    out.run += float_bytes((dimensions.layers + 2) * request.probe_tokens * dimensions.width);
  }
  if (request.target.text.empty() || methods.size() < 2) return out;
  // Models in memory: the original model, the intermediate models for each number of applied
  // methods, and the model being measured.
  const auto count = static_cast<std::uint64_t>(methods.size());
  const std::uint64_t left = count * (count + 1) / 2 - 1;
  out.moments += left * moments_bytes(model, context.memory_bytes / 2 / count);
  out.copies *= 1 + left;
  out.smaller *= 1 + left;
  return out;
}

PlanMemory shrink_memory(const Model& model, std::span<const Method> methods, const PlanText& text,
                         const Context& context) {
  PlanMemory out = memory_of_methods(model, methods, text, context);
  out.smaller *= std::min<std::size_t>(methods.size(), 2);  // also the model that it is made from
  return out;
}

}  // namespace attnscope
