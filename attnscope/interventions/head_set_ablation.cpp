#include "attnscope/interventions/head_set_ablation.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

/// Values that replace head outputs in several layers.
class HeadReplacements {
 public:
  /// Runs all texts if there are layers after that of `parts`. `layers`: ascending; the first one
  /// is the layer of `parts`, which must outlive this object.
  HeadReplacements(const LayerParts& parts, LayerInStack place,
                   std::span<const std::int64_t> layers, Replacement how, std::int64_t length)
      : parts_(parts), how_(how), length_(length) {
    if (how == Replacement::zero) return;
    keep(place.layer, 0, parts.heads().view());
    if (layers.back() > place.layer) run(place, layers);
    for (const auto& [layer, sums] : sums_) means_[layer] = sums.means();
  }

  /// Writes the replacement of some columns of a layer's head outputs for a chunk.
  void write(const TextChunk& chunk, std::int64_t layer, std::int64_t first_column,
             MatrixView<float> out) const {
    std::span<const float> means;
    MatrixView<const float> outputs;
    if (how_ == Replacement::mean) {
      means = std::span(means_.at(layer)).subspan(static_cast<std::size_t>(first_column));
    } else if (how_ == Replacement::resample) {
      outputs = outputs_.at(layer).view().col_block(first_column, out.cols);
    }
    write_replacement(how_, means, outputs, chunk.first_part_row + length_, out);
  }

 private:
  /// Adds the outputs of a layer from row `first` of all texts on.
  void keep(std::int64_t layer, std::int64_t first, MatrixView<const float> heads) {
    if (how_ == Replacement::resample) {
      Matrix<float>& all = outputs_[layer];
      if (all.rows() == 0) all = Matrix<float>(parts_.rows(), heads.cols);
      copy_into(all.view().row_block(first, heads.rows), heads);
      return;
    }
    sums_[layer].add(heads);
  }

  void run(LayerInStack place, std::span<const std::int64_t> layers) {
    for (const TextChunk& chunk : parts_.chunks()) {
      ForwardObserver observer;
      (place.of == LayerInStack::Of::cross ? observer.on_cross_heads : observer.on_heads) =
          [&](std::int64_t layer, MatrixView<float> heads) {
            const bool asked = std::ranges::binary_search(layers, layer);
            if (asked && layer != place.layer) keep(layer, chunk.first_part_row, heads);
          };
      if (place.of != LayerInStack::Of::encoder) observer.end_after_layer = layers.back();
      parts_.run(chunk, observer);
    }
  }

  const LayerParts& parts_;
  Replacement how_;
  std::int64_t length_;
  std::map<std::int64_t, ColumnMeans> sums_;          // mean ablation
  std::map<std::int64_t, std::vector<float>> means_;  // mean ablation
  std::map<std::int64_t, Matrix<float>> outputs_;     // resample ablation: of all rows
};

}  // namespace

std::int64_t first_layer(const HeadSet& set) {
  return std::ranges::min_element(set, {}, &HeadIndex::layer)->layer;
}

HeadSetAblation ablate_head_sets(const ForwardPass& pass, const ScoredPositions& texts,
                                 std::span<const HeadSet> sets, LayerInStack::Of stack,
                                 Replacement how, const Compute& compute) {
  std::vector<std::int64_t> layers;  // ascending, each once
  for (const HeadSet& set : sets) {
    for (const HeadIndex& head : set) layers.push_back(head.layer);
  }
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  const LayerInStack place{.layer = layers.front(), .of = stack};
  const LayerParts parts(pass, place, texts.inputs, texts.sources, compute);
  const HeadReplacements replacements(parts, place, layers, how,
                                      parts.rows() / std::ssize(texts.inputs));
  const std::size_t sequences = texts.inputs.size();
  HeadSetAblation out{.loss = std::vector<double>(sequences, 0),
                      .places = texts.of_sequence,
                      .predicted = std::vector<std::int64_t>(sequences, 0),
                      .changes = std::vector(sets.size(), PredictionChange::zeros(sequences))};
  Matrix<float> room;
  for (const ScoredChunk& chunk : scored_chunks(parts.chunks(), texts)) {
    const Matrix<float> states = parts.run(chunk.text, {});
    const CleanPredictions clean(pass, texts, chunk, states.view(), compute);
    clean.add_loss(out.loss, out.predicted);
    const auto change = [&](std::size_t run, std::int64_t layer, MatrixView<float> heads) {
      for (const HeadIndex& head : sets[run]) {
        if (head.layer != layer) continue;
        const std::int64_t size = heads_of(pass, {.layer = layer, .of = stack}).value_dim;
        replacements.write(chunk.text, layer, head.head * size,
                           heads.col_block(head.head * size, size));
      }
    };
    parts.run_changed(chunk.text, sets.size(), change,
                      [&](std::size_t run, MatrixView<const float> changed) {
                        clean.add_change(changed, out.changes[run], room);
                      });
  }
  return out;
}

}  // namespace attnscope
