#include "attnscope/forward/token_embedding.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/forward/layer_run.h"

namespace attnscope {
namespace {

/// Returns the row of the position table for each token after the `past` ones.
std::vector<std::int64_t> position_rows(const StreamSpec& stream,
                                        std::span<const std::int64_t> past, const TokenIds& ids) {
  std::vector<std::int64_t> rows;
  // Number of tokens so far that are not padding.
  auto text = std::ssize(past) - std::count(past.begin(), past.end(), stream.padding_token);
  for (std::size_t at = 0; at < ids.size(); ++at) {
    if (!stream.embedding.positions_after_padding) {
      rows.push_back(static_cast<std::int64_t>(past.size() + at) +
                     stream.embedding.position_offset);
      continue;
    }
    // As in RobertaEmbeddings, padding tokens use the padding row and are not counted.
    const bool padding = ids[at] == stream.padding_token;
    if (!padding) ++text;
    rows.push_back(padding ? stream.padding_token : stream.padding_token + text);
  }
  return rows;
}

/// Returns whether a position is that of padding, whose embedding is zero. Applies if positions are
/// counted from the padding index.
bool is_padding(const StreamSpec& stream, std::int64_t position) {
  return stream.embedding.positions_after_padding && position == stream.padding_token;
}

/// Adds the sinusoidal position embedding of WaveRule, rounded to float32 at the same steps as
/// transformers.
void add_waves(const WaveRule& rule, std::int64_t position, std::span<float> out) {
  const std::size_t half = out.size() / 2;
  const double steps = static_cast<double>(rule.to_last ? half - 1 : half);
  const double step = -std::log(10000.0) / steps;
  for (std::size_t at = 0; at < half; ++at) {
    double angle = static_cast<double>(position) * std::exp(static_cast<double>(at) * step);
    if (rule.to_last) {
      const float exponent = static_cast<float>(at) * static_cast<float>(step);
      angle = static_cast<float>(position) *
              static_cast<float>(std::exp(static_cast<double>(exponent)));
    }
    out[at] += static_cast<float>(std::sin(angle));
    out[half + at] += static_cast<float>(std::cos(angle));
  }
}

/// Adds a row of the table to `out`.
void add_row(const RowTable& table, std::int64_t row, std::vector<float>& buffer, float* out) {
  if (table.tensor == nullptr) return;
  buffer.resize(static_cast<std::size_t>(table.cols));
  table.read(row, buffer);
  for (std::size_t col = 0; col < buffer.size(); ++col) out[col] += buffer[col];
}

/// Adds row 0 of each table, side by side, to `out`.
void add_side_by_side(const std::vector<RowTable>& tables, std::vector<float>& buffer, float* out) {
  for (const RowTable& table : tables) {
    add_row(table, 0, buffer, out);
    out += table.cols;
  }
}

/// Zeroes masked tokens, and rescales the others for the mask ratio of training, 0.15 · 0.8.
/// Reference: EsmEmbeddings.
void drop_masked(std::int64_t mask, const TokenIds& ids, MatrixView<float> states) {
  const auto tokens = static_cast<float>(ids.size());
  const auto masked = static_cast<float>(std::count(ids.begin(), ids.end(), mask));
  const float factor = 0.88F / (1 - masked / tokens);
  for (std::int64_t row = 0; row < states.rows; ++row) {
    const bool dropped = ids[static_cast<std::size_t>(row)] == mask;
    for (std::int64_t col = 0; col < states.cols; ++col) {
      states(row, col) = dropped ? 0 : factor * states(row, col);
    }
  }
}

}  // namespace

std::int64_t longest_text(const ModelSpec& spec, const ForwardWeights& weights) {
  const StreamSpec& stream = spec.stream;
  const std::int64_t endless = std::numeric_limits<std::int64_t>::max();
  const std::int64_t longest = stream.longest.value_or(endless);
  if (weights.positions.tensor == nullptr) {
    const auto& waves = stream.embedding.waves;
    return waves && !waves->endless ? spec.dimensions.context.value_or(longest) : longest;
  }
  const bool counted = stream.embedding.positions_after_padding;
  const std::int64_t before = counted ? stream.padding_token + 1 : stream.embedding.position_offset;
  return std::min(longest, std::max<std::int64_t>(weights.positions.rows - before, 0));
}

namespace {

/// Adds position and type embeddings to each row.
using AddPositionEmbeddings = std::function<void(Matrix<float>& states)>;

/// Embeds the sequences. `drop`: drop_masked() for some models; may be empty.
Matrix<float> embed_with(const ModelSpec& spec, const ForwardWeights& weights,
                         std::span<const TokenIds> sequences, const AddPositionEmbeddings& drop,
                         const AddPositionEmbeddings& add_position_embeddings,
                         const Compute& compute) {
  const EmbeddingRule& rule = spec.stream.embedding;
  std::int64_t total = 0;
  for (const TokenIds& ids : sequences) total += std::ssize(ids);
  Matrix<float> states(total, weights.tokens.cols);
  std::int64_t row = 0;
  for (const TokenIds& ids : sequences) {
    for (const std::int64_t id : ids) {
      float* out = states.view().row_block(row++, 1).data;
      weights.tokens.read(id, {out, static_cast<std::size_t>(states.cols())});
    }
  }
  if (spec.stream.embedding_factor != 1) {
    const auto factor = static_cast<float>(spec.stream.embedding_factor);
    for (std::int64_t at = 0; at < states.rows() * states.cols(); ++at) states.data()[at] *= factor;
  }
  if (drop) drop(states);
  const auto project = [&] {
    Matrix<float> wide(total, weights.projection->weights.outputs());
    apply(*weights.projection, states.view(), {}, wide.view(), compute);
    states = std::move(wide);
  };
  const bool projects = weights.projection != nullptr;
  if (projects && rule.projects_tokens) project();
  add_position_embeddings(states);
  if (projects && rule.norms_projected) project();
  if (weights.embedding_norm) {
    apply_norm(*weights.embedding_norm, states.view(), states.view(), compute);
  }
  if (projects && !rule.projects_tokens && !rule.norms_projected) project();
  for (const RowTable* table : {&weights.tokens, &weights.positions, &weights.types}) {
    if (table->tensor != nullptr) table->check_intact();
  }
  for (const auto* tables : {&weights.added, &weights.joined}) {
    for (const RowTable& table : *tables) table.check_intact();
  }
  return states;
}

}  // namespace

Matrix<float> embed(const ModelSpec& spec, const ForwardWeights& weights,
                    std::span<const TokenIds> sequences, const SequenceRows& rows,
                    const Compute& compute) {
  AddPositionEmbeddings drop;
  if (const auto mask = spec.stream.dropped_token) {
    drop = [&, mask = *mask](Matrix<float>& states) {
      for (std::size_t at = 0; at < sequences.size(); ++at) {
        drop_masked(mask, sequences[at], states.view().row_block(rows.first[at], rows.length[at]));
      }
    };
  }
  const EmbeddingRule& rule = spec.stream.embedding;
  const auto add_position_embeddings = [&](Matrix<float>& states) {
    std::vector<float> buffer;
    std::int64_t row = 0;
    for (std::size_t at = 0; at < sequences.size(); ++at) {
      const std::vector<std::int64_t>& types = sequences[at].types;
      std::size_t token = 0;
      for (const std::int64_t position : position_rows(spec.stream, rows.past[at], sequences[at])) {
        float* out = states.view().row_block(row++, 1).data;
        add_row(weights.positions, position, buffer, out);
        const bool has_waves = rule.waves && weights.positions.tensor == nullptr;
        if (has_waves && !is_padding(spec.stream, position)) {
          add_waves(*rule.waves, position, {out, static_cast<std::size_t>(states.cols())});
        }
        add_row(weights.types, types.empty() ? 0 : types[token++], buffer, out);
        for (const RowTable& table : weights.added) add_row(table, 0, buffer, out);
        add_side_by_side(weights.joined, buffer, out);
      }
    }
  };
  return embed_with(spec, weights, sequences, drop, add_position_embeddings, compute);
}

std::vector<float> mean_position_embedding(const ForwardWeights& weights) {
  const bool has_positions = weights.positions.tensor != nullptr;
  const RowTable& any = has_positions ? weights.positions : weights.types;
  std::vector<double> sums(any.tensor == nullptr ? 0 : static_cast<std::size_t>(any.cols), 0.0);
  std::vector<float> row(sums.size());
  const auto add = [&](const RowTable& table, std::int64_t rows) {
    for (std::int64_t at = 0; table.tensor != nullptr && at < rows; ++at) {
      table.read(at, row);
      for (std::size_t col = 0; col < row.size(); ++col) {
        sums[col] += static_cast<double>(row[col]) / static_cast<double>(rows);
      }
    }
  };
  add(weights.positions, weights.positions.rows);
  add(weights.types, 1);
  for (const RowTable& table : weights.added) add(table, 1);
  std::vector<float> joined(sums.size());
  if (!joined.empty()) add_side_by_side(weights.joined, row, joined.data());
  for (std::size_t col = 0; col < sums.size(); ++col) sums[col] += static_cast<double>(joined[col]);
  return {sums.begin(), sums.end()};
}

Matrix<float> embed_alone(const ModelSpec& spec, const ForwardWeights& weights, const TokenIds& ids,
                          std::span<const float> place, const Compute& compute) {
  const auto add_position_embeddings = [&](Matrix<float>& states) {
    for (std::int64_t at = 0; at < states.rows(); ++at) {
      float* row = &states(at, 0);
      for (std::size_t col = 0; col < place.size(); ++col) row[col] += place[col];
    }
  };
  return embed_with(spec, weights, std::span(&ids, 1), {}, add_position_embeddings, compute);
}

}  // namespace attnscope
