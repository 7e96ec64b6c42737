#include "attnscope/forward/scored_positions.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace attnscope {

ScoredPositions next_tokens(std::span<const TokenIds> sequences) {
  ScoredPositions out{.inputs = {sequences.begin(), sequences.end()}};
  for (const TokenIds& ids : sequences) {
    out.tokens.insert(out.tokens.end(), ids.begin() + 1, ids.end());
    out.tokens.push_back(-1);
    out.of_sequence.push_back(std::ssize(ids));
  }
  out.rows.resize(out.tokens.size());
  std::iota(out.rows.begin(), out.rows.end(), std::int64_t{0});
  return out;
}

ScoredPositions target_tokens(std::span<const TokenIds> targets,
                              std::span<const TokenIds> sources) {
  ScoredPositions out{.inputs = {}, .sources = {sources.begin(), sources.end()}};
  for (const TokenIds& ids : targets) {
    out.inputs.emplace_back(ids.begin(), ids.end() - 1);
    out.tokens.insert(out.tokens.end(), ids.begin() + 1, ids.end());
    out.of_sequence.push_back(std::ssize(ids) - 1);
  }
  out.rows.resize(out.tokens.size());
  std::iota(out.rows.begin(), out.rows.end(), std::int64_t{0});
  return out;
}

ScoredPositions masked_tokens(std::span<const TokenIds> sequences, std::int64_t mask,
                              std::int64_t first, std::uint64_t seed, const ScoredTokens& scored) {
  ScoredPositions out{.inputs = {sequences.begin(), sequences.end()}};
  std::int64_t row = 0;
  for (std::size_t number = 0; number < out.inputs.size(); ++number) {
    TokenIds& ids = out.inputs[number];
    std::mt19937_64 generator(seed + static_cast<std::uint64_t>(first) + number);
    std::vector<std::size_t> positions;
    for (std::size_t position = 0; position < ids.size(); ++position) {
      if (scored.empty() || scored[number][position] != 0) positions.push_back(position);
    }
    const std::size_t masked =
        std::min(positions.size(), std::max<std::size_t>(1, (15 * positions.size() + 50) / 100));
    for (std::size_t at = 0; at < masked; ++at) {
      std::swap(positions[at], positions[at + generator() % (positions.size() - at)]);
    }
    positions.resize(masked);
    std::sort(positions.begin(), positions.end());
    for (const std::size_t position : positions) {
      out.rows.push_back(row + static_cast<std::int64_t>(position));
      out.tokens.push_back(ids[position]);
      ids[position] = mask;
    }
    out.of_sequence.push_back(static_cast<std::int64_t>(masked));
    row += std::ssize(ids);
  }
  return out;
}

std::vector<std::int64_t> scored_rows(const TokenIds& scored, bool writes) {
  std::vector<std::int64_t> rows;
  for (std::size_t position = writes ? 1 : 0; position < scored.size(); ++position) {
    if (scored[position] == 0) continue;
    rows.push_back(static_cast<std::int64_t>(position) - (writes ? 1 : 0));
  }
  return rows;
}

ScoredPositions select_scored_positions(ScoredPositions all, const ScoredTokens& scored) {
  ScoredPositions out{.inputs = std::move(all.inputs), .sources = std::move(all.sources)};
  std::size_t position = 0;
  for (std::size_t number = 0; number < all.of_sequence.size(); ++number) {
    const TokenIds& counts = scored[number];
    std::int64_t kept = 0;
    for (std::int64_t row = 0; row < all.of_sequence[number]; ++row, ++position) {
      const auto predicted = static_cast<std::size_t>(row) + 1;  // position of the predicted token
      if (predicted >= counts.size() || counts[predicted] == 0) continue;
      out.rows.push_back(all.rows[position]);
      out.tokens.push_back(all.tokens[position]);
      ++kept;
    }
    out.of_sequence.push_back(kept);
  }
  return out;
}

Matrix<float> picked_rows(MatrixView<const float> states, std::span<const std::int64_t> rows) {
  Matrix<float> out(std::ssize(rows), states.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    std::copy_n(&states(rows[static_cast<std::size_t>(row)], 0), states.cols, &out(row, 0));
  }
  return out;
}

}  // namespace attnscope
