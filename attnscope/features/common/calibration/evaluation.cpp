#include "attnscope/features/common/calibration/evaluation.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

double masked_nll(const ForwardPass& pass, const MaskedWindows& text, const Compute& compute) {
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

MaskedWindows with_masks(const TextWindows& text) {
  constexpr std::size_t kFirst = kFewestMaskedTokens - 2,
                        kEvery = 7;  // about 15%, as in BERT's training
  MaskedWindows out{
      .windows = {text.windows.begin(), text.windows.end()}, .rows = {}, .hidden = {}};
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
  const std::int64_t unseen =
      text.sources.empty() ? 0 : 1;  // the last token of a target is not an input
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
  const EncoderOutput encoder_output = pass.encode(batch.sources, {}, compute);
  return pass.run(inputs, observer, compute, {}, &encoder_output);
}

Model model_that_predicts(const Model& model) {
  return model.stack() == "encoder" ? model.beside("decoder") : model;
}

double mean_nll(const Model& given, const TextWindows& text, const Compute& compute) {
  const Model model = model_that_predicts(given);
  return mean_nll(ForwardPass(model, text.copy_weights, compute), text, compute);
}

double mean_nll(const ForwardPass& pass, const TextWindows& text, const Compute& compute) {
  double sum = 0;
  std::int64_t predicted = 0;
  for (const TextWindows& batch : batches_of(text)) {
    compute.check_stop();
    if (text.mask) {
      const MaskedWindows masked = with_masks(batch);
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

std::uint64_t PlanMemory::peak() const {
  return moments + copies + smaller + std::max(matrices, smaller_copies + run);
}

std::uint64_t run_bytes_of(const Model& model, const TextWindows& text) {
  constexpr std::uint64_t kProgram = 48 << 20, kMostLogits = 64 << 20;  // see rows_of_logits()
  std::uint64_t most = 0;
  for (const TextWindows& batch : batches_of(text)) {
    const std::int64_t longest = text_rows(batch.windows).longest;
    const std::int64_t source = text_rows(batch.sources).longest;
    const std::int64_t sequences = std::ssize(batch.windows);
    const std::uint64_t logits =
        static_cast<std::uint64_t>(sequences * longest *
                                   model.dimensions().vocabulary.value_or(0)) *
        sizeof(float);
    most = std::max(most,
                    run_bytes(model, sequences, longest, source) + std::min(logits, kMostLogits));
  }
  return most + kProgram;
}

PlanMemory activation_memory(const Model& model, std::span<const TokenIds> windows,
                             const Context& context) {
  const Calibration calibration(model, TextWindows{}, context.memory_bytes / 2, /*ridge=*/0);
  return {.moments = calibration.buffered_bytes(),
          .passes = calibration.passes(),
          .copies = copied_weights_bytes(model, context.memory_bytes),
          .matrices = spectra_bytes(model, /*with_directions=*/false),
          .run = run_bytes_of(model, {.windows = windows})};
}

std::string memory_note(const PlanMemory& memory) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& what, std::uint64_t bytes) {
    if (bytes > 0) parts.push_back(what + ' ' + memory_text(bytes));
  };
  add("second moments", memory.moments);
  add("copies of weights", memory.copies + memory.smaller_copies);
  add("compressed model", memory.smaller);
  add("spectra and factors", memory.matrices);
  add("running the text", memory.run);
  return "peak memory about " + memory_text(memory.peak()) + " on top of the model (" +
         join_words(parts) + "; not all at the same time)" +
         (memory.passes == 1 ? ""
                             : "; the text is run in " + counted(memory.passes, "pass", "passes") +
                                   " because not all second moments fit in memory");
}

}  // namespace attnscope
