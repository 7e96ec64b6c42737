#include "attnscope/commands/report/map_keeper.h"

#include <algorithm>

namespace attnscope {
namespace {

bool is_one_of(const HeadPlace& head, std::span<const HeadPlace> heads) {
  return std::any_of(heads.begin(), heads.end(), [&](const HeadPlace& other) {
    return other.layer == head.layer && other.head == head.head;
  });
}

}  // namespace

MapKeeper::MapKeeper(const ReportModel& model, std::int64_t layers, std::int64_t tokens,
                     std::int64_t budget, std::vector<HeadPlace> notable, ReportFile& file)
    : model_(model.model),
      tokens_(tokens),
      named_(named_head(model)),
      notable_(std::move(notable)),
      budget_(budget),
      file_(file) {
  causal_ = model_.spec().causal;
  const std::int64_t heads = layers * model_.dimensions().heads.heads;
  each_ = causal_ ? tokens * (tokens + 1) / 2 : tokens * tokens;
  all_fit_ = heads <= budget / each_;
  if (named_) budget_ -= each_;  // it comes first, wherever it stands
  constexpr std::int64_t kManyHeads = 256;
  side_ = std::min<std::int64_t>(tokens, heads > kManyHeads ? 32 : 64);
}

void MapKeeper::take(std::int64_t layer, std::span<const float> maps) {
  const std::int64_t heads = model_.dimensions().heads.heads;
  for (std::int64_t head = 0; head < heads; ++head) {
    const MatrixView<const float> map{maps.data() + head * tokens_ * tokens_, tokens_, tokens_,
                                      tokens_};
    const MapPlace place{model_.name(), layer, head};
    if (all_fit_ || stays_whole({layer, head})) {
      file_.add_map(place, map, causal_);
    } else {
      file_.add_thumbnail(place, map, side_);
      if (small_++ == 0) first_small_ = {layer, head};
    }
  }
}

bool MapKeeper::stays_whole(const HeadPlace& head) {
  if (named_ && is_one_of(head, std::span(&*named_, 1))) return each_ <= kMapBytes;
  if (each_ > budget_ || !is_one_of(head, notable_)) return false;
  budget_ -= each_;
  return true;
}

}  // namespace attnscope
