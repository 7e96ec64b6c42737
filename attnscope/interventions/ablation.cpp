#include "attnscope/interventions/ablation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/interventions/linear_unembedding.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/softmax.h"

namespace attnscope {
namespace {

class LayerAblationRun {
 public:
  LayerAblationRun(const ForwardPass& pass, const ScoredPositions& texts,
                   const AblationRequest& request, const Compute& compute)
      : pass_(pass),
        texts_(texts),
        request_(request),
        compute_(compute),
        parts_(parts_of_layer(pass, request.place, request.parts)),
        layer_(pass, request.place, texts.inputs, texts.sources, compute) {
    const bool encodes = request.place.of == LayerInStack::Of::encoder;
    if (!encodes && LinearHead::obstacle(pass).empty()) {
      head_.emplace(pass, mean_output_row(pass, compute));
    }
    const std::size_t sequences = texts.inputs.size();
    out_.loss.assign(sequences, 0);
    out_.places = texts.of_sequence;
    out_.predicted.assign(sequences, 0);
    for (const PartOfLayer& part : parts_) {
      out_.effects.push_back({.part = part,
                              .predictions = PredictionChange::zeros(sequences),
                              .direct = std::vector<double>(head_ ? sequences : 0, 0)});
    }
  }

  LayerAblation run() {
    const Replacements replacements(layer_, request_.how,
                                    layer_.rows() / std::ssize(texts_.inputs));
    for (const ScoredChunk& chunk : scored_chunks(layer_.chunks(), texts_)) {
      const CleanPredictions clean = run_clean(chunk);
      layer_.run_replaced(chunk.text, parts_, replacements.of(chunk.text),
                          [&](std::size_t part, MatrixView<const float> states) {
                            clean.add_change(states, out_.effects[part].predictions, room_);
                          });
    }
    return std::move(out_);
  }

 private:
  CleanPredictions run_clean(const ScoredChunk& chunk) {
    std::vector<double> scales;
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (!head_ || index < pass_.model().dimensions().layers) return;
      scales = head_->scales(picked_rows(stream, chunk.rows).view());
    };
    const Matrix<float> states = layer_.run(chunk.text, observer);
    CleanPredictions clean(pass_, texts_, chunk, states.view(), compute_);
    clean.add_loss(out_.loss, out_.predicted);
    if (head_) add_direct(chunk, scales);
    return clean;
  }

  /// Adds the direct effect of each component on the logits of the text's tokens.
  void add_direct(const ScoredChunk& chunk, const std::vector<double>& scales) {
    const std::span<const std::int64_t> tokens =
        std::span(texts_.tokens).subspan(chunk.first_place, chunk.rows.size());
    const Matrix<float> directions = head_->directions(tokens);
    const std::int64_t layer = request_.place.layer;
    const bool across = request_.place.of == LayerInStack::Of::cross;
    const LayerWeights& weights = pass_.weights().layers[static_cast<std::size_t>(layer)];
    std::vector<std::int64_t> of_layer;  // the same rows, counted over all chunks
    for (const std::int64_t row : chunk.rows) of_layer.push_back(chunk.text.first_row + row);
    const auto given_by = [&](LayerPart part) {
      return picked_rows(layer_.columns({.part = part, .head = {}}).all->view(), of_layer);
    };
    const OptionalNorm none;  // cross-attention has no such norm
    const OptionalNorm& of_attention = across ? none : weights.attention_output;
    const OptionalNorm& of_mlp = across ? none : weights.mlp_output;
    Matrix<float> given;  // output of the branch, if the scale of its norm is needed
    if (of_attention) {
      given = Matrix<float>(directions.rows(), directions.cols());
      apply(*weights.output, given_by(LayerPart::attention).view(), {}, given.view(), compute_);
    }
    const Matrix<float> through = head_->through_output(
        layer, through_norm(of_attention, given.view(), directions.view()).view(), compute_,
        across);
    if (of_mlp) given = given_by(LayerPart::mlp);
    const Matrix<float> to_mlp = through_norm(of_mlp, given.view(), directions.view());
    const double factor =
        pass_.model().spec().layers[static_cast<std::size_t>(layer)].branch_factor;
    for (AblationEffect& effect : out_.effects) {
      const bool is_mlp = effect.part.part == LayerPart::mlp;
      const LayerParts::Columns columns = layer_.columns(effect.part);
      const auto add = [&](std::size_t position, std::size_t sequence, std::int64_t token) {
        if (token < 0) return;
        const auto at = static_cast<std::int64_t>(position);
        const float* written = &(*columns.all)(of_layer[position], columns.first);
        const double product =
            is_mlp ? factor * row_product(written, &to_mlp(at, 0), columns.count)
                   : row_product(written, &through(at, columns.first), columns.count);
        effect.direct[sequence] += product / scales[position];
      };
      chunk.for_positions(texts_, add);
    }
  }

  const ForwardPass& pass_;
  const ScoredPositions& texts_;
  const AblationRequest& request_;
  const Compute& compute_;
  std::vector<PartOfLayer> parts_;
  LayerParts layer_;
  std::optional<LinearHead> head_;
  Matrix<float> room_;  // buffer for logits
  LayerAblation out_;
};

}  // namespace

void ColumnMeans::add(MatrixView<const float> rows) {
  sums_.resize(static_cast<std::size_t>(rows.cols), 0.0);
  rows_ += rows.rows;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      sums_[static_cast<std::size_t>(col)] += static_cast<double>(rows(row, col));
    }
  }
}

std::vector<float> ColumnMeans::means() const {
  std::vector<float> means;
  for (const double sum : sums_) {
    means.push_back(static_cast<float>(sum / static_cast<double>(rows_)));
  }
  return means;
}

std::vector<float> column_means(const Matrix<float>& rows) {
  ColumnMeans means;
  means.add(rows.view());
  return means.means();
}

void write_replacement(Replacement how, std::span<const float> means,
                       MatrixView<const float> outputs, std::int64_t first_row,
                       MatrixView<float> out) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    float* to = &out(row, 0);
    if (how == Replacement::zero) {
      std::fill_n(to, out.cols, 0.0F);
    } else if (how == Replacement::mean) {
      std::copy_n(means.data(), out.cols, to);
    } else {
      std::copy_n(&outputs((first_row + row) % outputs.rows, 0), out.cols, to);
    }
  }
}

Replacements::Replacements(const LayerParts& layer, Replacement how, std::int64_t length)
    : layer_(layer), how_(how), length_(length) {
  if (how != Replacement::mean) return;
  heads_ = column_means(layer.heads());
  mixer_ = column_means(layer.mixer());
  mlp_ = column_means(layer.mlp());
}

LayerParts::Replace Replacements::of(const TextChunk& chunk) const {
  return [this, &chunk](const PartOfLayer& part, MatrixView<float> out) {
    const LayerParts::Columns columns = layer_.columns(part);
    const std::vector<float>& means = part.part == LayerPart::mlp     ? mlp_
                                      : part.part == LayerPart::mixer ? mixer_
                                                                      : heads_;
    const auto of_columns = [&](const std::vector<float>& all) {
      return how_ != Replacement::mean
                 ? std::span<const float>()
                 : std::span(all).subspan(static_cast<std::size_t>(columns.first),
                                          static_cast<std::size_t>(columns.count));
    };
    write_replacement(how_, of_columns(means),
                      columns.all->view().col_block(columns.first, columns.count),
                      chunk.first_part_row + length_, out);
  };
}

LayerParts::Replace given_on(const LayerParts& other, const TextChunk& chunk) {
  return [&other, &chunk](const PartOfLayer& part, MatrixView<float> out) {
    const LayerParts::Columns columns = other.columns(part);
    copy_into(out, columns.all->view()
                       .row_block(chunk.first_part_row, chunk.part_rows)
                       .col_block(columns.first, columns.count));
  };
}

LayerAblation ablate_layer(const ForwardPass& pass, const ScoredPositions& texts,
                           const AblationRequest& request, const Compute& compute) {
  return LayerAblationRun(pass, texts, request, compute).run();
}

}  // namespace attnscope
