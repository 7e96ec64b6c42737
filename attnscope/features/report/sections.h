// The sections of a report. Each is the output of another command, with its arguments, for one
// model. A section that fails for one model does not affect the other models.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/report/models.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// One section of a report: a command for one model.
struct ReportPart {
  std::string id;     // the id on the page, such as "circuits"
  std::string model;  // name of the model
  std::string command;
  ArgumentTexts arguments;
  /// For sections that grow with the square of the number of heads: keep only the strongest rows.
  std::string order_by = {};
  std::size_t most = SIZE_MAX;
  bool of_experts = false;  // rows describe single experts
};

inline constexpr const char* kDirections = "directions";

/// Ids of the sections that need no text, in report order.
std::vector<std::string> analysis_ids();

/// Whether the section applies to the model. Expert sections apply only to MoE models.
bool is_of_model(const std::string& id, const Model& model);

/// Whether a store can contain the rows of the section.
bool can_be_stored(const std::string& id);

/// One of these sections. Throws Error if it is not possible for the model.
ReportPart analysis_part(const std::string& id, const ReportModel& model);

/// Ids of the sections with a calibration text: comparison of compression methods, cost of each
/// layer, and ranks.
inline constexpr const char* kPlan = "plan";
inline constexpr const char* kPlanLayers = "plan_layers";
inline constexpr const char* kPlanRanks = "plan_ranks";

/// Sections that are computed only on request: compression on a calibration text, the cost of each
/// layer and matrix, and the comparison with a base model.
std::vector<ReportPart> asked_parts(const ReportModel& model);

/// Ids of the sections with a text, which is in the model's arguments.
inline constexpr const char* kAttention = "attention";
inline constexpr const char* kExcludeFirstToken = "attention_excluding_first";
inline constexpr const char* kRouting = "routing";  // MoE models only
inline constexpr const char* kLens = "lens";
inline constexpr const char* kLensGrid = "lens_grid";
inline constexpr const char* kAblate = "ablate";
inline constexpr const char* kAblateCumulative = "ablate_cumulative";
inline constexpr const char* kAblatePairs = "ablate_pairs";
/// The section of `directions`, with the correlations on the text.
ReportPart read_part(const ReportModel& model);
ReportPart lens_part(const ReportModel& model);
/// The logit lens at each of these tokens. `source`: the source text of an encoder-decoder; the
/// tokens are then the target text.
ReportPart lens_grid_part(const ReportModel& model, std::span<const std::int64_t> tokens,
                          std::span<const std::int64_t> source);
/// `parts`: the components to ablate.
ReportPart ablate_part(const ReportModel& model, const std::string& parts);
/// Ablation of more and more heads, and of pairs of heads.
ReportPart cumulative_part(const ReportModel& model);
ReportPart pairs_part(const ReportModel& model);
ReportPart routing_part(const ReportModel& model);
ReportPart attention_part(const ReportModel& model);
ReportPart without_first_part(const ReportModel& model);

/// Ids of the sections with prompts that have answers.
inline constexpr const char* kAblatePrompts = "ablate_prompts";
inline constexpr const char* kAblatePatching = "ablate_patching";
inline constexpr const char* kAblatePath = "ablate_path";
/// The effect of each component on prompts; `parts`: the components.
ReportPart prompts_part(const ReportModel& model, const std::string& parts);
/// Patching at each of the positions; `parts`: the activations.
ReportPart patching_part(const ReportModel& model, const std::string& parts);
/// Paths from the heads of each layer to those of each later layer, and to the logits.
ReportPart paths_part(const ReportModel& model);

/// The arguments of the command. Throws Error(usage).
Arguments part_arguments(const ReportPart& part);

/// The command line that prints the rows of the section.
std::string part_line(const ReportPart& part, const Session& session);

/// The sink of the file for the rows of the section.
std::unique_ptr<RowSink> part_sink(const ReportPart& part, const Session& session,
                                   ReportFile& file);

/// Runs the command of a section. Throws what the command throws.
void fill_part(const ReportPart& part, const Session& session, ReportFile& file);

}  // namespace attnscope
