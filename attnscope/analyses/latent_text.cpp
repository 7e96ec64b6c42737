#include "attnscope/analyses/latent_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analyses/text_length.h"
#include "attnscope/core/error.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

/// Over all rows of what their norm divides by.
double sum_of_rms(MatrixView<const float> rows, double epsilon) {
  double sum = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      const auto value = static_cast<double>(rows(row, col));
      squares += value * value;
    }
    sum += std::sqrt(squares / static_cast<double>(rows.cols) + epsilon);
  }
  return sum;
}

/// Of each layer, over the tokens of one batch; added up, over all of them.
struct Sums {
  double queries = 0, keys_and_values = 0;
};

std::vector<Sums> sums_of(const ForwardPass& pass, std::span<const TokenIds> batch,
                          const Compute& compute) {
  const std::vector<LayerSpec>& layers = pass.model().spec().layers;
  std::vector<Sums> sums(layers.size());
  const ForwardObserver observer{.on_latents = [&](const LayerLatents& latents) {
    const auto layer = static_cast<std::size_t>(latents.layer);
    const LatentSpec& spec = *layers[layer].attention.latent;
    sums[layer].keys_and_values = sum_of_rms(latents.keys_and_values, spec.norm.epsilon);
    if (latents.queries.data == nullptr) return;
    sums[layer].queries = sum_of_rms(latents.queries, spec.query_norm->epsilon);
  }};
  pass.run(batch, observer, compute);
  return sums;
}

/// The means of each layer. Batches are added up in their order, whichever ends first.
std::vector<LatentRms> means_of(const Model& model, std::span<const TokenIds> sequences,
                                const Context& context, RowSink& sink) {
  const ReadyModels ready({&model, 1}, context);
  const ForwardPass& pass = ready.pass(0);
  check_inputs(pass, {.tokens = sequences});
  note_past_context(pass, {.tokens = sequences}, sink);
  const std::int64_t tokens = std::ssize(sequences.front());
  const auto each = static_cast<std::size_t>(sequences_at_once(tokens));
  std::vector<std::vector<Sums>> batches((sequences.size() + each - 1) / each);
  std::vector<QueueItem> items;
  for (std::size_t at = 0; at < batches.size(); ++at) {
    const std::size_t first = at * each;
    const auto batch = sequences.subspan(first, std::min(each, sequences.size() - first));
    items.push_back({.flops = static_cast<double>(std::ssize(batch)) * static_cast<double>(tokens) *
                              static_cast<double>(forward_weights_bytes(model)),
                     .memory_bytes = run_bytes(model.spec(), std::ssize(batch), tokens),
                     .run = [&batches, &pass, at, batch](const Compute& compute) {
                       batches[at] = sums_of(pass, batch, compute);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"batch", "batches"});

  const double count = static_cast<double>(sequences.size()) * static_cast<double>(tokens);
  std::vector<LatentRms> means;
  for (std::size_t layer = 0; layer < model.spec().layers.size(); ++layer) {
    Sums all;
    for (const std::vector<Sums>& batch : batches) {
      all.queries += batch[layer].queries;
      all.keys_and_values += batch[layer].keys_and_values;
    }
    LatentRms& mean = means.emplace_back();
    if (all.queries > 0) mean.queries = all.queries / count;
    if (all.keys_and_values > 0) mean.keys_and_values = all.keys_and_values / count;
  }
  return means;
}

}  // namespace

void check_latents(std::span<const Model> models) {
  if (std::any_of(models.begin(), models.end(),
                  [](const Model& model) { return model.dimensions().latent.has_value(); })) {
    return;
  }
  throw Error(
      ErrorKind::usage,
      {.problem = models.front().name() + " has no latents: its weights do not depend on a text"});
}

void add_text_parameters(Record& report, Record& of_items, const std::optional<LatentText>& text) {
  if (!text) return;
  for (const auto& [name, value] : text->parameters.fields()) report.add(name, value);
  const std::string hash = tokens_hash(text->sequences);
  report.add("tokens_hash", hash);
  of_items.add("tokens_hash", hash);
}

void measure_latents(Plan& plan, std::span<const Model> models,
                     const std::optional<LatentText>& text, const Context& context, RowSink& sink) {
  if (!text) return;
  std::vector<std::vector<LatentRms>> means(models.size());
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (!models[index].dimensions().latent) continue;
    means[index] = means_of(models[index], text->sequences[index], context, sink);
  }
  for (WorkItem& item : plan.items) {
    if (means[item.model].empty() || !item.experts.empty()) continue;
    item.latent_rms = means[item.model][static_cast<std::size_t>(*item.layer)];
  }
}

}  // namespace attnscope
