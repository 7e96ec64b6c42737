// All compression methods, and shared helpers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

/// In the order of comparisons and help.
std::span<const Method> methods();

/// Null if there is no method with this name.
Method find_method(std::string_view name);

/// Why the method does not support the model; empty if it does.
std::string why_not(const Model& model, Method method);

/// The methods that support the model, in the order of methods().
std::vector<Method> possible_methods(const Model& model);

/// MethodInfo::choose, or the size alone.
Choice choose(const Model& model, Method method, std::int64_t size, const TextStatistics& text,
              const Compute& compute);

/// The size after compression, computed without making the model. `before`: size_of(model).
ModelSize size_after(const Model& model, const ModelSize& before, const Choice& choice);

/// The size of a model with these dimensions in the unit of the method; 0 if the method reduces
/// none of them.
std::int64_t whole_size(const Dimensions& dimensions, Method method);

/// Description such as "6 → 5 (without 2)". `whole`: the original size.
std::string choice_words(const Choice& choice, std::int64_t whole);

// ---- Shared helpers
// ------------------------------------------------------------------------------

/// Calls make() for each layer in order, which puts its tensors into the changed model. Reuses
/// layers that an earlier run has finished.
void for_layers(ChangedModel& changed, const TextStatistics& text, const Compute& compute,
                const std::function<void(std::int64_t layer)>& make);

/// Calls of_matrix() for each of these matrices of a layer, with the second moments of its input,
/// including the ridge. Runs as many in parallel as memory allows.
using OfMatrix = std::function<void(std::size_t number, Matrix<double> weight,
                                    const MeanMoments& moments, const Compute& compute)>;
void for_matrices(const Model& model, std::int64_t layer, std::span<const Role> roles,
                  const TextStatistics& text, const Compute& compute, const OfMatrix& of_matrix);

/// The indices of the `count` largest scores, in ascending order. Ties go to the lower index.
std::vector<std::int64_t> largest(const std::vector<double>& scores, std::int64_t count);

/// Throws Error(format) unless `kept` has `count` indices below `limit` in ascending order.
void check_numbers(const std::vector<std::int64_t>& kept, std::int64_t count, std::int64_t limit);

/// The same for each list of a choice, which must have `lists` lists.
void check_lists(const Choice& choice, std::int64_t lists, std::int64_t count, std::int64_t limit);

/// Copies these rows of a matrix and its bias into `out`.
void keep_weight_rows(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                      const std::vector<std::int64_t>& kept);

Matrix<double> zero_matrix(std::int64_t rows, std::int64_t cols);

/// `whole` and all smaller multiples of `step` down to 1, in descending order.
std::vector<std::int64_t> descending_sizes(std::int64_t whole, std::int64_t step = 1);

/// The layer index in the name of the tensor; -1 if it belongs to no layer or to all.
std::int64_t layer_of_tensor(const Model& model, const std::string& name);

/// Parses the whole text as an integer; empty if it is not one.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace attnscope
