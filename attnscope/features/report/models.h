// The models of a report, each with what it can be run on.
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
std::optional<HeadIndex> named_head(const ReportModel& model);

// Command lines that make pages, as a report names them.

/// That of a report, of the arguments that it was given.
std::string report_line(const Arguments& report, const Session& session);

/// That of a page of the model on its text, with a head's map whole. Of one model among others it
/// takes no other page's place.
std::string page_line(const ReportModel& model, const std::optional<HeadIndex>& whole,
                      const Session& session);

}  // namespace attnscope
