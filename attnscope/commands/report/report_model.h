// The models of a report, each with what it can be run on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/commands/command.h"
#include "attnscope/core/error.h"

namespace attnscope {

struct ReportModel {
  const Model& model;
  Arguments arguments;           // of `report`, with this model alone
  bool is_alone = true;          // the report has no other
  std::optional<Error> not_run;  // why it cannot be run at all; none: it can
  /// Of one that reads tokens: the most of a text, by its positions and its context.
  std::int64_t longest = 0;
  std::int64_t vocabulary = 0;
};

/// `models`: as open_models() gave them for the same arguments; they must stay.
std::vector<ReportModel> report_models(const Arguments& report, const std::vector<Model>& models,
                                       const Session& session);

/// The head that `maps` names; a negative layer counts from the end. Throws Error(usage) for one
/// that the model does not have.
std::optional<HeadPlace> named_head(const ReportModel& model);

}  // namespace attnscope
