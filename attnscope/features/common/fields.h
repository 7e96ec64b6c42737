// Fields shared by rows of several features.
#pragma once

#include <string_view>
#include <vector>

#include "attnscope/rows/field.h"

namespace attnscope {

/// model, stack, layer, matrix, head.
std::vector<Field> place_of_matrix();
/// model, stack, layer, matrix: for rows that are never per head.
std::vector<Field> place_of_whole_matrix();
/// model, stack, layer, head. `head`: the meaning of the field head.
std::vector<Field> place_of_part(
    std::string_view head = "query head index, from 0. Null for rows of a whole layer.");
/// component: the component that is ablated.
Field replaced_part_field(std::string_view where);
/// expert, experts: the first fields of rows that may describe experts.
std::vector<Field> expert_fields();
Field experts_parameter_field();
Field model_field();
/// For models with several stacks.
Field stack_field();
Field layer_field();
Field possible_rank_field();
Field frobenius_norm_field();
/// For rows of MLA models.
Field latent_rms_field();
/// Added by `histogram`.
Field histogram_field();
/// For one row of a matrix.
std::vector<Field> matrix_row_fields();

/// Parameters: energy thresholds, requested matrices and layers, bins and their range.
Field energy_parameter();
Field matrix_parameter();
Field layers_parameter();
Field per_head_parameter();
std::vector<Field> histogram_parameters();
/// The source of the tokens of a run (defined in attention/fields.cpp).
std::vector<Field> text_parameter_fields();
/// Chats: the role of a position, and the parameters that `chat` adds.
Field message_role_field();
void add_chat_parameter_fields(std::vector<Field>& fields);
/// Which tokens count, for commands that average over positions.
std::vector<Field> example_parameter_fields();
Field source_tokens_fact();
/// The label that `label` names.
Field label_parameter_field();
Field tokens_hash_parameter();
Field edits_hash_parameter();
/// For runs on prompts with answers: the file name, and the fields about the model's preference.
Field prompts_parameter_field();
std::vector<Field> preference_fields();
/// text_parameter_fields() for commands whose text is optional (MLA models).
std::vector<Field> mla_text_parameter_fields();

}  // namespace attnscope
