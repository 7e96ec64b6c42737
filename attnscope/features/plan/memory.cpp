#include "attnscope/features/plan/memory.h"

#include <algorithm>
#include <limits>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/neuron_removal.h"
#include "attnscope/features/plan/model_size.h"

namespace attnscope {
namespace {

std::uint64_t float_bytes(std::int64_t elements) {
  return static_cast<std::uint64_t>(elements) * sizeof(float);
}

/// Forms that leave numbers as they are, and so are fitted to nothing.
bool only_drops(Form form) { return form == Form::layers || form == Form::experts; }

/// Elements of what the form makes, at most.
std::uint64_t changed_elements(const Model& model, Form form) {
  if (only_drops(form)) return 0;
  if (form == Form::hidden) return static_cast<std::uint64_t>(size_of(model).parameters);
  std::uint64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : stored_projections(model, layer)) {
      const bool changes = form == Form::ranks || is_of_mlp(role) == (form == Form::width);
      const TensorMatrix& matrix = model.weight(layer, role).matrix;
      if (changes) sum += static_cast<std::uint64_t>(matrix.rows * matrix.cols);
    }
  }
  return form == Form::latent ? 2 * sum : sum;  // what makes keys and values of latents is large
}

/// What is made of the moments of one layer, or of as many as threads work on.
std::uint64_t matrices_bytes(const Model& model, Form form, const Context& context) {
  if (only_drops(form)) return 0;
  const Dimensions& dimensions = model.dimensions();
  std::uint64_t each = 0, fitting = 0;
  if (form == Form::ranks) {
    each = spectra_bytes(model, /*with_directions=*/true);
  } else if (form == Form::width) {
    each = neurons_bytes(dimensions.mlp_width, dimensions.width);
    // A layer at a time: moments of those that stay, and the layer's three matrices.
    const auto width = static_cast<std::uint64_t>(dimensions.width);
    const auto n = static_cast<std::uint64_t>(dimensions.mlp_width);
    fitting = (n + 3 * width) * n * sizeof(double);
  } else {
    constexpr std::uint64_t kMatrices = 6;  // moments, their factors, and what is solved
    const auto n = static_cast<std::uint64_t>(
        std::max(dimensions.width, dimensions.heads.total_dim(Role::output)));
    return kMatrices * n * n * sizeof(double);
  }
  const std::uint64_t room = std::max(each, context.memory_bytes / 2);
  return std::max(fitting, std::min(room, each * static_cast<std::uint64_t>(context.threads)));
}

std::uint64_t moments_bytes(const Model& model, std::uint64_t memory_bytes) {
  return Calibration(model, TextWindows{}, memory_bytes, /*ridge=*/0).held_bytes();
}

PlanMemory memory_of_forms(const Model& model, std::span<const Form> forms, const PlanText& text,
                           const Context& context) {
  PlanMemory out;
  std::uint64_t changed = 0;
  for (const Form form : forms) {
    if (!why_not(model, form).empty()) continue;
    changed = std::max(changed, changed_elements(model, form));
    out.matrices = std::max(out.matrices, matrices_bytes(model, form, context));
  }
  if (text.copy_weights) {
    out.copies = copied_weights_bytes(model, std::numeric_limits<std::uint64_t>::max());
    out.smaller_copies = out.copies;
    if (std::ranges::count(forms, Form::latent) > 0) {
      out.smaller_copies += changed_elements(model, Form::latent) / 2 * sizeof(float);
    }
  }
  const Model decoder = foretelling(model);
  out.run = run_bytes_of(decoder, text.measured());
  if (changed == 0) return out;
  out.smaller =
      changed * static_cast<std::uint64_t>(dtype_info(ChangedModel(model).dtype()).bits) / 8;
  const std::uint64_t room = context.memory_bytes / 2;
  const Calibration calibration(model, TextWindows{}, room, /*ridge=*/0);
  out.moments = calibration.held_bytes();
  out.passes = calibration.passes();
  out.run = std::max(out.run, run_bytes_of(model, text.fitted()));
  const Model* other = stack_of_same_width(model);
  if (other != nullptr && std::ranges::count(forms, Form::width) > 0) {
    out.moments =
        std::max(out.moments, moments_bytes(model, room / 2) + moments_bytes(*other, room / 2));
  }
  return out;
}

}  // namespace

PlanMemory plan_memory(const Model& model, const PlanRequest& request, const Context& context) {
  const std::vector<Form> forms = request.by.empty() ? possible_forms(model) : request.by;
  PlanMemory out = memory_of_forms(model, forms, request.text, context);
  if (std::ranges::count(forms, Form::ranks) > 0) {  // what enters each layer, of probes
    const Dimensions& dimensions = model.dimensions();
    out.run += float_bytes((dimensions.layers + 2) * request.probe_tokens * dimensions.width);
  }
  if (request.target.text.empty() || forms.size() < 2) return out;
  // Models that are planned on: the given one and, of each number of forms, those that a step of
  // one more form could leave; and the one that is being measured.
  const auto count = static_cast<std::uint64_t>(forms.size());
  const std::uint64_t left = count * (count + 1) / 2 - 1;
  out.moments += left * moments_bytes(model, context.memory_bytes / 2 / count);
  out.copies *= 1 + left;
  out.smaller *= 1 + left;
  return out;
}

PlanMemory shrink_memory(const Model& model, std::span<const Form> forms, const PlanText& text,
                         const Context& context) {
  PlanMemory out = memory_of_forms(model, forms, text, context);
  out.smaller *= std::min<std::size_t>(forms.size(), 2);  // what it is made of, too
  return out;
}

}  // namespace attnscope
