// One function for each kind of row, in `fields.cpp` of its feature or a file of its own name.
#pragma once

#include "attnscope/rows/field.h"

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

}  // namespace attnscope
