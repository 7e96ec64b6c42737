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

// Comparison of the logits of an ablated run with those of the unmodified model.

/// Logits and probabilities of the unmodified model, one row per position.
struct CleanLogits {
  Matrix<float> logits, probabilities;
  std::vector<TokenOdds> odds;
};
CleanLogits clean_logits(Matrix<float> logits, const Compute& compute);

struct ChangedPosition {
  double log_sum = 0;    // of the changed logits
  double kl = 0;         // KL(clean ‖ changed), nats
  bool changed = false;  // the top-1 token has changed
};
std::vector<ChangedPosition> compare_logits(const CleanLogits& clean,
                                            MatrixView<const float> changed,
                                            const Compute& compute);

/// Returns the negative log-likelihood of a token, nats.
double loss_of(MatrixView<const float> logits, std::size_t position, double log_sum,
               std::int64_t token);

std::span<const float> row_of(MatrixView<const float> matrix, std::size_t row) {
  return {&matrix(static_cast<std::int64_t>(row), 0), static_cast<std::size_t>(matrix.cols)};
}

/// Returns whether the first maximum of the row is not at `position`.
bool is_first_elsewhere(float largest, std::span<const float> row, std::int64_t position) {
  if (row[static_cast<std::size_t>(position)] != largest) return true;
  bool earlier = false;  // an equal value comes earlier; no early exit, so that it vectorizes
  for (const float value : row.first(static_cast<std::size_t>(position)))
    earlier |= value == largest;
  return earlier;
}

CleanLogits clean_logits(Matrix<float> logits, const Compute& compute) {
  CleanLogits out{.logits = std::move(logits), .probabilities = {}, .odds = {}};
  const auto places = static_cast<std::size_t>(out.logits.rows());
  out.probabilities = Matrix<float>(out.logits.rows(), out.logits.cols());
  out.odds.resize(places);
  run_parts(compute, places, [&](std::size_t position) {
    const std::span<const float> logits_of_place =
        row_of(std::as_const(out.logits).view(), position);
    TokenOdds odds = token_odds(logits_of_place, compute);
    odds.log_sum = softmax_sum(logits_of_place, compute).log_sum;  // summed as for changed logits
    float* to = &out.probabilities(static_cast<std::int64_t>(position), 0);
    for (const float logit : logits_of_place) {
      *to++ = static_cast<float>(std::exp(static_cast<double>(logit) - odds.log_sum));
    }
    out.odds[position] = odds;
  });
  return out;
}

std::vector<ChangedPosition> compare_logits(const CleanLogits& clean,
                                            MatrixView<const float> changed,
                                            const Compute& compute) {
  std::vector<ChangedPosition> out(clean.odds.size());
  run_parts(compute, out.size(), [&](std::size_t position) {
    const std::span<const float> q = row_of(changed, position),
                                 p = row_of(clean.logits.view(), position);
    const std::span<const float> weights = row_of(clean.probabilities.view(), position);
    ChangedPosition& found = out[position];
    const SoftmaxSum of_q = softmax_sum(q, compute);
    found.log_sum = of_q.log_sum;
    found.changed = is_first_elsewhere(of_q.largest, q, clean.odds[position].most_likely);
    // Σ p (log p − log q) with unnormalized logits; the log-sums of both softmaxes are added below.
    const double sum = weighted_difference(weights, p, q, compute);
    found.kl = std::max(0.0, sum - clean.odds[position].log_sum + found.log_sum);
  });
  return out;
}

double loss_of(MatrixView<const float> logits, std::size_t position, double log_sum,
               std::int64_t token) {
  return log_sum - static_cast<double>(logits(static_cast<std::int64_t>(position), token));
}

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
                              .loss = std::vector<double>(sequences, 0),
                              .kl = std::vector<double>(sequences, 0),
                              .changed = std::vector<double>(sequences, 0),
                              .direct = std::vector<double>(head_ ? sequences : 0, 0)});
    }
  }

  LayerAblation run() {
    const Replacements replacements(layer_, request_.how,
                                    layer_.rows() / std::ssize(texts_.inputs));
    std::size_t first_place = 0;
    for (const TextChunk& text : layer_.chunks()) {
      Chunk chunk{.text = text, .first_place = first_place};
      for (std::size_t at = 0; at < text.texts.size(); ++at) {
        chunk.places += static_cast<std::size_t>(texts_.of_sequence[text.first + at]);
      }
      first_place += chunk.places;
      if (chunk.places == 0) continue;  // none of its tokens is scored
      const std::vector<std::int64_t> rows = place_rows(chunk);
      const CleanLogits clean = run_clean(chunk, rows);
      layer_.run_replaced(
          text, parts_, replacements.of(text),
          [&](std::size_t part, MatrixView<const float> states) {
            measure(chunk, clean,
                    finite_logits(pass_, picked_rows(states, rows).view(), room_, compute_),
                    out_.effects[part]);
          });
    }
    return std::move(out_);
  }

 private:
  struct Chunk {
    const TextChunk& text;
    std::size_t first_place = 0, places = 0;
  };

  /// Returns the rows of the scored positions within the chunk's states.
  std::vector<std::int64_t> place_rows(const Chunk& chunk) const {
    std::vector<std::int64_t> rows;
    for (std::size_t at = 0; at < chunk.places; ++at) {
      rows.push_back(texts_.rows[chunk.first_place + at] - chunk.text.first_row);
    }
    return rows;
  }

  /// Calls visit(position in the chunk, sequence, token or −1) for each scored position.
  template <class Visit>
  void for_positions(const Chunk& chunk, const Visit& visit) const {
    std::size_t position = 0;
    for (std::size_t at = 0; at < chunk.text.texts.size(); ++at) {
      const std::size_t sequence = chunk.text.first + at;
      for (std::int64_t left = texts_.of_sequence[sequence]; left > 0; --left, ++position) {
        visit(position, sequence, texts_.tokens[chunk.first_place + position]);
      }
    }
  }

  CleanLogits run_clean(const Chunk& chunk, const std::vector<std::int64_t>& rows) {
    std::vector<double> scales;
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (!head_ || index < pass_.model().dimensions().layers) return;
      scales = head_->scales(picked_rows(stream, rows).view());
    };
    const Matrix<float> states = layer_.run(chunk.text, observer);
    CleanLogits clean = clean_logits(
        finite_logits(pass_, picked_rows(states.view(), rows).view(), compute_), compute_);
    for_positions(chunk, [&](std::size_t position, std::size_t sequence, std::int64_t token) {
      if (token < 0) return;
      ++out_.predicted[sequence];
      out_.loss[sequence] +=
          loss_of(clean.logits.view(), position, clean.odds[position].log_sum, token);
    });
    if (head_) add_direct(chunk, rows, scales);
    return clean;
  }

  /// Adds the direct effect of each component on the logits of the text's tokens.
  void add_direct(const Chunk& chunk, const std::vector<std::int64_t>& rows,
                  const std::vector<double>& scales) {
    const std::span<const std::int64_t> tokens =
        std::span(texts_.tokens).subspan(chunk.first_place, chunk.places);
    const Matrix<float> directions = head_->directions(tokens);
    const std::int64_t layer = request_.place.layer;
    const bool across = request_.place.of == LayerInStack::Of::cross;
    const LayerWeights& weights = pass_.weights().layers[static_cast<std::size_t>(layer)];
    std::vector<std::int64_t> of_layer;  // the same rows, counted over all chunks
    for (const std::int64_t row : rows) of_layer.push_back(chunk.text.first_row + row);
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
      for_positions(chunk, [&](std::size_t position, std::size_t sequence, std::int64_t token) {
        if (token < 0) return;
        const auto at = static_cast<std::int64_t>(position);
        const float* written = &(*columns.all)(of_layer[position], columns.first);
        const double product =
            is_mlp ? factor * row_product(written, &to_mlp(at, 0), columns.count)
                   : row_product(written, &through(at, columns.first), columns.count);
        effect.direct[sequence] += product / scales[position];
      });
    }
  }

  void measure(const Chunk& chunk, const CleanLogits& clean, MatrixView<const float> logits,
               AblationEffect& effect) const {
    const std::vector<ChangedPosition> positions = compare_logits(clean, logits, compute_);
    for_positions(chunk, [&](std::size_t position, std::size_t sequence, std::int64_t token) {
      const ChangedPosition& found = positions[position];
      effect.kl[sequence] += found.kl;
      effect.changed[sequence] += found.changed ? 1 : 0;
      if (token < 0) return;
      effect.loss[sequence] += loss_of(logits, position, found.log_sum, token);
    });
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

std::vector<float> column_means(const Matrix<float>& rows) {
  std::vector<double> sums(static_cast<std::size_t>(rows.cols()), 0.0);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t col = 0; col < rows.cols(); ++col) {
      sums[static_cast<std::size_t>(col)] += static_cast<double>(rows(row, col));
    }
  }
  std::vector<float> means;
  for (const double sum : sums) {
    means.push_back(static_cast<float>(sum / static_cast<double>(rows.rows())));
  }
  return means;
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
    for (std::int64_t row = 0; row < out.rows; ++row) {
      float* to = &out(row, 0);
      if (how_ == Replacement::zero) {
        std::fill_n(to, out.cols, 0.0F);
      } else if (how_ == Replacement::mean) {
        std::copy_n(means.data() + columns.first, out.cols, to);
      } else {
        const std::int64_t from = (chunk.first_part_row + row + length_) % layer_.rows();
        std::copy_n(&(*columns.all)(from, columns.first), out.cols, to);
      }
    }
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
