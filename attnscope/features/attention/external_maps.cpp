#include "attnscope/features/attention/external_maps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/features/attention/rows.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

std::int64_t count_of(const std::vector<std::vector<std::int64_t>>& kept, std::int64_t sequence,
                      std::int64_t all) {
  return kept.empty() ? all : std::ssize(kept[static_cast<std::size_t>(sequence)]);
}

/// Positions that are kept; consecutive positions are a range.
struct KeptPositions {
  const std::vector<std::int64_t>* list = nullptr;  // null: consecutive
  std::int64_t count = 0;

  std::int64_t operator[](std::int64_t at) const {
    return list == nullptr ? at : (*list)[static_cast<std::size_t>(at)];
  }
  bool is_run() const { return count == 0 || (*this)[count - 1] - (*this)[0] == count - 1; }
};

KeptPositions places_of(const std::vector<std::vector<std::int64_t>>& kept, std::int64_t sequence,
                        std::int64_t all) {
  if (kept.empty()) return {.count = all};
  const auto& list = kept[static_cast<std::size_t>(sequence)];
  return {.list = &list, .count = std::ssize(list)};
}

/// Tolerance for a sum of this many weights of a dtype being 1. Each weight is rounded by half a
/// unit of the dtype, and softmax sums in float32.
double sum_tolerance(DType dtype, std::int64_t keys) {
  const auto of_keys = static_cast<double>(keys);
  const double sums = of_keys * 0x1p-23;
  switch (dtype) {
    case DType::f16:
      return sums + 0x1p-11 + of_keys * 0x1p-25;  // subnormal numbers are rounded by 2^-25
    case DType::bf16: return sums + 0x1p-8;
    case DType::f32:
    case DType::f64: return sums;
    default: return sums + 0x1p-3;
  }
}

struct RowCheck {
  double sum = 0;
  bool negative = false;
};

RowCheck check_row(const float* line, std::int64_t count) {
  constexpr std::int64_t kLanes = 16;
  std::array<float, kLanes> least{};
  std::array<double, kLanes> sums{};
  std::int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const auto of_lane = static_cast<std::size_t>(lane);
      const float weight = line[at + lane];
      sums[of_lane] += static_cast<double>(weight);
      least[of_lane] = weight < least[of_lane] ? weight : least[of_lane];
    }
  }
  RowCheck check;
  for (; at < count; ++at) {
    check.sum += static_cast<double>(line[at]);
    check.negative = check.negative || line[at] < 0;
  }
  for (std::size_t lane = 0; lane < sums.size(); ++lane) {
    check.sum += sums[lane];
    check.negative = check.negative || least[lane] < 0;
  }
  return check;
}

struct MapLocationText {
  const UserMaps& given;
  std::int64_t sequence, head, query;

  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = "") const {
    throw Error(ErrorKind::numerical, {.place = "maps of " + given.name,
                                       .problem = "sequence " + std::to_string(sequence) +
                                                  ", head " + std::to_string(head) + ", query " +
                                                  std::to_string(query) + ": " + verbatim(problem),
                                       .hint = hint});
  }
};

void check_map(MatrixView<const float> map, const MapLocationText& place,
               const KeptPositions& queries) {
  const double tolerance = sum_tolerance(place.given.maps.dtype, map.cols);
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const RowCheck check = check_row(map.data + row * map.row_stride, map.cols);
    MapLocationText at = place;
    at.query = queries[row];
    if (!std::isfinite(check.sum)) at.refuse("holds NaN or Inf");
    if (check.negative) at.refuse("has negative weights", "pass maps after softmax");
    const bool sums_to_1 =
        place.given.sinks ? check.sum <= 1 + tolerance : std::abs(check.sum - 1) <= tolerance;
    if (sums_to_1) continue;
    std::array<char, 32> sum{};
    std::snprintf(sum.data(), sum.size(), "%.6g", check.sum);
    at.refuse("the weights sum to " + std::string(sum.data()) + ", not to 1",
              check.sum < 1 ? "pass maps after softmax and without dropout; {sinks} allows "
                              "for learned sinks"
                            : "pass maps after softmax and without dropout");
  }
}

SeenKeys seen_in(MatrixView<const float> map) {
  SeenKeys seen;
  for (std::int64_t row = 0; row < map.rows; ++row) {
    const float* line = map.data + row * map.row_stride;
    for (std::int64_t key = 0; key < row - seen.before; ++key) {
      if (line[key] > 0) seen.before = row - key;
    }
    for (std::int64_t key = map.cols - 1; key > row + seen.after; --key) {
      if (line[key] > 0) seen.after = key - row;
    }
  }
  return seen;
}

/// Whether a query attends to a key of an earlier chunk of `chunk` tokens.
bool crosses(MatrixView<const float> map, std::int64_t chunk) {
  for (std::int64_t row = chunk; row < map.rows; ++row) {
    const float* line = map.data + row * map.row_stride;
    const std::int64_t first = row - row % chunk;
    if (std::any_of(line, line + first, [](float weight) { return weight > 0; })) return true;
  }
  return false;
}

MatrixView<const float> in_place(const UserMaps& user_maps, std::int64_t first_element,
                                 const KeptPositions& queries, const KeptPositions& keys) {
  const auto* start = reinterpret_cast<const float*>(user_maps.maps.bytes.data());
  const std::int64_t stride = user_maps.maps.stride(2);
  return {start + first_element + queries[0] * stride + keys[0], queries.count, keys.count, stride};
}

Matrix<float> decoded(const UserMaps& user_maps, std::int64_t first_element,
                      const KeptPositions& queries, const KeptPositions& keys) {
  Matrix<float> map(queries.count, keys.count);
  std::vector<float> line(static_cast<std::size_t>(keys[keys.count - 1] - keys[0] + 1));
  for (std::int64_t row = 0; row < queries.count; ++row) {
    const std::int64_t step = user_maps.maps.stride(3);
    decode_elements(user_maps.maps,
                    first_element + queries[row] * user_maps.maps.stride(2) + keys[0] * step, step,
                    std::ssize(line), line.data());
    for (std::int64_t col = 0; col < keys.count; ++col) {
      map(row, col) = line[static_cast<std::size_t>(keys[col] - keys[0])];
    }
  }
  return map;
}

}  // namespace

std::int64_t UserMaps::query_count(std::int64_t sequence) const {
  return count_of(queries, sequence, maps.shape[2]);
}

std::int64_t UserMaps::key_count(std::int64_t sequence) const {
  return count_of(keys, sequence, maps.shape[3]);
}

void SeenKeys::add(const SeenKeys& other) {
  // Chunks of different lengths are not chunked attention.
  crosses_chunks = crosses_chunks || other.crosses_chunks || before != other.before;
  before = std::max(before, other.before);
  after = std::max(after, other.after);
}

AttentionMask SeenKeys::mask(std::int64_t tokens) const {
  AttentionMask mask{.keys_before = before, .keys_after = after};
  if (after == 0 && before + 1 < tokens && !crosses_chunks) mask.chunk = before + 1;
  return mask;
}

FloatMaps float_maps(const UserMaps& user_maps, std::int64_t sequence, std::int64_t first,
                     std::int64_t count, const Compute& compute) {
  const KeptPositions queries = places_of(user_maps.queries, sequence, user_maps.maps.shape[2]);
  const KeptPositions keys = places_of(user_maps.keys, sequence, user_maps.maps.shape[3]);
  const bool lies_ready =
      user_maps.maps.dtype == DType::f32 && user_maps.maps.stride(3) == 1 && queries.is_run() &&
      keys.is_run() &&
      reinterpret_cast<std::uintptr_t>(user_maps.maps.bytes.data()) % alignof(float) == 0;
  FloatMaps out;
  out.maps.resize(static_cast<std::size_t>(count));
  if (!lies_ready) out.decoded.resize(out.maps.size());
  std::vector<SeenKeys> seen(out.maps.size());
  run_parts(compute, out.maps.size(), [&](std::size_t part) {
    const std::int64_t head = first + static_cast<std::int64_t>(part);
    const std::int64_t element =
        sequence * user_maps.maps.stride(0) + head * user_maps.maps.stride(1);
    if (lies_ready) {
      out.maps[part] = in_place(user_maps, element, queries, keys);
    } else {
      out.decoded[part] = decoded(user_maps, element, queries, keys);
      out.maps[part] = std::as_const(out.decoded[part]).view();
    }
    const MapLocationText place{.given = user_maps, .sequence = sequence, .head = head, .query = 0};
    check_map(out.maps[part], place, queries);
    if (user_maps.cross) return;
    seen[part] = seen_in(out.maps[part]);
    seen[part].crosses_chunks = crosses(out.maps[part], seen[part].before + 1);
  });
  out.seen = seen.front();
  for (const SeenKeys& of_map : seen) out.seen.add(of_map);
  return out;
}

namespace {

/// Maps that are decoded at the same time, at least kLeastTogether.
constexpr std::int64_t kDecodedBytes = std::int64_t{64} << 20, kLeastTogether = 8;

struct Measured {
  std::vector<std::vector<AttentionMapMeasures>> of_sequences;
  std::optional<SeenKeys> seen;

  void see(const SeenKeys& keys) {
    if (seen) {
      seen->add(keys);
    } else {
      seen = keys;
    }
  }
};

Measured measure_all(const UserMaps& user_maps, AttentionMapOptions options,
                     const Compute& compute) {
  Measured out;
  for (std::int64_t sequence = 0; sequence < user_maps.sequences(); ++sequence) {
    const std::int64_t bytes = user_maps.query_count(sequence) * user_maps.key_count(sequence) *
                               std::int64_t{sizeof(float)};
    const std::int64_t together = std::max(kLeastTogether, kDecodedBytes / bytes);
    auto& measures = out.of_sequences.emplace_back();
    for (std::int64_t head = 0; head < user_maps.heads(); head += together) {
      const std::int64_t count = std::min(together, user_maps.heads() - head);
      const FloatMaps maps = float_maps(user_maps, sequence, head, count, compute);
      options.causal = !user_maps.cross && maps.seen.after == 0;
      auto measured = measure_attention_maps(maps.maps, options, compute);
      std::move(measured.begin(), measured.end(), std::back_inserter(measures));
      out.see(maps.seen);
    }
  }
  return out;
}

UniformAttention uniform_attention_of(const UserMaps& user_maps, std::int64_t sequence,
                                      const SeenKeys& seen) {
  const std::int64_t queries = user_maps.query_count(sequence),
                     keys = user_maps.key_count(sequence);
  if (user_maps.cross) {
    return {.tokens = keys, .mask = AttentionMask::bidirectional(), .queries = queries};
  }
  return {.tokens = keys, .mask = seen.mask(keys)};
}

}  // namespace

std::vector<Outcome> measure_user_maps(const UserMaps& user_maps, AttentionMapOptions options,
                                       const Compute& compute) {
  static const std::size_t learned_sink_mass = map_measure_index("learned_sink_mass");
  options.across = user_maps.cross;
  Measured measured = measure_all(user_maps, options, compute);
  const SeenKeys seen = measured.seen.value_or(SeenKeys());
  std::vector<Outcome> outcomes;
  for (std::int64_t first = 0, end = 0; first < user_maps.sequences(); first = end) {
    std::vector<AttentionMapMeasures> run;
    const auto is_alike = [&](std::int64_t sequence) {
      return user_maps.query_count(sequence) == user_maps.query_count(first) &&
             user_maps.key_count(sequence) == user_maps.key_count(first);
    };
    for (; end < user_maps.sequences() && is_alike(end); ++end) {
      for (AttentionMapMeasures& map : measured.of_sequences[static_cast<std::size_t>(end)]) {
        // Without learned sinks, a sum below 1 is only due to the rounding of the dtype.
        if (!user_maps.sinks) map.values[learned_sink_mass] = 0;
        run.push_back(std::move(map));
      }
    }
    outcomes.push_back(attention_outcome(user_maps.layer, user_maps.heads(), run,
                                         uniform_attention_of(user_maps, first, seen), options));
    outcomes.back().fields.add("causal", !user_maps.cross && seen.after == 0);
  }
  return outcomes;
}

}  // namespace attnscope
