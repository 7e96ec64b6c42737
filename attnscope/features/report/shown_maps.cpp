#include "attnscope/features/report/shown_maps.h"

#include <algorithm>

namespace attnscope {
namespace {

bool is_one_of(const HeadIndex& head, std::span<const HeadIndex> heads) {
  return std::any_of(heads.begin(), heads.end(), [&](const HeadIndex& other) {
    return other.layer == head.layer && other.head == head.head;
  });
}

}  // namespace

MapSize map_size(const Model& model, const SavedMapsRequest& request) {
  return {.queries = request.map_rows(model), .keys = request.map_columns(model)};
}

bool has_causal_maps(const Model& model) { return model.spec().causal && model.stack() != "cross"; }

MapKeeper::MapKeeper(const ReportModel& model, std::int64_t layers, const MapSize& size,
                     std::int64_t budget, std::vector<HeadIndex> notable, ReportFile& file)
    : model_(model.model),
      size_(size),
      named_(named_head(model)),
      notable_(std::move(notable)),
      budget_(budget),
      file_(file) {
  causal_ = has_causal_maps(model_);
  const std::int64_t heads = layers * model_.spec().dimensions_of(0).heads.heads;
  const auto [queries, keys] = size;
  each_ = causal_ ? queries * (queries + 1) / 2 : queries * keys;
  all_fit_ = heads <= budget / each_;
  if (named_) budget_ -= each_;  // reserved for the requested head
  constexpr std::int64_t kManyHeads = 256;
  side_ = heads > kManyHeads ? 32 : 64;
}

void MapKeeper::take(std::int64_t layer, std::span<const float> maps) {
  const std::int64_t heads = model_.spec().dimensions_of(layer).heads.heads;
  const auto [queries, keys] = size_;
  for (std::int64_t head = 0; head < heads; ++head) {
    const MatrixView<const float> map{maps.data() + head * queries * keys, queries, keys, keys};
    const MapLocation location{model_.name(), layer, head};
    if (all_fit_ || stays_whole({layer, head})) {
      file_.add_map(location, map, causal_);
    } else {
      file_.add_thumbnail(location, map, side_);
      if (small_++ == 0) first_small_ = {layer, head};
    }
  }
}

bool MapKeeper::stays_whole(const HeadIndex& head) {
  if (named_ && is_one_of(head, std::span(&*named_, 1))) return each_ <= kMapBytes;
  if (each_ > budget_ || !is_one_of(head, notable_)) return false;
  budget_ -= each_;
  return true;
}

void NotableHeads::add_row(Record row) {
  const Value* head = row.find("head");
  if (head != nullptr && !head->is_null()) {
    const HeadIndex place{expect<std::int64_t>(row, "layer"), expect<std::int64_t>(row, "head")};
    for (const char* name :
         {"previous_token", "sink_mass", "current_token", "entropy", "energy_rank"}) {
      const Value* value = row.find(name);
      const auto* number = value == nullptr ? nullptr : value->get<double>();
      if (number == nullptr) continue;
      keep(name, *number, place);
      keep(std::string("least ") + name, -*number, place);
    }
  }
  next_.add_row(std::move(row));
}

void NotableHeads::keep(const std::string& what, double value, const HeadIndex& place) {
  const auto [found, fresh] = best_.emplace(what, Best{value, place});
  if (!fresh && value > found->second.value) found->second = {value, place};
}

std::vector<HeadIndex> NotableHeads::heads() const {
  std::vector<HeadIndex> heads;
  for (const auto& [what, best] : best_) heads.push_back(best.place);
  return heads;
}

}  // namespace attnscope
