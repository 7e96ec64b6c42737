#include "attnscope/features/all_tables.h"

#include <array>

namespace attnscope {
namespace {

template <WriteTable write>
std::unique_ptr<RowSink> make_collected(const WriteOptions& options, std::ostream& out) {
  return collected_table(write, options, out);
}

/// The first entry that matches a report is its table.
constexpr std::array kTables = {
    TableOf{"ablate", "cumulative", make_collected<write_ablate_cumulative_table>},
    TableOf{"ablate", "pairs", make_collected<write_ablate_sets_table>},
    TableOf{"ablate", "heads", make_collected<write_ablate_sets_table>},
    TableOf{"ablate", "induction", make_collected<write_ablate_induction_table>},
    TableOf{"ablate", "label", make_collected<write_plain_table>},
    TableOf{"ablate", "sender", make_collected<write_path_table>},
    TableOf{"ablate", "patch_positions", make_collected<write_ablate_patching_table>},
    TableOf{"ablate", "prompts", make_collected<write_ablate_prompts_table>},
    TableOf{"ablate", "", make_collected<write_ablate_table>},
    TableOf{"attention", "heatmap", make_attention_map_table},
    TableOf{"attention", "induction", make_collected<write_induction_table>},
    TableOf{"attention", "", make_collected<write_attention_table>},
    TableOf{"circuits", "composition", make_composition_table},
    TableOf{"circuits", "", make_collected<write_circuits_table>},
    TableOf{"diff", "", make_collected<write_diff_table>},
    TableOf{"experts", "source", make_collected<write_routing_table>},
    TableOf{"experts", "", make_collected<write_experts_table>},
    TableOf{"export", "list", make_collected<write_contents_table>},
    TableOf{"info", "", make_collected<write_info_table>},
    TableOf{"lens", "label", make_collected<write_plain_table>},
    TableOf{"lens", "prompts", make_collected<write_lens_prompts_table>},
    TableOf{"lens", "", make_collected<write_lens_table>},
    TableOf{"matrix", "", make_matrix_table},
    TableOf{"predict", "input", make_collected<write_plain_table>},
    TableOf{"plan", "", make_collected<write_plan_table>},
    TableOf{"predict", "labels", make_collected<write_label_table>},
    TableOf{"predict", "attribution", make_collected<write_attribution_table>},
    TableOf{"predict", "", make_collected<write_predict_table>},
    TableOf{"directions", "pairs", make_collected<write_plain_table>},
    TableOf{"directions", "", make_collected<write_directions_table>},
    TableOf{"shrink", "", make_collected<write_shrink_table>},
    TableOf{"similarity", "head_matrix", make_matrix_table},
    TableOf{"similarity", "", make_collected<write_similarity_table>},
    TableOf{"spectrum", "activations", make_collected<write_activation_table>},
    TableOf{"spectrum", "mla", make_collected<write_mla_table>},
    TableOf{"spectrum", "", make_collected<write_spectrum_table>},
    TableOf{"weights", "", make_collected<write_weights_table>},
};

}  // namespace

std::span<const TableOf> tables() { return kTables; }

}  // namespace attnscope
