#include "attnscope/commands/report/report_maps.h"

#include <algorithm>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

bool is_one_of(const HeadPlace& head, std::span<const HeadPlace> heads) {
  return std::any_of(heads.begin(), heads.end(), [&](const HeadPlace& other) {
    return other.layer == head.layer && other.head == head.head;
  });
}

}  // namespace

std::optional<HeadPlace> named_head(const ReportModel& model) {
  const auto* given = model.report.find<HeadPlace>("maps");
  if (given == nullptr) return std::nullopt;
  const Dimensions& dimensions = model.model.dimensions();
  HeadPlace head = *given;
  if (head.layer < 0) head.layer += dimensions.layers;
  if (head.layer >= 0 && head.layer < dimensions.layers && head.head < dimensions.heads.heads) {
    return head;
  }
  throw Error(ErrorKind::usage,
              {.parameter = "maps",
               .problem = verbatim(model.model.name()) + " has layers 0 to " +
                          std::to_string(dimensions.layers - 1) + " and heads 0 to " +
                          std::to_string(dimensions.heads.heads - 1)});
}

void NotableHeads::add_row(Record row) {
  const Value* head = row.find("head");
  if (head != nullptr && !head->is_null()) {
    const HeadPlace place{expect<std::int64_t>(row, "layer"), expect<std::int64_t>(row, "head")};
    for (const char* name : {"previous_token", "sink_mass", "diagonal", "entropy", "energy_rank"}) {
      const Value* value = row.find(name);
      const auto* number = value == nullptr ? nullptr : value->get<double>();
      if (number == nullptr) continue;
      keep(name, *number, place);
      keep(std::string("least ") + name, -*number, place);
    }
  }
  next_.add_row(std::move(row));
}

void NotableHeads::keep(const std::string& what, double value, const HeadPlace& place) {
  const auto [found, fresh] = best_.emplace(what, Best{value, place});
  if (!fresh && value > found->second.value) found->second = {value, place};
}

std::vector<HeadPlace> NotableHeads::heads() const {
  std::vector<HeadPlace> heads;
  for (const auto& [what, best] : best_) heads.push_back(best.place);
  return heads;
}

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
