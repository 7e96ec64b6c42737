#include "attnscope/features/common/calibration/removal_loss.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/perplexity.h"

namespace attnscope {
namespace {

using Windows = std::span<const TokenIds>;
using EnterFn = std::function<void(std::int64_t layer, MatrixView<const float> stream)>;

Matrix<float> entering_stream(const ForwardPass& pass, Windows windows, const Compute& compute) {
  Matrix<float> stream;
  ForwardObserver observer{.on_stream = [&](std::int64_t index, MatrixView<const float> seen) {
    if (index == 0) stream = copied(seen);
  }};
  observer.end_after_layer = 0;
  pass.run(windows, observer, compute);
  return stream;
}

/// Runs from the residual stream before a layer to the output of run(), without the layers in
/// `gone`. `on_enter`: called with the input of each remaining layer.
Matrix<float> run_without(const ForwardPass& pass, Windows windows, std::int64_t layer,
                          MatrixView<const float> entering, const std::set<std::int64_t>& gone,
                          const EnterFn& on_enter, const Compute& compute) {
  Matrix<float> stream = copied(entering);
  for (;;) {
    while (gone.contains(layer)) ++layer;
    const auto next_gone = gone.lower_bound(layer);
    const PassStart start{.layer = layer, .stream = stream.view()};
    if (next_gone == gone.end()) {
      return pass.run_from(start, windows, {.on_stream = on_enter}, compute);
    }
    Matrix<float> after;
    ForwardObserver observer{.on_stream = [&](std::int64_t index, MatrixView<const float> seen) {
      if (index == *next_gone) {
        after = copied(seen);
      } else if (on_enter) {
        on_enter(index, seen);
      }
    }};
    observer.end_after_layer = *next_gone - 1;
    pass.run_from(start, windows, observer, compute);
    stream = std::move(after);
    layer = *next_gone;
  }
}

}  // namespace

std::vector<double> mean_nll_without(const ForwardPass& pass, const TextWindows& text,
                                     const std::set<std::int64_t>& gone,
                                     std::span<const std::int64_t> candidates,
                                     const Compute& compute) {
  std::vector<double> sums(candidates.size(), 0.0);
  std::int64_t predicted = 0;
  for (const TextWindows& part : batches_of(text)) {
    const Windows batch = part.windows;
    const JoinedTexts texts = joined_texts(batch);
    predicted += count_predicted(part);
    const auto measure = [&](std::int64_t layer, MatrixView<const float> stream) {
      const auto found = std::find(candidates.begin(), candidates.end(), layer);
      if (found == candidates.end()) return;
      compute.check_stop();
      const Matrix<float> states =
          run_without(pass, batch, layer + 1, stream, gone, /*on_enter=*/{}, compute);
      sums[static_cast<std::size_t>(found - candidates.begin())] += sum_of_scored(
          window_losses(pass, states.view(), texts.tokens, texts.windows, compute), part.scored);
    };
    const Matrix<float> stream = entering_stream(pass, batch, compute);
    run_without(pass, batch, /*layer=*/0, stream.view(), gone, measure, compute);
  }
  for (double& sum : sums) sum /= static_cast<double>(std::max<std::int64_t>(1, predicted));
  return sums;
}

std::vector<NllWithoutPart> mean_nll_without_parts(const ForwardPass& pass, const TextWindows& text,
                                                   const Compute& compute) {
  std::vector<NllWithoutPart> sums(static_cast<std::size_t>(pass.model().dimensions().layers));
  std::int64_t predicted = 0;
  for (const TextWindows& part : batches_of(text)) {
    const Windows batch = part.windows;
    const JoinedTexts texts = joined_texts(batch);
    predicted += count_predicted(part);
    const auto nll_from = [&](const PassStart& start, const ForwardObserver& observer) {
      compute.check_stop();
      const Matrix<float> states = pass.run_from(start, batch, observer, compute);
      return sum_of_scored(window_losses(pass, states.view(), texts.tokens, texts.windows, compute),
                           part.scored);
    };
    const auto nll_without_mlp = [&](const PassStart& start) {
      bool there = false;
      ForwardObserver observer{.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
        if (layer != start.layer) return;
        there = true;
        for (std::int64_t row = 0; row < output.rows; ++row) {
          std::fill_n(&output(row, 0), output.cols, 0.0F);
        }
      }};
      const double nll = nll_from(start, observer);
      return there ? nll : std::numeric_limits<double>::quiet_NaN();
    };
    ForwardObserver observer;
    const auto add = [&](const PassStart& start) {
      NllWithoutPart& own = sums[static_cast<std::size_t>(start.layer)];
      own.attention +=
          nll_from({.layer = start.layer, .stream = start.stream, .attends = false}, {});
      own.mlp += nll_without_mlp(start);
    };
    // The heads of a layer are computed once. Mixers are computed again without the MLP.
    const Dimensions& dimensions = pass.model().dimensions();
    const auto has_only_heads = [&](std::int64_t layer) {
      return dimensions.attends(layer) && !dimensions.mixes(layer);
    };
    Matrix<float> before;
    observer.on_stream = [&](std::int64_t layer, MatrixView<const float> stream) {
      if (layer == dimensions.layers) return;
      if (!has_only_heads(layer)) return add({.layer = layer, .stream = stream});
      before = copied(stream);
    };
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
      if (!has_only_heads(layer)) return;
      add({.layer = layer, .stream = before.view(), .heads = heads});
    };
    pass.run(batch, observer, compute);
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(1, predicted));
  for (NllWithoutPart& own : sums) {
    own.attention /= count;
    own.mlp /= count;
  }
  return sums;
}

}  // namespace attnscope
