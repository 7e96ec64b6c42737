// The forms of smaller models: which an architecture can take, at which sizes, and the model that
// is left. Formulas and sources: docs/plan.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/common/calibration/text_statistics.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/features/common/resume_files.h"
#include "attnscope/features/plan/methods/method.h"

namespace attnscope {

/// Why the model's architecture cannot take the form; empty where it can.
std::string why_not(const Model& model, Form form);

/// The forms that it can take, in the order of kFormNames.
std::vector<Form> possible_forms(const Model& model);

/// Whether stock transformers loads what is left, smaller than before.
constexpr bool is_loadable(Form form) { return form != Form::ranks; }

/// The sizes that the form can have, descending, the model's own first. Of `latent`, elements of
/// the cache of a token and layer; of `ranks`, none: ranks are allocated (rank_allocation.h).
std::vector<std::int64_t> possible_sizes(const Model& model, Form form);

/// What to leave out to come to that size. Of `width`, `head_width` and `heads`; the other forms
/// need no choice but their size, or make it by measuring (`layers`, `latent`).
Choice choose(const Model& model, Form form, std::int64_t size, const TextStatistics& text,
              const Compute& compute);

/// MLPs that `width` changes: the model's, and after them those of stack_of_same_width().
std::int64_t mlp_count(const Model& model);

/// Of each layer's MLP the neurons to leave out, the first to go first (neuron_removal.h); and the
/// choice of a width that leaves out as many of them as it must. What `choose` does, for several
/// widths.
std::vector<std::vector<std::int64_t>> neurons_to_remove(const Model& model, std::int64_t count,
                                                         const TextStatistics& text,
                                                         const Compute& compute);
Choice choice_of_width(const Model& model, std::int64_t size,
                       std::span<const std::vector<std::int64_t>> removed);

/// The model that is left. Throws Error(format) for a choice that is not one of the model.
ChangedModel make_smaller(const Model& model, const Choice& choice, const TextStatistics& text,
                          const Compute& compute);

// ---- Each form ----------------------------------------------------------------------------------

ChangedModel without_layers(const Model& model, const std::vector<std::int64_t>& kept,
                            std::optional<DType> dtype = std::nullopt);
ChangedModel with_width(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute);
ChangedModel with_hidden(const Model& model, std::int64_t width, const TextStatistics& text,
                         const Compute& compute);
ChangedModel with_head_width(const Model& model, const Choice& choice, const TextStatistics& text,
                             const Compute& compute);
ChangedModel with_kv_heads(const Model& model, std::int64_t kv_heads, const TextStatistics& text,
                           const Compute& compute);
ChangedModel with_heads(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute);
ChangedModel with_latent(const Model& model, const Choice& choice, const TextStatistics& text,
                         const Compute& compute);
/// Needs no text: the choice names all that stays.
ChangedModel with_experts(const Model& model, const Choice& choice);
/// Which rank of the choice is none of the model's, or one at which factors are no smaller than the
/// matrix; empty where all are sound.
std::string why_not_ranks(const Model& model, const Choice& choice);
ChangedModel with_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute);

// ---- What they share
// -----------------------------------------------------------------------------

/// Calls make() for each layer in turn, which puts its tensors into the changed model; or takes
/// those that were kept.
void for_layers(ChangedModel& changed, const TextStatistics& text, const Compute& compute,
                const std::function<void(std::int64_t layer)>& make);

/// The numbers of the `count` largest scores, of equal ones the first, ascending.
std::vector<std::int64_t> largest(const std::vector<double>& scores, std::int64_t count);

/// Throws Error(format) unless they are `count` numbers below `limit`, ascending.
void check_numbers(const std::vector<std::int64_t>& kept, std::int64_t count, std::int64_t limit);

// Of `experts`: why it cannot be, how many may stay, which are used most, and what one takes in all
// layers together.
std::string why_no_experts(const Model& model);
std::vector<std::int64_t> possible_expert_counts(const Model& model);
std::vector<std::vector<std::int64_t>> most_used_experts(const Model& model, std::int64_t count,
                                                         const TextStatistics& text);
std::int64_t parameters_of_expert(const Model& model);

/// The layer that the tensor belongs to by its name; -1 where it belongs to none, or to all.
std::int64_t layer_of_tensor(const Model& model, const std::string& name);

/// Radians a token of each rotary pair of a head, and their gain.
RopeFrequencies frequencies_of(const Model& model);

/// Says in the config that pair j of heads of `head_dim` turns by `radians[j]` a token.
void set_frequencies(ChangedModel& model, const std::vector<double>& radians, double gain,
                     std::int64_t head_dim);

/// The matrix with its bias as one more column, zeros where it has none.
Matrix<double> with_bias_column(const Model& model, std::int64_t layer, Role role);

/// W_V of `size` values a head in place of as many as `merged` neighbouring key/value heads have
/// together, and W_O that reads them: the principal directions of R V x, where RᵀR is the sum of
/// W_O,hᵀ W_O,h over the query heads that read a value head. Sets both, with the bias of V.
void narrow_values(LayerMatrices& out, const Model& model, std::int64_t layer, std::int64_t merged,
                   std::int64_t size, const TextStatistics& text, const Compute& compute);

/// Calls for each of these matrices of a layer of_matrix(number, weight, what it reads with the
/// text's ridge): for as many at once as have room for their output directions.
using OfMatrix = std::function<void(std::size_t number, Matrix<double> weight,
                                    const MeanMoments& moments, const Compute& compute)>;
void for_matrices(const Model& model, std::int64_t layer, std::span<const Role> roles,
                  const TextStatistics& text, const Compute& compute, const OfMatrix& of_matrix);

}  // namespace attnscope
