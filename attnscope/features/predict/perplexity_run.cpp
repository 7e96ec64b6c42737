// Perplexity of the windows of a text, run in batches.
#include "attnscope/features/predict/perplexity_run.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/summary.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

/// Mean loss and perplexity over windows in text order, with standard errors from blocks. At least
/// one window must have a loss.
Record perplexity_summary(std::int64_t tokens, std::span<const std::vector<double>> windows) {
  double sum = 0;
  std::vector<double> all;
  for (const std::vector<double>& losses : windows) {
    sum += std::accumulate(losses.begin(), losses.end(), 0.0);
    all.insert(all.end(), losses.begin(), losses.end());
  }
  const double mean = sum / static_cast<double>(all.size());
  const std::optional<double> error = block_standard_error(all);
  // By the delta method, since d exp(x) / dx = exp(x).
  const auto of_perplexity = error ? std::optional(*error * std::exp(mean)) : std::nullopt;
  return {{"tokens", tokens},
          {"predicted", std::ssize(all)},
          {"mean_nll", mean},
          {"mean_nll_error", error},
          {"perplexity", std::exp(mean)},
          {"perplexity_error", of_perplexity}};
}

/// The windows of one model's examples.
struct Windows {
  TokenIds tokens;                     // of all examples, concatenated
  TokenIds scored;                     // 1 if the token is scored, else 0; empty: all are
  std::vector<PerplexityWindow> all;   // of `tokens`
  std::vector<std::int64_t> examples;  // per window: its example
  std::vector<std::int64_t> starts;    // per example: its start in `tokens`
  std::int64_t longest = 0;            // window length
  std::vector<std::vector<double>>
      losses;  // per window: losses of its scored tokens, after its run

  /// Keeps only the losses of the scored tokens.
  std::vector<double> scored_losses(const PerplexityWindow& window,
                                    std::vector<double> of_all) const {
    if (scored.empty()) return of_all;
    std::vector<double> kept;
    const std::int64_t first = window.first + window.length - std::ssize(of_all);
    for (std::size_t at = 0; at < of_all.size(); ++at) {
      if (scored[static_cast<std::size_t>(first) + at] != 0) kept.push_back(of_all[at]);
    }
    return kept;
  }
};

/// Throws Error if the model predicts no next tokens.
void check_perplexity(const ForwardPass& pass) {
  const Model& model = pass.model();
  if (!model.spec().causal) {
    throw Error(
        ErrorKind::unsupported,
        {.parameter = "perplexity",
         .problem = model.name() + " has bidirectional attention, so it does not predict next "
                                   "tokens"});
  }
  pass.check_head();
  if (!pass.no_logits().empty()) {
    throw Error(ErrorKind::unsupported, {.file = model.checkpoint().main_file().string(),
                                         .problem = "no logits: " + verbatim(pass.no_logits())});
  }
}

std::vector<PerplexityWindow> windows_of(const ForwardPass& pass, const TokenIds& text,
                                         std::optional<std::int64_t> asked) {
  const Model& model = pass.model();
  const std::int64_t tokens = std::ssize(text);
  if (tokens < 2) {
    throw Error(ErrorKind::usage,
                {.parameter = "perplexity",
                 .problem = "a text of " + counted(tokens, "token") + " has no token to predict"});
  }
  const std::int64_t context = context_of(pass);
  const std::int64_t stride = asked.value_or(context);
  if (stride > context) {
    throw Error(ErrorKind::usage,
                {.parameter = "stride",
                 .problem = std::to_string(stride) + " exceeds the context length of " +
                            model.name() + ", " + counted(context, "token")});
  }
  const std::int64_t length = std::min(context, tokens);
  return perplexity_windows(tokens, length, std::min(stride, length));
}

Windows windows_of_all(const ForwardPass& pass, const PerplexityRequest& request,
                       std::size_t index) {
  check_perplexity(pass);
  Windows out;
  const std::vector<TokenIds>& examples = request.texts[index];
  for (std::size_t example = 0; example < examples.size(); ++example) {
    const TokenIds& text = examples[example];
    out.starts.push_back(std::ssize(out.tokens));
    for (PerplexityWindow window : windows_of(pass, text, request.stride)) {
      window.first += out.starts.back();
      out.longest = std::max(out.longest, window.length);
      out.all.push_back(window);
      out.examples.push_back(static_cast<std::int64_t>(example));
    }
    out.tokens.insert(out.tokens.end(), text.begin(), text.end());
  }
  for (const TokenIds& flags : request.scored_of(index)) {
    out.scored.insert(out.scored.end(), flags.begin(), flags.end());
  }
  out.losses.resize(out.all.size());
  return out;
}

void add_perplexity_rows(const std::string& model, const Windows& windows, bool lines,
                         RowSink& sink) {
  for (std::size_t at = 0; at < windows.all.size(); ++at) {
    const PerplexityWindow& window = windows.all[at];
    const std::vector<double>& losses = windows.losses[at];
    Value mean;
    if (!losses.empty()) {
      mean =
          std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
    }
    const std::int64_t example = windows.examples[at];
    Record row = {{"model", model}, {"window", static_cast<std::int64_t>(at)}};
    if (lines) row.add("example", example);
    row.add("first", window.first - windows.starts[static_cast<std::size_t>(example)])
        .add("length", window.length)
        .add("predicted", std::ssize(losses))
        .add("mean_nll", mean);
    sink.add_row(std::move(row));
  }
}

}  // namespace

void run_perplexity(std::span<const Model> models, const PerplexityRequest& request,
                    const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<Windows> windows;
  for (std::size_t index = 0; index < models.size(); ++index) {
    windows.push_back(windows_of_all(ready.pass(index), request, index));
  }
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    Windows& of_model = windows[index];
    const std::int64_t length = of_model.longest;
    const auto each = static_cast<std::size_t>(sequences_at_once(length));
    for (std::size_t first = 0; first < of_model.all.size(); first += each) {
      const std::size_t count = std::min(each, of_model.all.size() - first);
      items.push_back({.flops = static_cast<double>(count) * static_cast<double>(length) *
                                static_cast<double>(forward_weights_bytes(models[index])),
                       .memory_bytes = run_bytes(models[index].spec(),
                                                 static_cast<std::int64_t>(count), length),
                       .run = [&, index, first, count](const Compute& compute) {
                         Windows& own = windows[index];
                         RunEdits edits(ready.pass(index), context.watchers, compute);
                         auto losses = window_losses(ready.pass(index), own.tokens,
                                                     std::span(own.all).subspan(first, count),
                                                     compute, edits.hooks());
                         for (std::size_t at = 0; at < losses.size(); ++at) {
                           own.losses[first + at] =
                               own.scored_losses(own.all[first + at], std::move(losses[at]));
                         }
                       }});
    }
  }
  run_queue(items, ready.rest(), {}, {"batch", "batches"});

  ReportHead head{.command = "predict", .parameters = {{"perplexity", true}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  head.parameters.add("stride", request.stride);
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(summarize(models[index]));
    facts.add("perplexity",
              perplexity_summary(std::ssize(windows[index].tokens), windows[index].losses));
    head.models.push_back(std::move(facts));
  }
  const bool lines = request.text.find("lines") != nullptr;
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    add_perplexity_rows(models[index].name(), windows[index], lines, sink);
  }
  sink.end();
}

namespace {

std::int64_t scored_tokens(const TargetPair& pair) { return std::ssize(pair.target) - 1; }

void check_pairs(const ForwardPass& pass, std::span<const TargetPair> pairs) {
  pass.check_head();
  if (!pass.no_logits().empty()) {
    throw Error(ErrorKind::unsupported, {.file = pass.model().checkpoint().main_file().string(),
                                         .problem = "no logits: " + verbatim(pass.no_logits())});
  }
  for (const TargetPair& pair : pairs) {
    if (scored_tokens(pair) < 1) {
      throw Error(ErrorKind::usage,
                  {.parameter = "perplexity",
                   .problem = "a target of " + counted(std::ssize(pair.target), "token") +
                              " has no token to predict"});
    }
    pass.encoder()->check(pair.source);
    pass.check({pair.target.begin(), pair.target.end() - 1});
  }
}

void note_long_pairs(const ForwardPass& pass, std::span<const TargetPair> pairs, RowSink& sink) {
  std::vector<TokenIds> targets, sources;
  for (const TargetPair& pair : pairs) {
    targets.push_back(pair.target);
    sources.push_back(pair.source);
  }
  note_past_context(pass, targets, sources, sink);
}

std::int64_t target_tokens_of(std::span<const TargetPair> pairs) {
  std::int64_t tokens = 0;
  for (const TargetPair& pair : pairs) tokens += std::ssize(pair.target);
  return tokens;
}

/// Keeps only the losses of the scored tokens. Takes the losses of all target tokens except the
/// first.
void keep_scored(const TokenIds& scored, std::vector<double>& losses) {
  std::vector<double> kept;
  for (std::size_t at = 0; at < losses.size(); ++at) {
    if (scored[at + 1] != 0) kept.push_back(losses[at]);
  }
  losses = std::move(kept);
}

/// Ends of batches of adjacent pairs. Each batch has as many pairs as run efficiently together.
std::vector<std::size_t> batch_ends(std::span<const TargetPair> pairs) {
  std::vector<std::size_t> ends;
  std::int64_t longest = 0, count = 0;
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    const std::int64_t own = std::max(std::ssize(pairs[at].source), std::ssize(pairs[at].target));
    longest = std::max(longest, own);
    if (count > 0 && count + 1 > sequences_at_once(longest)) {
      ends.push_back(at);
      longest = own;
      count = 0;
    }
    ++count;
  }
  ends.push_back(pairs.size());
  return ends;
}

}  // namespace

void run_target_perplexity(std::span<const Model> models, const TargetPerplexityRequest& request,
                           const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<std::vector<std::vector<double>>> losses;  // of each model's pairs, of their tokens
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::vector<TargetPair>& pairs = request.pairs[index];
    check_pairs(ready.pass(index), pairs);
    note_long_pairs(ready.pass(index), pairs, sink);
    losses.emplace_back(pairs.size());
  }
  for (std::size_t index = 0; index < models.size(); ++index) {
    const std::span<const TargetPair> pairs = request.pairs[index];
    std::size_t first = 0;
    for (const std::size_t end : batch_ends(pairs)) {
      const auto own = pairs.subspan(first, end - first);
      std::int64_t source = 1, target = 1;
      for (const TargetPair& pair : own) {
        source = std::max(source, std::ssize(pair.source));
        target = std::max(target, std::ssize(pair.target));
      }
      const auto count = std::ssize(own);
      items.push_back({.flops = static_cast<double>(count * (source + target)) *
                                static_cast<double>(forward_weights_bytes(models[index])),
                       .memory_bytes = run_bytes(models[index], count, target, source),
                       .run = [&, index, first, own](const Compute& compute) {
                         RunEdits edits(ready.pass(index), context.watchers, compute);
                         auto found = pair_losses(ready.pass(index), own, compute, edits.hooks());
                         std::move(found.begin(), found.end(),
                                   losses[index].begin() + static_cast<std::ptrdiff_t>(first));
                       }});
      first = end;
    }
  }
  run_queue(items, ready.rest(), {}, {"batch", "batches"});
  for (std::size_t index = 0; index < request.scored.size(); ++index) {
    for (std::size_t at = 0; at < losses[index].size(); ++at) {
      keep_scored(request.scored[index][at], losses[index][at]);
    }
  }

  ReportHead head{.command = "predict", .parameters = {{"perplexity", true}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  head.parameters.add("stride", Value());
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(summarize(models[index]));
    facts.add("perplexity",
              perplexity_summary(target_tokens_of(request.pairs[index]), losses[index]));
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    for (std::size_t at = 0; at < losses[index].size(); ++at) {
      const TargetPair& pair = request.pairs[index][at];
      const std::vector<double>& own = losses[index][at];
      const double sum = std::accumulate(own.begin(), own.end(), 0.0);
      const auto count = std::ssize(own);
      sink.add_row({{"model", models[index].name()},
                    {"window", static_cast<std::int64_t>(at)},
                    {"first", 0},
                    {"length", std::ssize(pair.target)},
                    {"predicted", count},
                    {"mean_nll", count > 0 ? Value(sum / static_cast<double>(count)) : Value()}});
    }
  }
  sink.end();
}

}  // namespace attnscope
