#include "attnscope/smaller/measure.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/sized.h"
#include "attnscope/forward/token_scores.h"
#include "attnscope/smaller/forms.h"
#include "attnscope/tokens/token_windows.h"

namespace attnscope {
namespace {

Matrix<float> rows_at(MatrixView<const float> states, const std::vector<std::int64_t>& rows) {
  Matrix<float> out(std::ssize(rows), states.cols);
  for (std::int64_t row = 0; row < out.rows(); ++row) {
    std::copy_n(&states(rows[static_cast<std::size_t>(row)], 0), states.cols, &out(row, 0));
  }
  return out;
}

/// Windows with masks, and what they hide.
struct Masked {
  std::vector<TokenIds> windows;
  std::vector<std::int64_t> rows;  // of the masks, of all windows' together
  TokenIds hidden;
};

Masked with_masks(std::span<const TokenIds> windows, std::int64_t mask) {
  constexpr std::size_t kFirst = kFewestMaskedTokens - 2, kEvery = 7;  // about 15 %, as in training
  Masked out{.windows = {windows.begin(), windows.end()}, .rows = {}, .hidden = {}};
  std::int64_t first = 0;
  for (TokenIds& window : out.windows) {
    for (std::size_t at = kFirst; at + 1 < window.size(); at += kEvery) {
      out.rows.push_back(first + static_cast<std::int64_t>(at));
      out.hidden.push_back(std::exchange(window[at], mask));
    }
    first += std::ssize(window);
  }
  return out;
}

double masked_nll(const ForwardPass& pass, const Masked& text, const Compute& compute) {
  check_token_ids(text.hidden, pass.logits_width(), pass.model().name());
  const Matrix<float> states = pass.run(text.windows, {}, compute);
  const Matrix<float> masks = rows_at(states.view(), text.rows);
  double sum = 0;
  for_logits(
      pass, masks.view(),
      [&](std::int64_t first, MatrixView<const float> logits) {
        const auto hidden =
            std::span(text.hidden)
                .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(logits.rows));
        for (const double loss : token_losses(logits, hidden, compute)) sum += loss;
      },
      compute);
  return sum;
}

}  // namespace

std::vector<TextWindows> batches_of(const TextWindows& text) {
  constexpr std::int64_t kRows = 512;
  const auto rows_of = [&](std::size_t at) {
    const std::int64_t source = text.sources.empty() ? 0 : std::ssize(text.sources[at]);
    return source + std::ssize(text.windows[at]);
  };
  std::vector<TextWindows> out;
  for (std::size_t first = 0; first < text.windows.size();) {
    std::int64_t rows = rows_of(first);
    std::size_t end = first + 1;
    while (end < text.windows.size() && rows + rows_of(end) <= kRows) rows += rows_of(end++);
    TextWindows& batch = out.emplace_back(text);
    batch.windows = text.windows.subspan(first, end - first);
    if (!text.sources.empty()) batch.sources = text.sources.subspan(first, end - first);
    first = end;
  }
  return out;
}

Matrix<float> run_windows(const ForwardPass& pass, const TextWindows& batch,
                          const ForwardObserver& observer, const Compute& compute) {
  if (batch.sources.empty()) return pass.run(batch.windows, observer, compute);
  if (pass.encoder() == nullptr) return pass.run(batch.sources, observer, compute);
  std::vector<TokenIds> inputs;
  for (const TokenIds& window : batch.windows)
    inputs.emplace_back(window.begin(), window.end() - 1);
  const Memory memory = pass.encode(batch.sources, {}, compute);
  return pass.run(inputs, observer, compute, {}, &memory);
}

Model foretelling(const Model& model) {
  return model.stack() == "encoder" ? model.beside("decoder") : model;
}

double mean_nll(const Model& given, const TextWindows& text, const Compute& compute) {
  const Model model = foretelling(given);
  return mean_nll(ForwardPass(model, text.copy_weights, compute), text, compute);
}

double mean_nll(const ForwardPass& pass, const TextWindows& text, const Compute& compute) {
  double sum = 0;
  std::int64_t predicted = 0;
  for (const TextWindows& batch : batches_of(text)) {
    compute.check_stop();
    if (text.mask) {
      const Masked masked = with_masks(batch.windows, *text.mask);
      sum += masked_nll(pass, masked, compute);
      predicted += std::ssize(masked.rows);
      continue;
    }
    if (!text.sources.empty()) {
      std::vector<TargetPair> pairs;
      for (std::size_t at = 0; at < batch.windows.size(); ++at) {
        pairs.push_back({.source = batch.sources[at], .target = batch.windows[at]});
        predicted += std::ssize(batch.windows[at]) - 1;
      }
      for (const double own : negative_log_likelihoods(pass, pairs, compute)) sum += own;
      continue;
    }
    const JoinedTexts texts = joined_texts(batch.windows);
    predicted += texts.predicted;
    for (const double own : negative_log_likelihoods(pass, texts.tokens, texts.windows, compute)) {
      sum += own;
    }
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, predicted));
}

Divergence::Divergence(const ForwardPass& pass, const TextWindows& text, const Compute& compute)
    : pass_(pass),
      sources_(text.sources.begin(), text.sources.end()),
      copy_weights_(text.copy_weights) {
  if (text.mask) {
    Masked masked = with_masks(text.windows, *text.mask);
    windows_ = std::move(masked.windows);
    rows_ = std::move(masked.rows);
    if (rows_.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "probe_tokens",
                                     .problem = "are too few for one of them to be masked: at "
                                                "least " +
                                                std::to_string(kFewestMaskedTokens)});
    }
  } else {
    windows_.assign(text.windows.begin(), text.windows.end());
    std::size_t rows = 0;
    for (const TokenIds& window : windows_) rows += window.size() - (sources_.empty() ? 0 : 1);
    rows_.resize(rows);
    std::iota(rows_.begin(), rows_.end(), std::int64_t{0});
  }
  const Model& model = pass.model();
  // A layer alone is layer 0, whose scores some divide by another number.
  const std::vector<LayerSpec>& layers = model.spec().layers;
  const bool scaled_alike = std::ranges::all_of(layers, [&](const LayerSpec& layer) {
    return layer.attention.scale == layers.front().attention.scale;
  });
  cuts_ = !text.mask && sources_.empty() && why_not(model, Form::layers).empty() && scaled_alike &&
          pass_.may_start_between();
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
    const Model whole = foretelling(changed);
    return run_windows(ForwardPass(whole, copy_weights_, compute),
                       {.windows = windows_, .sources = sources_}, {}, compute);
  }
  const Model alone = without_layers(changed, {layer}).open();
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
  return rows_at(last_states(changed.open(), layer, compute).view(), rows_);
}

std::vector<double> Divergence::of(std::span<const Matrix<float>> last,
                                   const Compute& compute) const {
  const Matrix<float> own = rows_at(states_.back().view(), rows_);
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
