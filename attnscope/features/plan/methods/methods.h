// All methods of compression, and what their files share.
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

/// In the order of menus and help.
std::span<const Method> methods();

/// Null: there is none of that name.
Method find_method(std::string_view name);

/// Why the model cannot be compressed by the method; empty if it can.
std::string why_not(const Model& model, Method method);

/// The methods by which it can be, in the order of methods().
std::vector<Method> possible_methods(const Model& model);

/// MethodInfo::choose, or the size alone.
Choice choose(const Model& model, Method method, std::int64_t size, const TextStatistics& text,
              const Compute& compute);

/// What `before`, size_of(model), becomes, without making the model.
ModelSize size_after(const Model& model, const ModelSize& before, const Choice& choice);

/// What a model of these dimensions has in the method's own unit; 0 if it cuts none of them.
std::int64_t whole_size(const Dimensions& dimensions, Method method);

/// "6 → 5 (without 2)", of a model that has `whole` in the method's own unit.
std::string choice_words(const Choice& choice, std::int64_t whole);

// ---- What methods share -------------------------------------------------------------------------

/// Calls make() for each layer in turn, which puts its tensors into the changed model; or takes
/// those that an earlier run has finished.
void for_layers(ChangedModel& changed, const TextStatistics& text, const Compute& compute,
                const std::function<void(std::int64_t layer)>& make);

/// Calls of_matrix() for each of these matrices of a layer, with the second moments of its input
/// and the text's ridge: for as many at once as have room for their output directions.
using OfMatrix = std::function<void(std::size_t number, Matrix<double> weight,
                                    const MeanMoments& moments, const Compute& compute)>;
void for_matrices(const Model& model, std::int64_t layer, std::span<const Role> roles,
                  const TextStatistics& text, const Compute& compute, const OfMatrix& of_matrix);

/// The indices of the `count` largest scores, of equal ones the first, ascending.
std::vector<std::int64_t> largest(const std::vector<double>& scores, std::int64_t count);

/// Throws Error(format) unless they are `count` numbers below `limit`, ascending.
void check_numbers(const std::vector<std::int64_t>& kept, std::int64_t count, std::int64_t limit);

/// The same of each list of a choice, of which there are `lists`.
void check_lists(const Choice& choice, std::int64_t lists, std::int64_t count, std::int64_t limit);

/// Puts these rows of a matrix, and of its bias, into `out`.
void keep_weight_rows(LayerMatrices& out, const Model& model, std::int64_t layer, Role role,
                      const std::vector<std::int64_t>& kept);

Matrix<double> zero_matrix(std::int64_t rows, std::int64_t cols);

/// Every size from `whole` to 1 that is a multiple of `step`, and `whole`.
std::vector<std::int64_t> descending_sizes(std::int64_t whole, std::int64_t step = 1);

/// The layer that the tensor belongs to by its name; -1 if it belongs to none, or to all.
std::int64_t layer_of_tensor(const Model& model, const std::string& name);

/// A whole number that is all of the text.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace attnscope
