// `predict --attribution --prompts`: what each part of a model adds itself to its preference for
// the right answers.
#include <utility>

#include "attnscope/analyses/estimates.h"
#include "attnscope/analyses/predict.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/forward/attribution.h"
#include "attnscope/run/model_facts.h"
#include "attnscope/run/work_queue.h"

namespace attnscope {
namespace {

struct AttributedPrompts {
  std::vector<DirectPart> parts;    // `logits`: of each prompt
  std::vector<double> differences;  // the model's own
};

AttributedPrompts attribute_prompts(const ForwardPass& pass, const LinearHead& head,
                                    const std::vector<TokenIds>& texts,
                                    const AnsweredPrompts& prompts, const Compute& compute) {
  AttributedPrompts out;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::int64_t right = prompts.right[at], wrong = prompts.wrong[at];
    Matrix<float> direction = head.directions(std::span(&right, 1));
    const Matrix<float> other = head.directions(std::span(&wrong, 1));
    for (std::int64_t col = 0; col < other.cols(); ++col) direction(0, col) -= other(0, col);
    const double constant = head.constant(right) - head.constant(wrong);
    const std::int64_t row = std::ssize(texts[at]) - 1;
    const Attribution found = attribute(pass, head, texts[at], std::span(&row, 1), direction,
                                        std::span(&constant, 1), compute);
    out.differences.push_back(logit_differences(pass, found.states.view(), std::span(&right, 1),
                                                std::span(&wrong, 1), compute, /*capped=*/false)
                                  .front());
    if (at == 0) {
      out.parts = found.parts;
      continue;
    }
    for (std::size_t part = 0; part < found.parts.size(); ++part) {
      out.parts[part].logits.push_back(found.parts[part].logits.front());
    }
  }
  return out;
}

struct BothAttributed {
  AttributedPrompts clean, corrupted;

  Preference preference() const { return preference_of(clean.differences, corrupted.differences); }
};

void add_direct_rows(const std::string& model, const BothAttributed& found, RowSink& sink) {
  const Preference whole = found.preference();
  for (std::size_t at = 0; at < found.clean.parts.size(); ++at) {
    const DirectPart& part = found.clean.parts[at];
    const std::vector<double> corrupted =
        whole.corrupted ? found.corrupted.parts[at].logits : std::vector<double>();
    const MeanWithError direct = mean_over_prompts(part.logits);
    const MeanWithError share = share_of(part.logits, corrupted, whole);
    sink.add_row({{"model", model},
                  {"layer", part.layer},
                  {"head", part.head},
                  {"component", part.component},
                  {"direct", direct.mean},
                  {"direct_error", direct.standard_error},
                  {"corrupted_direct", mean_over_prompts(corrupted).mean},
                  {"share", share.mean},
                  {"share_error", share.standard_error}});
  }
}

}  // namespace

void run_attribution_prompts(std::span<const Model> models, const PromptsRequest& request,
                             const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<BothAttributed> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const AnsweredPrompts& prompts = request.of_models[index];
    check_answers(ready.pass(index), prompts);
    note_long_prompts(ready.pass(index), prompts, sink);
    check_attributable(ready.pass(index));
    const PromptTokens tokens = prompt_tokens(prompts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(tokens.all),
         .memory_bytes = run_bytes(models[index].spec(), /*sequences=*/1, tokens.longest),
         .run = [&, index](const Compute& compute) {
           const ForwardPass& pass = ready.pass(index);
           const LinearHead head(pass, mean_output_row(pass, compute));
           found[index].clean = attribute_prompts(pass, head, prompts.clean, prompts, compute);
           found[index].corrupted =
               attribute_prompts(pass, head, prompts.corrupted, prompts, compute);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "predict", .parameters = {{"attribution", true}}};
  for (const auto& [name, value] : request.parameters.fields()) head.parameters.add(name, value);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Preference preference = found[index].preference();
    Record facts = facts_record(model_facts(models[index]));
    facts.add("attributed", Record{{"token", Value()},
                                   {"against", Value()},
                                   {"places", std::ssize(found[index].clean.differences)},
                                   {"logit", preference.clean},
                                   {"corrupted_logit", preference.corrupted}});
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (models[index].spec().head.soft_cap) {
      sink.add_note(models[index].name() + ": of logits before their cap");
    }
    note_preference(models[index].name(), found[index].preference(), sink);
    add_direct_rows(models[index].name(), found[index], sink);
  }
  sink.end();
}

}  // namespace attnscope
