#include "attnscope/forward/layer_parts.h"

#include <algorithm>
#include <utility>

#include "attnscope/forward/logits.h"
#include "attnscope/forward/sized.h"

namespace attnscope {
namespace {

/// Products of fewer rows read the weights too often.
constexpr std::int64_t kRowsAtOnce = 512;

MatrixView<const float> rows_of(const Matrix<float>& all, const TextChunk& chunk) {
  return all.view().row_block(chunk.first_row, chunk.rows);
}

}  // namespace

std::vector<PartOfLayer> parts_of_layer(const ForwardPass& pass, std::int64_t layer,
                                        const AskedParts& asked) {
  const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
  const std::int64_t heads = pass.model().spec().dimensions_of(layer).heads.heads;
  std::vector<PartOfLayer> out;
  if (asked.attention) out.push_back({.part = LayerPart::attention, .head = {}});
  if (asked.mlp && (weights.up != nullptr || weights.experts)) {
    out.push_back({.part = LayerPart::mlp, .head = {}});
  }
  for (std::int64_t head = 0; asked.heads && head < heads; ++head) {
    out.push_back({.part = LayerPart::head, .head = head});
  }
  return out;
}

LayerParts::LayerParts(const ForwardPass& pass, std::int64_t layer, std::span<const TokenIds> texts,
                       const Compute& compute)
    : pass_(pass), layer_(layer), compute_(compute) {
  cut(texts);
  for (const TextChunk& chunk : chunks_) keep(chunk);
}

void LayerParts::cut(std::span<const TokenIds> texts) {
  const std::int64_t most = std::min(kRowsAtOnce, rows_of_logits(pass_));
  TextChunk chunk;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    if (chunk.rows > 0 && chunk.rows + std::ssize(texts[at]) > most) {
      const TextChunk next{.first = at, .texts = {}, .first_row = chunk.first_row + chunk.rows};
      chunks_.push_back(std::exchange(chunk, next));
    }
    chunk.texts.push_back(texts[at]);
    chunk.rows += std::ssize(texts[at]);
  }
  rows_ = chunk.first_row + chunk.rows;
  chunks_.push_back(std::move(chunk));
}

void LayerParts::keep(const TextChunk& chunk) {
  const auto put = [&](Matrix<float>& all, MatrixView<const float> rows) {
    if (all.rows() == 0) all = Matrix<float>(rows_, rows.cols);
    copy_into(all.view().row_block(chunk.first_row, chunk.rows), rows);
  };
  ForwardObserver observer;
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
    if (index == layer_) put(stream_, stream);
  };
  observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
    if (layer == layer_) put(heads_, heads);
  };
  observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
    if (layer == layer_) put(mlp_, output);
  };
  observer.end_after_layer = layer_;
  pass_.run(chunk.texts, observer, compute_);
}

LayerParts::Columns LayerParts::columns(const PartOfLayer& part) const {
  if (part.part == LayerPart::mlp) return {.all = &mlp_, .first = 0, .count = mlp_.cols()};
  if (!part.head) return {.all = &heads_, .first = 0, .count = heads_.cols()};
  const std::int64_t size = pass_.model().spec().dimensions_of(layer_).heads.value_dim;
  return {.all = &heads_, .first = *part.head * size, .count = size};
}

/// Goes on from the layer with these heads; `copies` of the chunk beside each other.
Matrix<float> LayerParts::run_with(const TextChunk& chunk, std::int64_t copies,
                                   MatrixView<const float> heads, ForwardObserver observer) const {
  std::vector<TokenIds> inputs;
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    inputs.insert(inputs.end(), chunk.texts.begin(), chunk.texts.end());
  }
  if (!pass_.may_start_between()) {
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> given) {
      if (layer == layer_) copy_into(given, heads);
    };
    return pass_.run(inputs, observer, compute_);
  }
  Matrix<float> stream(copies * chunk.rows, stream_.cols());
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    copy_into(stream.view().row_block(copy * chunk.rows, chunk.rows), rows_of(stream_, chunk));
  }
  return pass_.run_from({.layer = layer_, .stream = stream.view(), .heads = heads}, inputs,
                        observer, compute_);
}

Matrix<float> LayerParts::run(const TextChunk& chunk, const ForwardObserver& observer) const {
  return run_with(chunk, 1, rows_of(heads_, chunk), observer);
}

void LayerParts::run_replaced(
    const TextChunk& chunk, std::span<const PartOfLayer> parts, const Replace& replace,
    const std::function<void(std::size_t, MatrixView<const float>)>& visit) const {
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, kRowsAtOnce / chunk.rows));
  const auto is_mlp = [&](std::size_t at) { return parts[at].part == LayerPart::mlp; };
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t end = first + 1;  // an MLP runs by itself
    while (!is_mlp(first) && end < parts.size() && end - first < most && !is_mlp(end)) ++end;
    const auto copies = static_cast<std::int64_t>(end - first);
    Matrix<float> heads(copies * chunk.rows, heads_.cols());
    ForwardObserver observer;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const PartOfLayer& part = parts[first + static_cast<std::size_t>(copy)];
      const MatrixView<float> own = heads.view().row_block(copy * chunk.rows, chunk.rows);
      copy_into(own, rows_of(heads_, chunk));
      if (part.part == LayerPart::mlp) {
        observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
          if (layer == layer_) replace(part, output);
        };
        continue;
      }
      const Columns columns = this->columns(part);
      replace(part, own.col_block(columns.first, columns.count));
    }
    const Matrix<float> states = run_with(chunk, copies, heads.view(), observer);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      visit(first + static_cast<std::size_t>(copy),
            states.view().row_block(copy * chunk.rows, chunk.rows));
    }
    first = end;
  }
}

}  // namespace attnscope
