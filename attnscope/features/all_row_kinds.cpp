#include "attnscope/features/all_row_kinds.h"

namespace attnscope {

const std::vector<RowKind>& row_kinds() {
  static const std::vector<RowKind> kinds = {
      info_rows(),
      system_rows(),
      spectrum_rows(),
      tensor_rows(),
      mla_rows(),
      weights_rows(),
      similarity_rows(),
      head_overlap_rows(),
      head_matrix_rows(),
      matrix_rows(),
      circuits_rows(),
      composition_rows(),
      attention_rows(),
      induction_rows(),
      attention_map_rows(),
      predict_rows(),
      label_rows(),
      perplexity_rows(),
      attribution_rows(),
      stored_set_rows(),
      experts_rows(),
      routing_rows(),
      activation_rows(),
      diff_rows(),
      plan_rows_of_menu(),
      plan_part_rows(),
      shrink_rows(),
      lens_rows(),
      lens_grid_rows(),
      lens_prompts_rows(),
      ablate_rows(),
      ablate_induction_rows(),
      ablate_prompts_rows(),
      read_rows(),
      read_pairs_rows(),
  };
  return kinds;
}

}  // namespace attnscope
