// What a report of models is made of: other commands, each with the arguments that it is run with,
// for each model on its own: what one cannot have, others can.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/report/models.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// One command of a report.
struct ReportPart {
  std::string id;     // what the page calls it; "circuits"
  std::string model;  // the name of the one that it is about
  std::string command;
  ArgumentTexts arguments;
  /// Of parts that grow with the square of the heads: the strongest rows are kept.
  std::string order_by = {};
  std::size_t most = SIZE_MAX;
  bool of_experts = false;  // its rows are of single experts
};

inline constexpr const char* kDirections = "directions";

/// Ids of the parts that need no text, in the order in which a report has them.
std::vector<std::string> analysis_ids();

/// Whether a report of such a model has that part at all: one without experts has none of theirs.
bool is_of_model(const std::string& id, const Model& model);

/// Whether a store can have its rows.
bool can_be_stored(const std::string& id);

/// One of them. Throws Error where the model cannot have it.
ReportPart analysis_part(const std::string& id, const ReportModel& model);

/// Ids of what is fitted to a text: the menu of smaller models, what each layer costs, and ranks.
inline constexpr const char* kPlan = "plan";
inline constexpr const char* kPlanLayers = "plan_layers";
inline constexpr const char* kPlanRanks = "plan_ranks";

/// What reports have where it is asked for: smaller models that are fitted to a text, what each
/// layer and matrix costs there, and what was changed since another model.
std::vector<ReportPart> asked_parts(const ReportModel& model);

/// Those of a text, which the model's arguments name.
inline constexpr const char* kAttention = "attention";
inline constexpr const char* kExcludeFirstToken = "attention_excluding_first";
inline constexpr const char* kRouting = "routing";  // of models with experts
inline constexpr const char* kLens = "lens";
inline constexpr const char* kLensGrid = "lens_grid";
inline constexpr const char* kAblate = "ablate";
/// Of directions, with how far the tokens that name them hold there.
ReportPart read_part(const ReportModel& model);
ReportPart lens_part(const ReportModel& model);
/// Of these tokens one by one. `source`: of a decoder, what its encoder reads; they are the target
/// then.
ReportPart lens_grid_part(const ReportModel& model, std::span<const std::int64_t> tokens,
                          std::span<const std::int64_t> source);
/// `parts`: what is replaced.
ReportPart ablate_part(const ReportModel& model, const std::string& parts);
ReportPart routing_part(const ReportModel& model);
ReportPart attention_part(const ReportModel& model);
ReportPart without_first_part(const ReportModel& model);

/// What the command is run with. Throws Error(usage).
Arguments part_arguments(const ReportPart& part);

/// The command that prints the part's rows.
std::string part_line(const ReportPart& part, const Session& session);

/// Where the file takes a part's rows.
std::unique_ptr<RowSink> part_sink(const ReportPart& part, const Session& session,
                                   ReportFile& file);

/// Runs a part; throws what its command does.
void fill_part(const ReportPart& part, const Session& session, ReportFile& file);

}  // namespace attnscope
