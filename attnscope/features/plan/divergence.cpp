#include "attnscope/features/plan/divergence.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/depth.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {

Divergence::Divergence(const ForwardPass& pass, const TextWindows& text, const Compute& compute)
    : pass_(pass),
      sources_(text.sources.begin(), text.sources.end()),
      copy_weights_(text.copy_weights) {
  if (text.mask) {
    MaskedWindows masked = with_masks(text);
    windows_ = std::move(masked.windows);
    rows_ = std::move(masked.rows);
    if (rows_.empty() && text.scored.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "probe_tokens",
                                     .problem = "too few tokens to mask one, expected at least " +
                                                std::to_string(kFewestMaskedTokens)});
    }
  } else {
    windows_.assign(text.windows.begin(), text.windows.end());
    rows_ = rows_that_count(text, pass.model());
  }
  if (rows_.empty()) {
    throw Error(ErrorKind::usage,
                {.parameter = "probe_tokens",
                 .problem = "none of the first " +
                            counted(count_predicted({.windows = windows_}), "token") +
                            " is selected by {score_positions}",
                 .hint = "raise {probe_tokens}"});
  }
  const Model& model = pass.model();
  // A layer that runs alone has index 0, and some architectures scale scores by the layer index.
  const std::vector<LayerSpec>& layers = model.spec().layers;
  const bool scaled_alike = std::ranges::all_of(layers, [&](const LayerSpec& layer) {
    return layer.attention.scale == layers.front().attention.scale;
  });
  cuts_ = !text.mask && sources_.empty() && why_not(model, depth_method()).empty() &&
          scaled_alike && pass_.may_start_between();
  run_windows(pass_, {.windows = windows_, .sources = sources_},
              {.on_hidden_states =
                   [&](std::int64_t, MatrixView<const float> states) {
                     states_.push_back(copied(states));
                   }},
              compute);
}

Matrix<float> Divergence::last_states(const Model& changed, std::int64_t layer,
                                      const Compute& compute) const {
  if (!cuts_) {
    const Model whole = model_that_predicts(changed);
    return run_windows(ForwardPass(whole, copy_weights_, compute),
                       {.windows = windows_, .sources = sources_}, {}, compute);
  }
  const Model alone = with_layers(changed, {layer}).open();
  Matrix<float> stream;
  ForwardObserver observer{.on_stream = [&](std::int64_t index, MatrixView<const float> seen) {
    if (index == 1) stream = copied(seen);
  }};
  observer.end_after_layer = 0;
  const PassStart start{.layer = 0, .stream = states_[static_cast<std::size_t>(layer)].view()};
  ForwardPass(alone, /*copy_weights=*/false, compute).run_from(start, windows_, observer, compute);
  return pass_.run_from({.layer = layer + 1, .stream = stream.view()}, windows_, {}, compute);
}

Matrix<float> Divergence::states_of(const ChangedModel& changed, std::int64_t layer,
                                    const Compute& compute) const {
  return picked_rows(last_states(changed.open(), layer, compute).view(), rows_);
}

std::vector<double> Divergence::of(std::span<const Matrix<float>> last,
                                   const Compute& compute) const {
  const Matrix<float> own = picked_rows(states_.back().view(), rows_);
  const std::int64_t at_once = std::max<std::int64_t>(1, rows_of_logits(pass_) / 2);
  std::vector<double> sums(last.size(), 0.0);
  Matrix<float> own_room, changed_room;
  for (std::int64_t first = 0; first < own.rows(); first += at_once) {
    compute.check_stop();
    const std::int64_t count = std::min(at_once, own.rows() - first);
    const auto logits_of = [&](const Matrix<float>& states, Matrix<float>& room) {
      return finite_logits(pass_, states.view().row_block(first, count), room, compute);
    };
    const MatrixView<const float> p = logits_of(own, own_room);
    const auto row_of = [](MatrixView<const float> logits, std::size_t row) {
      return std::span<const float>(&logits(static_cast<std::int64_t>(row), 0),
                                    static_cast<std::size_t>(logits.cols));
    };
    std::vector<double> log_sums(static_cast<std::size_t>(count)), each(log_sums.size());
    run_parts(compute, log_sums.size(),
              [&](std::size_t row) { log_sums[row] = log_sum_exp(row_of(p, row), compute); });
    for (std::size_t model = 0; model < last.size(); ++model) {
      const MatrixView<const float> q = logits_of(last[model], changed_room);
      run_parts(compute, each.size(), [&](std::size_t row) {
        const std::span<const float> changed = row_of(q, row);
        each[row] = divergence(row_of(p, row), log_sums[row], changed,
                               log_sum_exp(changed, compute), compute);
      });
      for (const double of_row : each) sums[model] += of_row;
    }
  }
  for (double& sum : sums) sum /= static_cast<double>(std::max<std::int64_t>(1, own.rows()));
  return sums;
}

}  // namespace attnscope
