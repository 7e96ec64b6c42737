#include "attnscope/forward/ablation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/forward/changed_logits.h"
#include "attnscope/forward/linear_head.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/sized.h"

namespace attnscope {
namespace {

/// Products of fewer rows read the weights too often.
constexpr std::int64_t kRowsAtOnce = 512;

/// Some of the sequences, which run together: their rows and places are those from `first_row` and
/// `first_place` on.
struct Chunk {
  std::size_t first = 0;
  std::vector<TokenIds> inputs;
  std::int64_t first_row = 0, rows = 0;
  std::size_t first_place = 0, places = 0;
};

struct Variant {
  LayerPart part = LayerPart::head;
  std::optional<std::int64_t> head;
};

std::vector<float> mean_row(const Matrix<float>& rows) {
  std::vector<double> sums(static_cast<std::size_t>(rows.cols()), 0.0);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t col = 0; col < rows.cols(); ++col) {
      sums[static_cast<std::size_t>(col)] += static_cast<double>(rows(row, col));
    }
  }
  std::vector<float> mean;
  for (const double sum : sums) {
    mean.push_back(static_cast<float>(sum / static_cast<double>(rows.rows())));
  }
  return mean;
}

class LayerAblationRun {
 public:
  LayerAblationRun(const ForwardPass& pass, const ForetoldPlaces& texts,
                   const AblationRequest& request, const Compute& compute)
      : pass_(pass), texts_(texts), request_(request), compute_(compute) {
    if (LinearHead::obstacle(pass).empty()) head_.emplace(pass, mean_output_row(pass, compute));
    cut_chunks();
    const std::size_t sequences = texts.inputs.size();
    out_.loss.assign(sequences, 0);
    out_.places = texts.of_sequence;
    out_.predicted.assign(sequences, 0);
    for (const Variant& variant : variants()) {
      out_.effects.push_back({.part = variant.part,
                              .head = variant.head,
                              .loss = std::vector<double>(sequences, 0),
                              .kl = std::vector<double>(sequences, 0),
                              .changed = std::vector<double>(sequences, 0),
                              .direct = std::vector<double>(head_ ? sequences : 0, 0)});
    }
  }

  LayerAblation run() {
    for (const Chunk& chunk : chunks_) keep_clean(chunk);
    if (request_.how == Replacement::mean) {
      mean_heads_ = mean_row(heads_);
      if (mlp_.rows() > 0) mean_mlp_ = mean_row(mlp_);
    }
    for (const Chunk& chunk : chunks_) {
      const CleanLogits clean = run_clean(chunk);
      const auto each =
          static_cast<std::size_t>(std::max<std::int64_t>(1, kRowsAtOnce / chunk.rows));
      for (std::size_t first = 0; first < out_.effects.size();) {
        std::size_t count = 1;
        while (count < each && first + count < out_.effects.size() &&
               out_.effects[first + count].part != LayerPart::mlp &&
               out_.effects[first].part != LayerPart::mlp) {
          ++count;
        }
        run_variants(chunk, clean, std::span(out_.effects).subspan(first, count));
        first += count;
      }
    }
    return std::move(out_);
  }

 private:
  const HeadShape& shape() const {
    return pass_.model().spec().dimensions_of(request_.layer).heads;
  }

  bool has_mlp() const {
    const LayerWeights& layer = pass_.weights().layers[static_cast<std::size_t>(request_.layer)];
    return layer.up != nullptr || layer.experts;
  }

  std::vector<Variant> variants() const {
    std::vector<Variant> out;
    if (request_.attention) out.push_back({.part = LayerPart::attention});
    if (request_.mlp && has_mlp()) out.push_back({.part = LayerPart::mlp});
    for (std::int64_t head = 0; request_.heads && head < shape().heads; ++head) {
      out.push_back({.part = LayerPart::head, .head = head});
    }
    return out;
  }

  void cut_chunks() {
    const std::int64_t most = std::min(kRowsAtOnce, rows_of_logits(pass_));
    Chunk chunk;
    for (std::size_t at = 0; at < texts_.inputs.size(); ++at) {
      const TokenIds& ids = texts_.inputs[at];
      if (chunk.rows > 0 && chunk.rows + std::ssize(ids) > most) {
        const Chunk next{.first = at,
                         .inputs = {},
                         .first_row = chunk.first_row + chunk.rows,
                         .first_place = chunk.first_place + chunk.places};
        chunks_.push_back(std::exchange(chunk, next));
      }
      chunk.inputs.push_back(ids);
      chunk.rows += std::ssize(ids);
      chunk.places += static_cast<std::size_t>(texts_.of_sequence[at]);
    }
    rows_ = chunk.first_row + chunk.rows;
    chunks_.push_back(std::move(chunk));
  }

  void put(Matrix<float>& all, const Chunk& chunk, MatrixView<const float> rows) const {
    if (all.rows() == 0) all = Matrix<float>(rows_, rows.cols);
    copy_into(all.view().row_block(chunk.first_row, chunk.rows), rows);
  }

  /// The layer's stream, heads and MLP.
  void keep_clean(const Chunk& chunk) {
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index == request_.layer) put(stream_, chunk, stream);
    };
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
      if (layer == request_.layer) put(heads_, chunk, heads);
    };
    observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
      if (layer == request_.layer) put(mlp_, chunk, output);
    };
    observer.end_after_layer = request_.layer;
    pass_.run(chunk.inputs, observer, compute_);
  }

  /// Goes on from the layer with these heads; `copies` of the chunk beside each other.
  Matrix<float> run_with(const Chunk& chunk, std::int64_t copies, MatrixView<const float> heads,
                         ForwardObserver observer) const {
    std::vector<TokenIds> inputs;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      inputs.insert(inputs.end(), chunk.inputs.begin(), chunk.inputs.end());
    }
    if (!pass_.may_start_between()) {
      observer.on_heads = [&](std::int64_t layer, MatrixView<float> given) {
        if (layer == request_.layer) copy_into(given, heads);
      };
      return pass_.run(inputs, observer, compute_);
    }
    Matrix<float> stream(copies * chunk.rows, stream_.cols());
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      copy_into(stream.view().row_block(copy * chunk.rows, chunk.rows), rows_of(stream_, chunk));
    }
    return pass_.run_from({.layer = request_.layer, .stream = stream.view(), .heads = heads},
                          inputs, observer, compute_);
  }

  static MatrixView<const float> rows_of(const Matrix<float>& all, const Chunk& chunk) {
    return all.view().row_block(chunk.first_row, chunk.rows);
  }

  /// Of the chunk's own states, the rows of its places.
  std::vector<std::int64_t> place_rows(const Chunk& chunk, std::int64_t from) const {
    std::vector<std::int64_t> rows;
    for (std::size_t at = 0; at < chunk.places; ++at) {
      rows.push_back(texts_.rows[chunk.first_place + at] - chunk.first_row + from);
    }
    return rows;
  }

  /// visit(place of the chunk, sequence, token or −1)
  template <class Visit>
  void for_places(const Chunk& chunk, const Visit& visit) const {
    std::size_t place = 0;
    for (std::size_t at = 0; at < chunk.inputs.size(); ++at) {
      for (std::int64_t left = texts_.of_sequence[chunk.first + at]; left > 0; --left, ++place) {
        visit(place, chunk.first + at, texts_.tokens[chunk.first_place + place]);
      }
    }
  }

  CleanLogits run_clean(const Chunk& chunk) {
    const std::vector<std::int64_t> rows = place_rows(chunk, 0);
    std::vector<double> scales;
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (!head_ || index < pass_.model().dimensions().layers) return;
      scales = head_->scales(picked_rows(stream, rows).view());
    };
    const Matrix<float> states = run_with(chunk, 1, rows_of(heads_, chunk), observer);
    CleanLogits clean = clean_logits(
        finite_logits(pass_, picked_rows(states.view(), rows).view(), compute_), compute_);
    for_places(chunk, [&](std::size_t place, std::size_t sequence, std::int64_t token) {
      if (token < 0) return;
      ++out_.predicted[sequence];
      out_.loss[sequence] += loss_of(clean.logits, place, clean.odds[place].log_sum, token);
    });
    if (head_) add_direct(chunk, rows, scales);
    return clean;
  }

  /// What each part adds itself to the logits of the text's tokens.
  void add_direct(const Chunk& chunk, const std::vector<std::int64_t>& rows,
                  const std::vector<double>& scales) {
    const std::span<const std::int64_t> tokens =
        std::span(texts_.tokens).subspan(chunk.first_place, chunk.places);
    const Matrix<float> directions = head_->directions(tokens);
    const Matrix<float> through =
        head_->through_output(request_.layer, directions.view(), compute_);
    const double factor =
        pass_.model().spec().layers[static_cast<std::size_t>(request_.layer)].branch_factor;
    for (AblationEffect& effect : out_.effects) {
      const bool of_mlp = effect.part == LayerPart::mlp;
      const std::int64_t size = effect.head ? shape().value_dim : heads_.cols();
      const std::int64_t first = effect.head.value_or(0) * shape().value_dim;
      for_places(chunk, [&](std::size_t place, std::size_t sequence, std::int64_t token) {
        if (token < 0) return;
        const auto at = static_cast<std::int64_t>(place);
        const std::int64_t row = chunk.first_row + rows[place];
        const double product =
            of_mlp ? factor * row_product(&mlp_(row, 0), &directions(at, 0), directions.cols())
                   : row_product(&heads_(row, first), &through(at, first), size);
        effect.direct[sequence] += product / scales[place];
      });
    }
  }

  /// Puts what replaces columns of the chunk's rows of `all` in their place.
  void replace(const Matrix<float>& all, const std::vector<float>& mean, const Chunk& chunk,
               std::int64_t first_col, MatrixView<float> out) const {
    const std::int64_t next = std::ssize(texts_.inputs.front());  // rows to the next sequence
    for (std::int64_t row = 0; row < out.rows; ++row) {
      float* to = &out(row, 0);
      if (request_.how == Replacement::zero) {
        std::fill_n(to, out.cols, 0.0F);
      } else if (request_.how == Replacement::mean) {
        std::copy_n(mean.data() + first_col, out.cols, to);
      } else {
        const std::int64_t from = (chunk.first_row + row + next) % rows_;
        std::copy_n(&all(from, first_col), out.cols, to);
      }
    }
  }

  void run_variants(const Chunk& chunk, const CleanLogits& clean,
                    std::span<AblationEffect> effects) {
    const std::int64_t copies = std::ssize(effects), width = heads_.cols();
    Matrix<float> heads(copies * chunk.rows, width);
    ForwardObserver observer;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const AblationEffect& effect = effects[static_cast<std::size_t>(copy)];
      const MatrixView<float> own = heads.view().row_block(copy * chunk.rows, chunk.rows);
      copy_into(own, rows_of(heads_, chunk));
      if (effect.part == LayerPart::mlp) {
        observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
          if (layer == request_.layer) replace(mlp_, mean_mlp_, chunk, 0, output);
        };
        continue;
      }
      const std::int64_t first = effect.head.value_or(0) * shape().value_dim;
      const std::int64_t size = effect.head ? shape().value_dim : width;
      replace(heads_, mean_heads_, chunk, first, own.col_block(first, size));
    }
    const Matrix<float> states = run_with(chunk, copies, heads.view(), observer);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const std::vector<std::int64_t> rows = place_rows(chunk, copy * chunk.rows);
      const Matrix<float> logits =
          finite_logits(pass_, picked_rows(states.view(), rows).view(), compute_);
      measure(chunk, clean, logits, effects[static_cast<std::size_t>(copy)]);
    }
  }

  void measure(const Chunk& chunk, const CleanLogits& clean, const Matrix<float>& logits,
               AblationEffect& effect) const {
    const std::vector<ChangedPlace> places = compare_logits(clean, logits, compute_);
    for_places(chunk, [&](std::size_t place, std::size_t sequence, std::int64_t token) {
      const ChangedPlace& found = places[place];
      effect.kl[sequence] += found.kl;
      effect.changed[sequence] += found.changed ? 1 : 0;
      if (token < 0) return;
      effect.loss[sequence] += loss_of(logits, place, found.log_sum, token);
    });
  }

  const ForwardPass& pass_;
  const ForetoldPlaces& texts_;
  const AblationRequest& request_;
  const Compute& compute_;
  std::optional<LinearHead> head_;
  std::vector<Chunk> chunks_;
  std::int64_t rows_ = 0;               // of all sequences
  Matrix<float> stream_, heads_, mlp_;  // of the layer, all rows
  std::vector<float> mean_heads_, mean_mlp_;
  LayerAblation out_;
};

}  // namespace

LayerAblation ablate_layer(const ForwardPass& pass, const ForetoldPlaces& texts,
                           const AblationRequest& request, const Compute& compute) {
  return LayerAblationRun(pass, texts, request, compute).run();
}

}  // namespace attnscope
