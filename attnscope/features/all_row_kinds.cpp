// All kinds of rows, grouped by command; the default kind of a command comes first.
#include <vector>

#include "attnscope/rows/field.h"

// One function per kind, in `fields.cpp` of its feature or a file of its own name.
#define ATTNSCOPE_ROW_KINDS(KIND) \
  KIND(info_rows)                 \
  KIND(system_rows)               \
  KIND(spectrum_rows)             \
  KIND(tensor_rows)               \
  KIND(mla_rows)                  \
  KIND(weights_rows)              \
  KIND(similarity_rows)           \
  KIND(head_overlap_rows)         \
  KIND(head_matrix_rows)          \
  KIND(matrix_rows)               \
  KIND(circuits_rows)             \
  KIND(composition_rows)          \
  KIND(attention_rows)            \
  KIND(induction_rows)            \
  KIND(attention_map_rows)        \
  KIND(predict_rows)              \
  KIND(label_rows)                \
  KIND(text_label_rows)           \
  KIND(perplexity_rows)           \
  KIND(attribution_rows)          \
  KIND(stored_set_rows)           \
  KIND(experts_rows)              \
  KIND(routing_rows)              \
  KIND(activation_rows)           \
  KIND(diff_rows)                 \
  KIND(plan_comparison_rows)      \
  KIND(plan_part_rows)            \
  KIND(shrink_rows)               \
  KIND(lens_rows)                 \
  KIND(lens_grid_rows)            \
  KIND(lens_prompts_rows)         \
  KIND(lens_label_rows)           \
  KIND(ablate_rows)               \
  KIND(ablate_cumulative_rows)    \
  KIND(ablate_pairs_rows)         \
  KIND(ablate_heads_rows)         \
  KIND(ablate_induction_rows)     \
  KIND(ablate_path_rows)          \
  KIND(ablate_patching_rows)      \
  KIND(ablate_prompts_rows)       \
  KIND(ablate_label_rows)         \
  KIND(directions_rows)           \
  KIND(direction_pairs_rows)

namespace attnscope {

#define ATTNSCOPE_DECLARE(name) RowKind name();
ATTNSCOPE_ROW_KINDS(ATTNSCOPE_DECLARE)
#undef ATTNSCOPE_DECLARE

const std::vector<RowKind>& row_kinds() {
#define ATTNSCOPE_CALL(name) name(),
  static const std::vector<RowKind> kinds = {ATTNSCOPE_ROW_KINDS(ATTNSCOPE_CALL)};
#undef ATTNSCOPE_CALL
  return kinds;
}
#undef ATTNSCOPE_ROW_KINDS

}  // namespace attnscope
