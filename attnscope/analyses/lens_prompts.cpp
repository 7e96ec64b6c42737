// `lens --prompts`: from which layer on a model prefers the right answer.
#include <utility>

#include "attnscope/analyses/lens.h"
#include "attnscope/analyses/lens_means.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

/// Texts that run together have about so many rows.
constexpr std::int64_t kLensRows = 512;

/// Of all texts, in parts that run together.
LensDifferences differences_of(const ForwardPass& pass, const std::vector<TokenIds>& texts,
                               const AnsweredPrompts& prompts, bool middles,
                               const Compute& compute) {
  LensDifferences out;
  for (std::size_t first = 0; first < texts.size();) {
    std::size_t end = first;
    std::int64_t rows = 0;
    while (end < texts.size() && (end == first || rows + std::ssize(texts[end]) <= kLensRows)) {
      rows += std::ssize(texts[end++]);
    }
    const auto part = [&](const auto& all) { return std::span(all).subspan(first, end - first); };
    LensDifferences found = read_lens_differences(pass, part(texts), part(prompts.right),
                                                  part(prompts.wrong), middles, compute);
    out.states = std::move(found.states);
    out.differences.resize(out.states.size());
    for (std::size_t state = 0; state < out.states.size(); ++state) {
      std::vector<double>& all = out.differences[state];
      all.insert(all.end(), found.differences[state].begin(), found.differences[state].end());
    }
    first = end;
  }
  return out;
}

struct FoundDifferences {
  LensDifferences clean, corrupted;

  /// Of all prompts; empty where there are no corrupted ones.
  std::vector<double> corrupted_at(std::size_t state) const {
    return corrupted.differences.empty() ? std::vector<double>() : corrupted.differences[state];
  }

  Preference preference(std::size_t state) const {
    return preference_of(clean.differences[state], corrupted_at(state));
  }

  /// Of the last state, which is what the model itself prefers.
  Preference preference() const { return preference(clean.states.size() - 1); }
};

void add_difference_rows(const std::string& model, const FoundDifferences& found, RowSink& sink) {
  const Preference whole = found.preference();
  for (std::size_t state = 0; state < found.clean.states.size(); ++state) {
    const std::vector<double>& clean = found.clean.differences[state];
    RunningMean right;
    for (const double difference : clean) right.add(difference > 0 ? 1.0 : 0.0);
    const Preference here = found.preference(state);
    const MeanWithError share = share_of(clean, found.corrupted_at(state), whole);
    sink.add_row({{"model", model},
                  {"layer", found.clean.states[state].layer},
                  {"state", state_name(found.clean.states[state])},
                  {"logit_difference", here.clean},
                  {"logit_difference_error", mean_over_prompts(clean).standard_error},
                  {"corrupted_logit_difference", here.corrupted},
                  {"share", share.mean},
                  {"share_error", share.standard_error},
                  {"right", right.result().mean},
                  {"prompts", std::ssize(clean)}});
  }
}

}  // namespace

void run_lens_prompts(std::span<const Model> models, const LensPromptsRequest& request,
                      const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<FoundDifferences> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const AnsweredPrompts& prompts = request.prompts.of_models[index];
    check_answers(ready.pass(index), prompts);
    note_long_prompts(ready.pass(index), prompts, sink);
    const PromptTokens tokens = prompt_tokens(prompts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(tokens.all),
         .memory_bytes = run_bytes(models[index].spec(), 1, std::max(kLensRows, tokens.longest)),
         .run = [&, index](const Compute& compute) {
           const ForwardPass& pass = ready.pass(index);
           found[index].clean =
               differences_of(pass, prompts.clean, prompts, request.middles, compute);
           found[index].corrupted =
               differences_of(pass, prompts.corrupted, prompts, request.middles, compute);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "lens", .parameters = request.prompts.parameters};
  head.parameters.add("mid", request.middles);
  for (const Model& model : models) head.models.push_back(facts_record(model_facts(model)));
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    note_preference(models[index].name(), found[index].preference(), sink);
    add_difference_rows(models[index].name(), found[index], sink);
  }
  sink.end();
}

}  // namespace attnscope
