// The maps of a report: of which heads it shows all weights, and of which a small picture.
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

/// What the maps of all models may take, one byte a weight.
inline constexpr std::int64_t kMapBytes = 2'000'000;

/// Queries and keys of each of those maps: T and S.
struct MapSize {
  std::int64_t queries = 0, keys = 0;
};
MapSize map_size(const Model& model, const SavedMapsRequest& request);

/// Whether each query of the model's maps sees the keys up to its own alone.
bool has_causal_maps(const Model& model);

/// Shows the maps of one model on one sequence: all of them where they fit into `budget` bytes,
/// else small pictures of all and those of some heads.
class MapKeeper {
 public:
  /// `notable`: heads whose maps are kept as far as they fit, beside the one that was asked for.
  MapKeeper(const ReportModel& model, std::int64_t layers, const MapSize& size, std::int64_t budget,
            std::vector<HeadIndex> notable, ReportFile& file);

  /// A layer's maps, (H, T, S).
  void take(std::int64_t layer, std::span<const float> maps);

  /// Heads of which there is a small picture alone: how many, and the first.
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

// Which heads of a model a reader will want to see.

/// Finds the heads that a reader will want to see among the rows of `attention` that it gives on:
/// those with the largest and smallest of some measures.
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
