#include "attnscope/features/lens/label_run.h"

#include <algorithm>
#include <utility>

#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/lens/logit_lens.h"
#include "attnscope/forward/label_probabilities.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

/// The label at one state, over texts.
struct LabelState {
  LensState state;
  RunningMean logit, probability, top;
};

/// The label logits decoded from a state. Norms act on single rows, so only the row that the head
/// reads passes the final norm.
Matrix<float> logits_of_state(const ForwardPass& pass, MatrixView<const float> stream,
                              const TokenIds& ids, const Compute& compute) {
  if (pass.label_head().pooling == LabelPooling::mean) {
    return pass.label_logits(pass.finish(copied(stream), compute).view(), ids, compute);
  }
  const MatrixView<const float> row = stream.row_block(pass.label_row(ids), 1);
  const Matrix<float> ended = pass.finish(copied(row), compute);
  return pass.label_logits(ended.view(), TokenIds(1, -1), compute);
}

/// Adds the states of one text.
void add_states(const ForwardPass& pass, const TokenIds& ids, std::int64_t label, bool middles,
                std::vector<LabelState>& states, std::span<BatchWatcher* const> watchers,
                const Compute& compute) {
  const std::int64_t layers = pass.model().dimensions().layers;
  std::size_t next = 0;
  const auto add = [&](const LensState& state, MatrixView<const float> stream) {
    if (next == states.size()) states.push_back({.state = state});
    LabelState& of_state = states[next++];
    const Matrix<float> logits = logits_of_state(pass, stream, ids, compute);
    const std::span<const float> all(logits.data(), static_cast<std::size_t>(logits.cols()));
    const auto at = static_cast<std::size_t>(label);
    const LabelProbability kind = label_probability(*pass.model().spec().labels, std::ssize(all));
    of_state.logit.add(static_cast<double>(all[at]));
    if (const auto probability = label_probabilities(kind, all, compute)[at]) {
      of_state.probability.add(*probability);
    }
    if (const auto top = top_label(kind, all)) of_state.top.add(*top == label ? 1.0 : 0.0);
  };
  ForwardObserver observer;
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
    add(index < layers ? LensState{.layer = index}
                       : LensState{.layer = layers - 1, .point = StreamPoint::resid_post},
        stream);
  };
  if (middles) {
    observer.on_middle = [&](std::int64_t layer, MatrixView<const float> stream) {
      add({.layer = layer, .point = StreamPoint::resid_mid}, stream);
    };
  }
  RunEdits edits(pass, watchers, compute);
  observer.hooks = edits.hooks();
  pass.run(std::span(&ids, 1), observer, compute);
}

}  // namespace

void run_lens_labels(std::span<const Model> models, const LensLabelRequest& request,
                     const Context& context, RowSink& sink) {
  check_labels_texts(models, "label");
  const ReadyModels ready(models, context);
  std::vector<std::vector<LabelState>> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const ForwardPass& pass = ready.pass(index);
    const std::int64_t label = label_named(pass, request.label, "label");
    const std::vector<TokenIds>& texts = request.texts[index];
    check_inputs(pass, {.tokens = texts});
    note_past_context(pass, {.tokens = texts}, sink);
    const TextRows rows = text_rows(texts);
    items.push_back({.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                              static_cast<double>(rows.all),
                     .memory_bytes = run_bytes(models[index].spec(), /*sequences=*/1, rows.longest),
                     .run = [&, index, label](const Compute& compute) {
                       for (const TokenIds& ids : request.texts[index]) {
                         add_states(ready.pass(index), ids, label, request.middles, found[index],
                                    context.watchers, compute);
                       }
                     }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = {{"label", request.label}}};
  for (const auto& [name, value] : request.parameters.fields()) head.parameters.add(name, value);
  head.parameters.add("resid_mid", request.middles);
  add_edits_hash(head.parameters, context, models);
  for (const Model& model : models) head.models.push_back(facts_record(summarize(model)));
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    for (const LabelState& state : found[index]) {
      const MeanWithError logit = state.logit.result(), probability = state.probability.result();
      sink.add_row({{"model", models[index].name()},
                    {"layer", state.state.layer},
                    {"state", std::string(state_name(state.state))},
                    {"label_logit", logit.mean},
                    {"label_logit_error", logit.standard_error},
                    {"label_probability", probability.mean},
                    {"label_probability_error", probability.standard_error},
                    {"top_label", state.top.result().mean},
                    {"sequences", std::ssize(request.texts[index])}});
    }
  }
  sink.end();
}

}  // namespace attnscope
