// One function for each table, in `table.cpp` of its feature or a file of its own name.
#pragma once

#include <memory>
#include <ostream>

#include "attnscope/rows/sink.h"
#include "attnscope/rows/table/table_writer.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

/// Tables of `ablate`: induction scores with earlier heads ablated.
void write_ablate_induction_table(const Report& report, const WriteOptions& options,
                                  std::ostream& out);
/// Effects of paths from heads to later heads (`ablate`).
void write_path_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Heat maps of activation patching at positions (`ablate`).
void write_ablate_patching_table(const Report& report, const WriteOptions& options,
                                 std::ostream& out);
/// Tables of `ablate`: ablation effects on prompts and on the loss.
void write_ablate_prompts_table(const Report& report, const WriteOptions& options,
                                std::ostream& out);
/// Tables of `ablate`: sets of heads.
void write_ablate_sets_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_ablate_cumulative_table(const Report& report, const WriteOptions& options,
                                   std::ostream& out);
void write_ablate_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_activation_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_attention_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_circuits_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Contents of a store: `export --list`.
void write_contents_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Tables of `diff`, `experts`, `attention --induction` and `info`.
void write_diff_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_experts_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_routing_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_induction_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_info_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Results of `spectrum --mla`.
void write_mla_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Predictions decoded from residual-stream states (`lens`).
void write_lens_prompts_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_lens_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_attribution_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Top tokens of singular vectors (`directions`).
void write_directions_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_plan_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// Labels of texts (`predict` with a classifier).
void write_label_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_predict_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_shrink_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_similarity_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_weights_table(const Report& report, const WriteOptions& options, std::ostream& out);

/// A drawing of one head's map: `attention --heatmap`.
std::unique_ptr<RowSink> make_attention_map_table(const WriteOptions& options, std::ostream& out);
/// The head pairs with the highest composition scores: `circuits --composition`.
std::unique_ptr<RowSink> make_composition_table(const WriteOptions& options, std::ostream& out);
/// The corners of matrices whose rows are the rows of the report: `matrix`, `similarity
/// --head-matrix`.
std::unique_ptr<RowSink> make_matrix_table(const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
