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

/// Of one model's text.
struct Windows {
  std::vector<PerplexityWindow> all;
  std::vector<std::vector<double>> losses;  // of each window, once it has run
};

Windows windows_of(const ForwardPass& pass, const TokenIds& text,
                   std::optional<std::int64_t> asked) {
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
  Windows out{.all = perplexity_windows(tokens, length, std::min(stride, length)), .losses = {}};
  out.losses.resize(out.all.size());
  return out;
}

void add_perplexity_rows(const std::string& model, const Windows& windows, RowSink& sink) {
  for (std::size_t at = 0; at < windows.all.size(); ++at) {
    const PerplexityWindow& window = windows.all[at];
    Value mean;
    if (window.predicted > 0) {
      const std::vector<double>& losses = windows.losses[at];
      mean = std::accumulate(losses.begin(), losses.end(), 0.0) /
             static_cast<double>(window.predicted);
    }
    sink.add_row({{"model", model},
                  {"window", static_cast<std::int64_t>(at)},
                  {"first", window.first},
                  {"length", window.length},
                  {"predicted", window.predicted},
                  {"mean_nll", mean}});
  }
}

}  // namespace

void run_perplexity(std::span<const Model> models, const PerplexityRequest& request,
                    const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<Windows> windows;
  for (std::size_t index = 0; index < models.size(); ++index) {
    windows.push_back(windows_of(ready.pass(index), request.texts[index], request.stride));
  }
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    Windows& of_model = windows[index];
    const std::int64_t length = of_model.all.front().length;
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
                             window_losses(ready.pass(index), request.texts[index],
                                           std::span(own.all).subspan(first, count), compute);
                         std::move(losses.begin(), losses.end(),
                                   own.losses.begin() + static_cast<std::ptrdiff_t>(first));
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
              perplexity_summary(std::ssize(request.texts[index]), windows[index].losses));
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    add_perplexity_rows(models[index].name(), windows[index], sink);
  }
  sink.end();
}

}  // namespace attnscope
