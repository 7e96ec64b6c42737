// The attention maps of a report: which heads are shown at full size, and which at reduced size.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/features/attention/saved_maps.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/similarity/run.h"
#include "attnscope/page/report_file.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Space for the maps of all models in bytes, one byte per attention weight.
inline constexpr std::int64_t kMapBytes = 2'000'000;

/// Number of queries T and keys S of each map.
struct MapSize {
  std::int64_t queries = 0, keys = 0;
};
MapSize map_size(const Model& model, const SavedMapsRequest& request);

/// Whether each query attends only to keys up to its own position.
bool has_causal_maps(const Model& model);

/// Stores the maps of one model on one sequence: all at full size if they fit into `budget` bytes.
/// Otherwise some heads at full size, the others at reduced size.
class MapKeeper {
 public:
  /// `notable`: heads whose maps are kept at full size as far as they fit, in addition to the
  /// requested head.
  MapKeeper(const ReportModel& model, std::int64_t layers, const MapSize& size, std::int64_t budget,
            std::vector<HeadIndex> notable, ReportFile& file);

  /// Stores the maps (H, T, S) of a layer.
  void take(std::int64_t layer, std::span<const float> maps);

  /// The number of heads shown only at reduced size, and the first of them.
  std::int64_t small() const { return small_; }
  const HeadIndex& first_small() const { return first_small_; }

 private:
  bool stays_whole(const HeadIndex& head);

  const Model& model_;
  MapSize size_;
  std::optional<HeadIndex> named_;
  std::vector<HeadIndex> notable_;
  std::int64_t budget_;
  ReportFile& file_;
  std::int64_t each_ = 0, side_ = 0, small_ = 0;
  HeadIndex first_small_;
  bool causal_ = false, all_fit_ = false;
};

// The selection of notable heads.

/// Passes the rows of `attention` on and finds notable heads: those with the largest and smallest
/// values of some measures.
class NotableHeads : public RowSink {
 public:
  explicit NotableHeads(RowSink& next) : next_(next) {}

  void begin(const ReportHead& head) override { next_.begin(head); }
  void add_row(Record row) override;
  void add_skipped(Skipped skipped) override { next_.add_skipped(std::move(skipped)); }
  void add_note(std::string note) override { next_.add_note(std::move(note)); }
  void end() override { next_.end(); }

  std::vector<HeadIndex> heads() const;

 private:
  struct Best {
    double value;
    HeadIndex place;
  };
  void keep(const std::string& what, double value, const HeadIndex& place);

  RowSink& next_;
  std::map<std::string, Best> best_;
};

}  // namespace attnscope
