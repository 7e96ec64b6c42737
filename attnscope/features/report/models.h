// The models of a report, with the inputs that they can be run on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

struct ReportModel {
  const Model& model;
  Arguments arguments;           // of `report`, with only this model
  bool is_alone = true;          // the report has no other model
  std::optional<Error> not_run;  // why the model cannot be run; empty if it can
  /// Text models: maximum number of tokens, limited by positions and context length.
  std::int64_t longest = 0;
  std::int64_t vocabulary = 0;
};

/// `models`: from open_models() with the same arguments; they must outlive the result.
std::vector<ReportModel> report_models(const Arguments& report, const std::vector<Model>& models,
                                       const Session& session);

/// Returns the state of the page that opens first, as after "#" in its address; empty: the first
/// view. `dimensions`: of the first model.
std::string opened_state(const Arguments& report, const Dimensions& dimensions);

/// The head that `maps` names; a negative layer counts from the end. Throws Error(usage) for one
/// that the model does not have.
std::optional<HeadIndex> named_head(const ReportModel& model);

// Command lines that make reports, as a report shows them.

/// The command line of a report with these arguments.
std::string report_line(const Arguments& report, const Session& session);

/// The command line of a report of one model on its text, with the map of one head at full size. If
/// the report has several models, the output file is another one.
std::string page_line(const ReportModel& model, const std::optional<HeadIndex>& whole,
                      const Session& session);

}  // namespace attnscope
