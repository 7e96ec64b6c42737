// The report that a running server shows: it grows by what clients ask for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnscope/commands/report/report_model.h"
#include "attnscope/page/report_file.h"
#include "attnscope/serve/raw_maps.h"

namespace attnscope {

/// The report at one moment, as clients get it; it never changes.
struct Snapshot {
  std::int64_t revision = 0;
  std::string results;  // JSON, "attnscope-report/1", and its `revision`
  std::string values;
  std::string maps;
  std::set<std::string> parts;             // that are there
  std::shared_ptr<RawMaps> raw_maps = {};  // of the last text; null: there was none
};

/// What a client asks to be run on a text.
struct TextRequest {
  std::optional<std::size_t> model;  // index; none: all
  Arguments text;                    // of `attention`: text or tokens, layers
  bool without_first = false;        // ranks and columns without key 0 too
};

/// Ids of the analyses that a client can start, the quickest first.
std::vector<std::string> live_analysis_ids();
/// In place of such an id: all of them that the report lacks.
inline constexpr const char* kMissing = "missing";

/// One thread changes it; snapshot() is for all.
class LiveReport {
 public:
  /// Opens the models that `serve` names. Throws as open_models().
  LiveReport(const Arguments& serve, const Session& session);

  const std::vector<Model>& models() const { return models_; }
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The commands that print what the analysis finds, a line for each model that can have it.
  std::string command_line(const std::string& id) const;

  /// Shows the analyses whose rows the store has in full. Throws Stopped.
  void show_stored(const Session& session);

  /// Runs an analysis of live_analysis_ids(); returns the revision that has it. What fails for a
  /// model is named among what the report leaves out. These throw Error where they fail for all
  /// models, and Stopped, and then the report keeps what it had.
  std::int64_t run_analysis(const std::string& id, const Session& session);
  /// Runs what the report lacks, the quickest first; each is shown as it ends. What fails does not
  /// stop the others.
  std::int64_t run_missing(const Session& session);
  /// Takes the place of the text before. Throws Error(usage) where its maps would be too large.
  std::int64_t run_text(const TextRequest& request, const Session& session);

 private:
  struct State {
    ReportFile file;
    std::set<std::string> parts;
    std::shared_ptr<RawMaps> raw_maps;
  };

  /// Gives the first error where no model can have it.
  std::optional<Error> fill(State& state, const std::string& id, const Session& session) const;
  std::vector<ReportModel> chosen_models(const TextRequest& request) const;
  void check_size(std::span<const ReportModel> chosen) const;
  void run_text_of(const ReportModel& model, const TextRequest& request, std::size_t models,
                   const Session& session, State& state) const;
  std::int64_t publish(State state, double seconds);

  Arguments report_;  // as of `report`, with the models of `serve`
  Session session_;   // spells commands
  std::vector<Model> models_;
  std::vector<ReportModel> reports_;
  State state_;
  double seconds_ = 0;
  mutable std::mutex mutex_;  // of what follows
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace attnscope
