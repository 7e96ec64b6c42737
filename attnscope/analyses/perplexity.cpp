// Perplexity: windows of a text, run in batches.
#include <algorithm>
#include <numeric>
#include <string>

#include "attnscope/analyses/perplexity_summary.h"
#include "attnscope/analyses/predict.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analyses/text_length.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/model/inventory.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

/// Of one model's examples.
struct Windows {
  TokenIds tokens;                          // of all examples, one after the other
  TokenIds scored;                          // 1 if a token counts, else 0; empty: all count
  std::vector<PerplexityWindow> all;        // of `tokens`
  std::vector<std::int64_t> examples;       // of each window: which it is of
  std::vector<std::int64_t> starts;         // of each example in `tokens`
  std::int64_t longest = 0;                 // of the windows
  std::vector<std::vector<double>> losses;  // of each window's tokens that count, once it has run

  /// Leaves the losses of the tokens that count.
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
         .problem = model.name() + " sees each text both ways: it foretells no next tokens"});
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
    throw Error(ErrorKind::usage, {.parameter = "perplexity",
                                   .problem = "a text of " + counted(tokens, "token") +
                                              " has none that follows another"});
  }
  const std::int64_t context = context_of(pass);
  const std::int64_t stride = asked.value_or(context);
  if (stride > context) {
    throw Error(ErrorKind::usage,
                {.parameter = "stride",
                 .problem = std::to_string(stride) + " is more than the context of " +
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
                         auto losses =
                             window_losses(ready.pass(index), own.tokens,
                                           std::span(own.all).subspan(first, count), compute);
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
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(model_facts(models[index]));
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

}  // namespace attnscope
