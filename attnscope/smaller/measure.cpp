#include "attnscope/smaller/measure.h"

#include <algorithm>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/forward/foretold_places.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/sized.h"
#include "attnscope/forward/token_scores.h"
#include "attnscope/smaller/forms.h"
#include "attnscope/tokens/token_windows.h"

namespace attnscope {
namespace {

/// Windows with masks, and what they hide.
struct Masked {
  std::vector<TokenIds> windows;
  std::vector<std::int64_t> rows;  // of the masks, of all windows' together
  TokenIds hidden;
};

Masked with_masks(const TextWindows& text) {
  constexpr std::size_t kFirst = kFewestMaskedTokens - 2, kEvery = 7;  // about 15 %, as in training
  Masked out{.windows = {text.windows.begin(), text.windows.end()}, .rows = {}, .hidden = {}};
  std::int64_t first = 0;
  for (std::size_t number = 0; number < out.windows.size(); ++number) {
    TokenIds& window = out.windows[number];
    const auto hide = [&](std::size_t at) {
      out.rows.push_back(first + static_cast<std::int64_t>(at));
      out.hidden.push_back(std::exchange(window[at], *text.mask));
    };
    if (text.scored.empty()) {
      for (std::size_t at = kFirst; at + 1 < window.size(); at += kEvery) hide(at);
    } else {
      const auto own = scored_rows(text.scored[number], /*writes=*/false);
      for (std::size_t at = 0; at < own.size(); at += kEvery) {
        hide(static_cast<std::size_t>(own[at]));
      }
    }
    first += std::ssize(window);
  }
  return out;
}

double masked_nll(const ForwardPass& pass, const Masked& text, const Compute& compute) {
  check_token_ids(text.hidden, pass.logits_width(), pass.model().name());
  const Matrix<float> states = pass.run(text.windows, {}, compute);
  const Matrix<float> masks = picked_rows(states.view(), text.rows);
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
    if (!text.scored.empty()) batch.scored = text.scored.subspan(first, end - first);
    first = end;
  }
  return out;
}

std::int64_t count_predicted(const TextWindows& text) {
  std::int64_t count = 0;
  for (const TokenIds& window : text.windows) count += std::ssize(window) - 1;
  if (text.scored.empty()) return count;
  count = 0;
  for (const TokenIds& flags : text.scored) {
    count += std::count(flags.begin() + 1, flags.end(), 1);
  }
  return count;
}

double sum_of_scored(const std::vector<std::vector<double>>& losses,
                     std::span<const TokenIds> scored) {
  double sum = 0;
  for (std::size_t window = 0; window < losses.size(); ++window) {
    double own = 0;
    for (std::size_t at = 0; at < losses[window].size(); ++at) {
      if (scored.empty() || scored[window][at + 1] != 0) own += losses[window][at];
    }
    sum += own;
  }
  return sum;
}

std::vector<std::int64_t> rows_that_count(const TextWindows& text, const Model& model) {
  const bool of_sources = !text.sources.empty() && model.stack() == "encoder";
  const std::int64_t unseen = text.sources.empty() ? 0 : 1;  // a target's last token is not run
  std::vector<std::int64_t> rows;
  std::int64_t first = 0;
  for (std::size_t window = 0; window < text.windows.size(); ++window) {
    const std::int64_t count =
        of_sources ? std::ssize(text.sources[window]) : std::ssize(text.windows[window]) - unseen;
    if (of_sources || text.scored.empty()) {
      for (std::int64_t row = 0; row < count; ++row) rows.push_back(first + row);
    } else {
      for (const std::int64_t row : scored_rows(text.scored[window], !text.mask.has_value())) {
        rows.push_back(first + row);
      }
    }
    first += count;
  }
  return rows;
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
      const Masked masked = with_masks(batch);
      sum += masked_nll(pass, masked, compute);
      predicted += std::ssize(masked.rows);
      continue;
    }
    if (!text.sources.empty()) {
      std::vector<TargetPair> pairs;
      for (std::size_t at = 0; at < batch.windows.size(); ++at) {
        pairs.push_back({.source = batch.sources[at], .target = batch.windows[at]});
      }
      predicted += count_predicted(batch);
      sum += sum_of_scored(pair_losses(pass, pairs, compute), batch.scored);
      continue;
    }
    const JoinedTexts texts = joined_texts(batch.windows);
    predicted += count_predicted(batch);
    sum += sum_of_scored(window_losses(pass, texts.tokens, texts.windows, compute), batch.scored);
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, predicted));
}

Divergence::Divergence(const ForwardPass& pass, const TextWindows& text, const Compute& compute)
    : pass_(pass),
      sources_(text.sources.begin(), text.sources.end()),
      copy_weights_(text.copy_weights) {
  if (text.mask) {
    Masked masked = with_masks(text);
    windows_ = std::move(masked.windows);
    rows_ = std::move(masked.rows);
    if (rows_.empty() && text.scored.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "probe_tokens",
                                     .problem = "are too few for one of them to be masked: at "
                                                "least " +
                                                std::to_string(kFewestMaskedTokens)});
    }
  } else {
    windows_.assign(text.windows.begin(), text.windows.end());
    rows_ = rows_that_count(text, pass.model());
  }
  if (rows_.empty()) {
    throw Error(
        ErrorKind::usage,
        {.parameter = "probe_tokens",
         .problem = "the first " + counted(count_predicted({.windows = windows_}), "token") +
                    " that are probed hold none of {score_positions}",
         .hint = "raise {probe_tokens}"});
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
