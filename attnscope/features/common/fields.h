// Fields that rows of several features have.
#pragma once

#include <string_view>
#include <vector>

#include "attnscope/rows/field.h"

namespace attnscope {

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
/// Of runs on prompts with answers: the file's name, and what their rows tell
/// of the model's preference.
Field prompts_parameter_field();
std::vector<Field> preference_fields();
/// The same of commands that need no text.
std::vector<Field> mla_text_parameter_fields();

}  // namespace attnscope
