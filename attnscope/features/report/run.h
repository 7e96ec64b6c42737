// One run of `report`.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/framework/command.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/sections.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

class ReportRun {
 public:
  /// Opens the models. Throws as open_models(), and Error where the arguments name a text's file, a
  /// layer or a head that there is not. The arguments must outlive it.
  ReportRun(const Arguments& arguments, const Session& session);

  /// The report's data. The text comes first: what is wrong with it is known before the long work.
  ReportFile run();

 private:
  void check_places() const;
  void run_analysis(const std::string& id, const ReportModel& model);
  void run_asked(const ReportModel& model);
  void run_on_texts();
  void run_on_text(const ReportModel& model);
  ReportPart part_of(const std::string& id, const ReportModel& model) const;

  const Arguments& arguments_;
  std::vector<Model> models_;
  Session session_;  // in which commands find them open
  std::vector<ReportModel> reports_;
  std::map<std::string, ReportModel> on_given_text_;  // by name: those that were run on one
  ReportFile file_;
};

// A report before any of its work.

/// A file with the facts of the models, and nothing else yet.
ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session);

}  // namespace attnscope
