// What a report of models is made of: other commands, each with the arguments that it is run with.
#pragma once

#include <string>
#include <vector>

#include "attnscope/commands/common.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// One command of a report.
struct ReportPart {
  std::string id;  // what the page calls it; "circuits"
  std::string command;
  Example arguments;
  /// Of parts that grow with the square of the heads: the strongest rows are kept.
  std::string order_by = {};
  std::size_t most = SIZE_MAX;
};

/// Those that look at weights, for the models that `models` names (parameters models, layout,
/// layers and store of the report are theirs, too).
std::vector<ReportPart> weight_parts(const Arguments& report, const std::vector<Model>& models);

/// Those that run models on the report's text, or on kUsualText.
std::vector<ReportPart> text_parts(const Arguments& report);

/// The command that prints the part's rows.
std::string command_line_of(const ReportPart& part, const Session& session);

/// The text of a report that was given none.
extern const char* const kUsualText;

/// Runs a part; throws what its command does.
void fill_part(const ReportPart& part, const Session& session, ReportFile& file);

/// The same. One that a model cannot have (a circuit with biases, a model that cannot be run) is
/// named among what the file lacks, with the reason.
void run_part(const ReportPart& part, const Session& session, ReportFile& file);

}  // namespace attnscope
