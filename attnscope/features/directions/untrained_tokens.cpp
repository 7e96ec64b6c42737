#include "attnscope/features/directions/untrained_tokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

constexpr double kUntrainedCosine = 0.9;

/// Spelling of such a byte in byte-level vocabularies: bytes from A1 on, except AD, are the
/// character with that code point.
std::string spelled_byte(int byte) {
  return {static_cast<char>(0xC0 | byte >> 6), static_cast<char>(0x80 | (byte & 0x3F))};
}

std::vector<std::int64_t> references(const Tokenizer& tokenizer) {
  constexpr int kNoUtf8[] = {0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9,
                             0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF};
  std::vector<std::int64_t> out;
  for (const int byte : kNoUtf8) {
    char named[8];
    std::snprintf(named, sizeof named, "<0x%02X>", byte);
    for (const std::string& spelling : {spelled_byte(byte), std::string(named)}) {
      if (const auto id = tokenizer.id(spelling)) out.push_back(*id);
    }
  }
  if (!out.empty()) return out;
  constexpr int kMostUnused = 1000;
  for (int number = 0; number < kMostUnused; ++number) {
    if (const auto id = tokenizer.id("[unused" + std::to_string(number) + "]")) out.push_back(*id);
  }
  return out;
}

/// Rows of the unembedding, or of the embedding if there is none.
const RowTable& rows_of(const ForwardPass& pass) {
  return pass.weights().head ? pass.weights().head->rows : pass.weights().tokens;
}

/// Number of rows that a thread reads and sums at a time: sums do not depend on the number of
/// threads.
constexpr std::int64_t kRowsAtOnce = 1024;

/// Calls part(block index, first row, end row) for all rows.
template <class Part>
void for_blocks(const RowTable& table, const Compute& compute, const Part& part) {
  run_parts(compute, static_cast<std::size_t>((table.rows + kRowsAtOnce - 1) / kRowsAtOnce),
            [&](std::size_t block) {
              const std::int64_t first = static_cast<std::int64_t>(block) * kRowsAtOnce;
              part(block, first, std::min(first + kRowsAtOnce, table.rows));
            });
}

std::vector<double> mean_row(const RowTable& table, const Compute& compute) {
  const auto width = static_cast<std::size_t>(table.cols);
  std::vector<std::vector<double>> of_blocks(
      static_cast<std::size_t>((table.rows + kRowsAtOnce - 1) / kRowsAtOnce));
  for_blocks(table, compute, [&](std::size_t block, std::int64_t first, std::int64_t end) {
    std::vector<double> sums(width, 0.0);
    std::vector<float> row(width);
    for (std::int64_t token = first; token < end; ++token) {
      table.read(token, row);
      for (std::size_t col = 0; col < width; ++col) sums[col] += static_cast<double>(row[col]);
    }
    of_blocks[block] = std::move(sums);
  });
  std::vector<double> mean(width, 0.0);
  for (const std::vector<double>& sums : of_blocks) {
    for (std::size_t col = 0; col < width; ++col) {
      mean[col] += sums[col] / static_cast<double>(table.rows);
    }
  }
  return mean;
}

/// The cosine of each token's centered row with the mean of the reference rows.
std::vector<double> cosines(const RowTable& table, const std::vector<std::int64_t>& references,
                            const Compute& compute) {
  const auto width = static_cast<std::size_t>(table.cols);
  const std::vector<double> mean = mean_row(table, compute);
  const auto off_mean = [&](const std::vector<float>& row, std::size_t col) {
    return static_cast<double>(row[col]) - mean[col];
  };
  const auto length_of = [&](const std::vector<float>& row) {
    return std::sqrt(
        sum_over(width, [&](std::size_t col) { return off_mean(row, col) * off_mean(row, col); }));
  };
  std::vector<float> row(width);
  std::vector<double> reference(width, 0.0);
  for (const std::int64_t token : references) {
    table.read(token, row);
    const double length = length_of(row);
    for (std::size_t col = 0; length > 0 && col < width; ++col) {
      reference[col] += off_mean(row, col) / length;
    }
  }
  const double of_reference =
      std::sqrt(sum_over(width, [&](std::size_t col) { return reference[col] * reference[col]; }));
  for (double& value : reference) value /= of_reference > 0 ? of_reference : 1.0;
  std::vector<double> out(static_cast<std::size_t>(table.rows), 0.0);
  for_blocks(table, compute, [&](std::size_t, std::int64_t first, std::int64_t end) {
    std::vector<float> own(width);
    for (std::int64_t token = first; token < end; ++token) {
      table.read(token, own);
      const double length = length_of(own);
      if (length == 0) continue;
      out[static_cast<std::size_t>(token)] =
          sum_over(width, [&](std::size_t col) { return off_mean(own, col) * reference[col]; }) /
          length;
    }
  });
  table.check_intact();
  return out;
}

/// Centers and scales to unit length.
void center(std::vector<double>& values) {
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double squares = 0;
  for (double& value : values) {
    value -= mean;
    squares += value * value;
  }
  for (double& value : values) value /= squares > 0 ? std::sqrt(squares) : 1.0;
}

}  // namespace

FoundTokens candidate_tokens(const ForwardPass& pass, const Tokenizer* tokenizer, bool all,
                             const Compute& compute) {
  const RowTable& table = rows_of(pass);
  const std::int64_t count = std::min(table.rows, pass.vocabulary());
  FoundTokens out;
  const std::vector<std::int64_t> known =
      tokenizer == nullptr ? std::vector<std::int64_t>() : references(*tokenizer);
  std::vector<std::int64_t> there;
  std::copy_if(known.begin(), known.end(), std::back_inserter(there),
               [&](std::int64_t id) { return id < count; });
  out.known = !there.empty();
  std::vector<double> similar;
  if (out.known) similar = cosines(table, there, compute);
  for (std::int64_t token = 0; token < count; ++token) {
    const double cosine = out.known ? similar[static_cast<std::size_t>(token)] : 0.0;
    if (!all && cosine > kUntrainedCosine) {
      ++out.untrained;
      continue;
    }
    out.naming.ids.push_back(token);
    if (out.known) out.naming.rarity.push_back(cosine);
  }
  if (out.known) center(out.naming.rarity);
  return out;
}

}  // namespace attnscope
