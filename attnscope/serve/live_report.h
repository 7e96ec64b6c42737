// The report of a running server. It grows as clients start analyses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/temporary_file.h"
#include "attnscope/page/report_file.h"
#include "attnscope/serve/http_messages.h"
#include "attnscope/serve/live_text.h"

namespace attnscope {

// All attention maps of one run, as float32.

/// The maps (T, S) of the heads of some layers of some models, in memory up to a limit, then in an
/// unnamed temporary file.
class RawMaps {
 public:
  /// The maps of one model.
  struct OfModel {
    std::size_t model = 0;             // index
    std::vector<std::int64_t> layers;  // ascending
    std::int64_t heads = 0;
    std::int64_t tokens = 0;  // T
    std::int64_t keys = 0;    // S
  };

  /// Adds the next layer of that model, (heads, T, S). Call in the order of models and layers.
  void add(std::size_t model, std::int64_t layer, std::int64_t tokens, std::int64_t keys,
           std::span<const float> maps);

  /// One head's map: rows are queries, little-endian.
  struct Map {
    std::int64_t tokens = 0, keys = 0;
    std::uint64_t at = 0, bytes = 0;
  };
  std::optional<Map> find(std::size_t model, std::int64_t layer, std::int64_t head) const;

  /// Reads bytes of a map. Safe to call from any thread after the last add(). Throws Error(io).
  std::string read(const Map& map, std::uint64_t offset, std::size_t length);

  const std::vector<OfModel>& models() const { return models_; }

 private:
  std::mutex mutex_;
  Spool spool_{std::size_t{64} << 20};
  std::vector<OfModel> models_;
  std::vector<std::uint64_t> begins_;  // offset in spool_ per entry of models_
};

/// An immutable snapshot of the report for clients.
struct Snapshot {
  std::int64_t revision = 0;
  std::string results;  // JSON, "attnscope-report/1" with its `revision`
  std::string values;
  std::string maps;
  std::set<std::string> parts;             // ids of its parts
  std::shared_ptr<RawMaps> raw_maps = {};  // maps of the last input; null: none yet
};

/// One thread modifies the report. snapshot() may be called on any thread.
class LiveReport {
 public:
  /// Opens the models of `serve`. Throws as open_models() does.
  LiveReport(const Arguments& serve, const Session& session);

  const std::vector<Model>& models() const { return models_; }
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The ids of live_analysis_ids() (live_analyses.h) that at least one of the models supports.
  std::vector<std::string> analysis_ids() const;
  /// The commands that print the rows of the analysis, one line per model that supports it.
  std::string command_line(const std::string& id) const;

  /// Adds the analyses whose rows are completely in the store. Throws Stopped.
  void show_stored(const Session& session);

  /// Runs an analysis of live_analysis_ids(); returns the new revision. A failure for one model
  /// becomes an entry of the skipped parts. If it fails for all, the report has these entries, and
  /// this throws the first error. Throws Error(usage) for an analysis of an input if none was run.
  /// This and the next three functions throw Stopped and then leave the report unchanged.
  std::int64_t run_analysis(const std::string& id, const Session& session);
  /// Runs all missing analyses that need no text, fastest first, and publishes each when it ends. A
  /// failure does not stop the others.
  std::int64_t run_missing(const Session& session);
  /// Runs an input, which replaces the previous one. Throws Error(usage) if its maps would be too
  /// large, and Error if it fails for all models; then the report is unchanged.
  std::int64_t run_text(const TextRequest& request, const Session& session);
  /// Compares compressed models, and measures the cost of compressing each layer and matrix,
  /// calibrated on a text. The results replace previous ones. Each is published when it ends, and
  /// stays if the job is cancelled. Throws Error if nothing could be planned; then the report is
  /// unchanged.
  std::int64_t run_plan(const CalibrationRequest& request, const Session& session);

 private:
  struct State {
    ReportFile file;
    std::set<std::string> parts;
    std::shared_ptr<RawMaps> raw_maps;
    std::optional<TextRequest> ran;  // last input
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
