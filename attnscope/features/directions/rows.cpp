#include "attnscope/features/directions/rows.h"

#include <algorithm>
#include <limits>

#include "attnscope/features/common/prompt.h"

namespace attnscope {
namespace {

/// Distance to the nearest other singular value, divided by this one. Infinite for a single value.
Value gap_of(const std::vector<double>& values, std::size_t at) {
  double gap = std::numeric_limits<double>::infinity();
  if (at > 0) gap = values[at - 1] - values[at];
  if (at + 1 < values.size()) gap = std::min(gap, values[at] - values[at + 1]);
  return gap / values[at];
}

Value::List token_records(const SignedDirection& of_sign, const Tokenizer* tokenizer) {
  Value::List list;
  for (const NamedToken& token : of_sign.tokens) {
    list.emplace_back(Record{{"token_id", token.id},
                             {"text", token_value(tokenizer, token.id)},
                             {"score", token.score},
                             {"cosine", token.cosine}});
  }
  return list;
}

}  // namespace

void add_direction_rows(const std::string& model, const DirectionsRequest& request,
                        const MatrixDirections& place, const Tokenizer* tokenizer, RowSink& sink) {
  double energy = 0;
  for (const double value : place.values) energy += value * value;
  const std::size_t count = place.sides.front().names.directions.size();
  for (std::size_t at = 0; at < count; ++at) {
    const double value = place.values[at];
    if (value == 0) break;
    // Flips both singular vectors together, so that the second one (output, or key) has its longer
    // tail on the + side.
    const bool transposed = place.sides.back().names.directions[at].skewness < 0;
    for (const Side& side : place.sides) {
      for (std::size_t of_sign = 0; of_sign < 2; ++of_sign) {
        const SignedDirection& found =
            side.names.directions[at].signs[transposed ? 1 - of_sign : of_sign];
        Record row = {{"model", model},
                      {"layer", place.layer},
                      {"head", place.head},
                      {"matrix", role_name(request.matrix)},
                      {"direction", static_cast<std::int64_t>(at) + 1},
                      {"value", value},
                      {"energy", value * value / energy},
                      {"gap", gap_of(place.values, at)},
                      {"singular_vector", side.name},
                      {"sign", of_sign == 0 ? "+" : "-"},
                      {"coherence", found.coherence},
                      {"random_coherence", side.names.random_coherence},
                      {"named", found.coherence > side.names.random_coherence},
                      {"rarity", found.rarity}};
        if (request.texts) {
          row.add("text_correlation", side.hold.empty() ? std::optional<double>() : side.hold[at]);
        }
        row.add("tokens", token_records(found, tokenizer));
        if (request.copying) {
          const CopyingScores copying = place.copying.value_or(CopyingScores());
          row.add("token_copying", copying.token).add("full_copying", copying.full);
        }
        sink.add_row(std::move(row));
      }
    }
  }
}

std::pair<std::int64_t, std::int64_t> count_lists(const ModelRead& found) {
  std::int64_t lists = 0, named = 0;
  for (const MatrixDirections& place : found.places) {
    for (const Side& side : place.sides) {
      for (const NamedDirection& direction : side.names.directions) {
        for (const SignedDirection& of_sign : direction.signs) {
          ++lists;
          if (of_sign.coherence > side.names.random_coherence) ++named;
        }
      }
    }
  }
  return {lists, named};
}

}  // namespace attnscope
