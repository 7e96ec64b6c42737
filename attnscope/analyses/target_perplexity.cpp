#include "attnscope/analyses/target_perplexity.h"

#include <algorithm>
#include <numeric>

#include "attnscope/analyses/perplexity_summary.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analyses/text_length.h"
#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"
#include "attnscope/forward/forward_weights.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

std::int64_t foretold(const TargetPair& pair) { return std::ssize(pair.target) - 1; }

void check_pairs(const ForwardPass& pass, std::span<const TargetPair> pairs) {
  pass.check_head();
  if (!pass.no_logits().empty()) {
    throw Error(ErrorKind::unsupported, {.file = pass.model().checkpoint().main_file().string(),
                                         .problem = "no logits: " + verbatim(pass.no_logits())});
  }
  for (const TargetPair& pair : pairs) {
    if (foretold(pair) < 1) {
      throw Error(ErrorKind::usage,
                  {.parameter = "perplexity",
                   .problem = "a target of " + counted(std::ssize(pair.target), "token") +
                              " has none that follows another"});
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

/// Leaves the losses of the tokens that count, of those of a target's tokens but the first.
void keep_scored(const TokenIds& scored, std::vector<double>& losses) {
  std::vector<double> kept;
  for (std::size_t at = 0; at < losses.size(); ++at) {
    if (scored[at + 1] != 0) kept.push_back(losses[at]);
  }
  losses = std::move(kept);
}

/// Of neighbours, as many as run well together: ends of the batches.
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
                         auto found = pair_losses(ready.pass(index), own, compute);
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
  for (std::size_t index = 0; index < models.size(); ++index) {
    Record facts = facts_record(model_facts(models[index]));
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
