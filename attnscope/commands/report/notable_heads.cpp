#include "attnscope/commands/report/notable_heads.h"

namespace attnscope {

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

}  // namespace attnscope
