// The report of a running server. It grows as clients start analyses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnscope/page/report_file.h"
#include "attnscope/serve/live_text.h"
#include "attnscope/serve/raw_maps.h"

namespace attnscope {

/// An immutable snapshot of the report for clients.
struct Snapshot {
  std::int64_t revision = 0;
  std::string results;  // JSON, "attnscope-report/1" with its `revision`
  std::string values;
  std::string maps;
  std::set<std::string> parts;             // ids of the parts that it has
  std::shared_ptr<RawMaps> raw_maps = {};  // maps of the last text; null: no text yet
};

/// One thread changes it. snapshot() may be called on any thread.
class LiveReport {
 public:
  /// Opens the models of `serve`. Throws as open_models() does.
  LiveReport(const Arguments& serve, const Session& session);

  const std::vector<Model>& models() const { return models_; }
  std::shared_ptr<const Snapshot> snapshot() const;
  /// Those of live_analysis_ids() (live_analyses.h) that one of the models can have.
  std::vector<std::string> analysis_ids() const;
  /// The commands that print the analysis' rows, a line for each model that supports it.
  std::string command_line(const std::string& id) const;

  /// Adds the analyses whose rows the store has completely. Throws Stopped.
  void show_stored(const Session& session);

  /// Runs an analysis of live_analysis_ids(); returns the new revision. A failure for one model
  /// becomes an entry of what the report leaves out; where it fails for all, the report has these
  /// entries, and this throws the first. Throws Error(usage) for one of a text where none was run.
  /// This and the next three functions throw Stopped; then the report is unchanged.
  std::int64_t run_analysis(const std::string& id, const Session& session);
  /// Runs all analyses that the report lacks and that need no text, the quickest first, and shows
  /// each as it ends. A failure does not stop the others.
  std::int64_t run_missing(const Session& session);
  /// Runs a text, which replaces the previous one. Throws Error(usage) if its maps would be too
  /// large, and Error if it fails for all models; then the report is unchanged.
  std::int64_t run_text(const TextRequest& request, const Session& session);
  /// Makes the menu of smaller models, and what each layer and matrix costs, of a text; they
  /// replace those of the previous one. Each is shown as it ends, and stays if the job is
  /// cancelled. Throws Error if nothing could be planned; then the report is unchanged.
  std::int64_t run_plan(const CalibrationRequest& request, const Session& session);

 private:
  struct State {
    ReportFile file;
    std::set<std::string> parts;
    std::shared_ptr<RawMaps> raw_maps;
    std::optional<TextRequest> ran;  // last
  };

  /// Returns the first error if the analysis failed for all models.
  std::optional<Error> fill(State& state, const std::string& id, const Session& session) const;
  std::optional<Error> fill_on_text(State& state, const std::string& id,
                                    const Session& session) const;
  void run_text_of(ModelText text, const TextRequest& request, std::size_t models,
                   const Session& session, State& state) const;
  std::int64_t publish(State state, double seconds);

  Arguments report_;  // arguments of `report`, with the models of `serve`
  Session session_;   // for spelling commands
  std::vector<Model> models_;
  std::vector<ReportModel> reports_;
  State state_;
  double seconds_ = 0;
  mutable std::mutex mutex_;  // guards the members below
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace attnscope
