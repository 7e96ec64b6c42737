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
  /// Opens the models. Throws as open_models(), and Error if the arguments name a text file, layer
  /// or head that does not exist. The arguments must outlive it.
  ReportRun(const Arguments& arguments, const Session& session);

  /// Computes the data of the report. Starts with the prompts and the text, so that their errors
  /// appear before the long computations.
  ReportFile run();

 private:
  void check_places() const;
  void run_analysis(const std::string& id, const ReportModel& model);
  void run_asked(const ReportModel& model);
  void run_on_prompts();
  void run_on_texts();
  void run_on_text(const ReportModel& model);
  ReportPart part_of(const std::string& id, const ReportModel& model) const;

  const Arguments& arguments_;
  std::vector<Model> models_;
  Session session_;  // gives commands the opened models
  std::vector<ReportModel> reports_;
  std::map<std::string, ReportModel>
      on_given_text_;  // by name: models that were run on the given text
  ReportFile file_;
};

// The empty report.

/// A report with only the model info. `live`: also whether models take pairs of texts.
ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session, bool live = false);

}  // namespace attnscope
