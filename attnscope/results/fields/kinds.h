// One function for each kind of row, in the file of its command or of its own name; and fields that
// several kinds share.
#pragma once

#include "attnscope/results/field.h"

namespace attnscope {

RowKind ablate_induction_rows();
RowKind ablate_prompts_rows();
RowKind ablate_rows();
RowKind attention_map_rows();
RowKind activation_rows();
RowKind attention_rows();
RowKind attribution_rows();
RowKind circuits_rows();
RowKind composition_rows();
RowKind diff_rows();
RowKind experts_rows();
RowKind head_matrix_rows();
RowKind head_overlap_rows();
RowKind induction_rows();
RowKind info_rows();
RowKind label_rows();
RowKind lens_grid_rows();
RowKind lens_prompts_rows();
RowKind lens_rows();
RowKind matrix_rows();
RowKind mla_rows();
RowKind perplexity_rows();
RowKind plan_part_rows();
RowKind plan_rows_of_menu();
RowKind predict_rows();
RowKind read_pairs_rows();
RowKind read_rows();
RowKind routing_rows();
RowKind shrink_rows();
RowKind similarity_rows();
RowKind spectrum_rows();
RowKind stored_set_rows();
RowKind system_rows();
RowKind tensor_rows();
RowKind weights_rows();

/// What `spectrum --mla` adds to the facts of each model.
const std::vector<Field>& mla_facts();

// ---- Shared fields (common.cpp) -----------------------------------------------------------------

/// model, layer, matrix, head.
std::vector<Field> place_of_matrix();
/// model, layer, matrix: of rows that have none for single heads.
std::vector<Field> place_of_whole_matrix();
/// model, stack, layer, head: of a head, or of what `head` says that a row without one is of.
std::vector<Field> place_of_part(
    std::string_view head = "the query head, from 0; null: of the layer");
/// component: which of these an ablation replaces.
Field replaced_part_field(std::string_view where);
/// expert, experts: first among the fields of rows that experts may have.
std::vector<Field> expert_fields();
Field experts_parameter_field();
Field model_field();
/// Of models of several stacks.
Field stack_field();
Field layer_field();
Field possible_rank_field();
Field frobenius_norm_field();
/// Of rows of models with latents.
Field latent_rms_field();
/// Added by `histogram`.
Field histogram_field();
/// One row of a matrix.
std::vector<Field> matrix_row_fields();

/// Parameters: thresholds, the choice of matrices and layers, bins and their range.
Field energy_parameter();
Field matrix_parameter();
Field layers_parameter();
Field per_head_parameter();
std::vector<Field> histogram_parameters();
/// Where the tokens of a run come from (attention.cpp).
std::vector<Field> text_parameter_fields();
/// Which tokens of it count, of commands that take losses or means over positions.
std::vector<Field> example_parameter_fields();
Field source_tokens_fact();
Field tokens_hash_parameter();
/// Of runs on prompts with answers (ablate_prompts.cpp): the file's name, and what their rows tell
/// of the model's preference.
Field prompts_parameter_field();
std::vector<Field> preference_fields();
/// The same of commands that need no text.
std::vector<Field> latent_text_parameter_fields();

}  // namespace attnscope
