#include "attnscope/features/lens/position_sums.h"

#include <algorithm>

namespace attnscope {
namespace {

double median_of(std::vector<std::int64_t> ranks) {
  const std::size_t half = ranks.size() / 2;
  std::sort(ranks.begin(), ranks.end());
  const auto upper = static_cast<double>(ranks[half]);
  return ranks.size() % 2 == 1 ? upper : (upper + static_cast<double>(ranks[half - 1])) / 2;
}

}  // namespace

void LensSums::add(const LensSums& more) {
  places += more.places;
  loss += more.loss;
  entropy += more.entropy;
  divergence += more.divergence;
  agreeing += more.agreeing;
  ranks.insert(ranks.end(), more.ranks.begin(), more.ranks.end());
}

LensSums lens_sums(std::span<const LensReading> readings) {
  LensSums sums{.places = std::ssize(readings)};
  for (const LensReading& reading : readings) {
    sums.entropy += reading.entropy;
    sums.divergence += reading.divergence;
    if (reading.final_rank == 1) ++sums.agreeing;
    if (!reading.loss) continue;
    sums.loss += *reading.loss;
    sums.ranks.push_back(*reading.rank);
  }
  return sums;
}

Record sums_record(const LensState& state, const LensSums& sums) {
  return {{"layer", state.layer},      {"mid", state.middle},     {"places", sums.places},
          {"loss", sums.loss},         {"entropy", sums.entropy}, {"kl", sums.divergence},
          {"agreeing", sums.agreeing}, {"ranks", sums.ranks}};
}

LensState read_state(const Record& record) {
  return {.layer = expect<std::int64_t>(record, "layer"), .middle = expect<bool>(record, "mid")};
}

LensSums read_sums(const Record& record) {
  LensSums sums{.places = expect<std::int64_t>(record, "places"),
                .loss = expect<double>(record, "loss"),
                .entropy = expect<double>(record, "entropy"),
                .divergence = expect<double>(record, "kl"),
                .agreeing = expect<std::int64_t>(record, "agreeing"),
                .ranks = expect_vector<std::int64_t>(record, "ranks")};
  if (sums.places < std::ssize(sums.ranks) || sums.places < 0) refuse_field("ranks");
  return sums;
}

const char* state_name(const LensState& state) { return state.middle ? "mid" : "layer"; }

void add_lens_means(Record& row, const LensSums& sums) {
  const auto places = static_cast<double>(sums.places);
  const auto predicted = static_cast<double>(sums.ranks.size());
  const bool asked = !sums.ranks.empty();
  double reciprocal = 0;
  for (const std::int64_t rank : sums.ranks) reciprocal += 1 / static_cast<double>(rank);
  const auto firsts = std::count(sums.ranks.begin(), sums.ranks.end(), 1);
  const auto if_asked = [&](double value) { return asked ? Value(value) : Value(); };
  row.add("loss", if_asked(sums.loss / predicted))
      .add("entropy", sums.entropy / places)
      .add("kl", sums.divergence / places)
      .add("mean_reciprocal_rank", if_asked(reciprocal / predicted))
      .add("median_rank", asked ? Value(median_of(sums.ranks)) : Value())
      .add("top1", if_asked(static_cast<double>(firsts) / predicted))
      .add("agreement", static_cast<double>(sums.agreeing) / places);
}

}  // namespace attnscope
