#include "attnscope/features/predict/label_run.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/label_probabilities.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

struct LabelFindings {
  Record facts;
  std::vector<Record> rows;
  std::vector<std::string> notes;
};

/// Runs one model on its texts.
class LabelRun {
 public:
  LabelRun(const Model& model, const PredictRequest& request, const Context& context,
           const Compute& compute)
      : model_(model),
        request_(request),
        context_(context),
        compute_(compute),
        pass_(model, copied_weights_bytes(model, context.memory_bytes) > 0, compute),
        spec_(*model.spec().labels) {}

  LabelFindings run(const std::vector<Prompt>& prompts) {
    pass_.label_head();
    several_ = prompts.size() > 1;
    Value::List tokens;
    for (const Prompt& prompt : prompts) {
      pass_.check(prompt.tokens);
      const std::string note = past_context_note(pass_, std::ssize(prompt.tokens));
      if (!note.empty()) found_.notes.push_back(note);
      label(prompt);
      for (const std::int64_t id : prompt.tokens) {
        Record token = {{"id", id}, {"text", token_value(prompt.tokenizer, id)}};
        if (several_) token.add("sequence", sequence_);
        tokens.emplace_back(std::move(token));
      }
      ++sequence_;
    }
    found_.facts = facts_record(summarize(model_));
    found_.facts.add("tokens", std::move(tokens));
    return std::move(found_);
  }

 private:
  void label(const Prompt& prompt) {
    const PromptWatcher* watcher = request_.watcher;
    if (watcher != nullptr) watcher->begin(pass_, prompt.tokens, std::ssize(prompt.tokens));
    ForwardObserver observer = watcher == nullptr ? ForwardObserver{} : watcher->observer;
    RunEdits edits(pass_, context_.watchers, compute_, observer.hooks, std::ssize(prompt.tokens));
    observer.hooks = edits.hooks();
    const Matrix<float> states = pass_.run(std::span(&prompt.tokens, 1), observer, compute_);
    const Matrix<float> logits = pass_.label_logits(states.view(), prompt.tokens, compute_);
    if (watcher != nullptr) {
      if (watcher->on_logits) watcher->on_logits(logits.view());
      watcher->end();
    }
    if (pass_.label_head().task == LabelTask::span) return add_answers(prompt, logits.view());
    const bool of_tokens = pass_.label_head().task == LabelTask::token;
    for (std::int64_t row = 0; row < logits.rows(); ++row) {
      add_labels({&logits(row, 0), static_cast<std::size_t>(logits.cols())},
                 of_tokens ? std::optional(row) : std::nullopt);
    }
  }

  Record& new_row(std::optional<std::int64_t> position) {
    Record& row = found_.rows.emplace_back(Record{{"model", model_.name()}});
    if (several_) row.add("sequence", sequence_);
    if (position) row.add("position", *position);
    return row;
  }

  void add_labels(std::span<const float> logits, std::optional<std::int64_t> position) {
    const auto probabilities =
        label_probabilities(label_probability(spec_, std::ssize(logits)), logits, compute_);
    std::int64_t rank = 0;
    for (const TokenScore& score : top_tokens(logits, request_.top, compute_)) {
      new_row(position)
          .add("rank", ++rank)
          .add("label_id", score.token)
          .add("text", label_name(spec_, score.token))
          .add("logit", score.logit)
          .add("probability", probabilities[static_cast<std::size_t>(score.token)]);
    }
  }

  void add_answers(const Prompt& prompt, MatrixView<const float> logits) {
    if (prompt.tokens.texts.empty()) {
      found_.notes.push_back(verbatim(model_.name()) +
                             ": answers are taken from the whole text; pass the question with "
                             "{text} and the passage with {text_pair}");
    }
    std::int64_t rank = 0;
    for (const AnswerSpan& span :
         most_likely_answers(logits, prompt.tokens, request_.top, compute_)) {
      Value text;
      if (prompt.tokenizer != nullptr) {
        const TokenIds answer(prompt.tokens.begin() + span.first,
                              prompt.tokens.begin() + span.last + 1);
        text = prompt.tokenizer->decode(answer, /*skip_special=*/false);
      }
      new_row(span.first)
          .add("last_position", span.last)
          .add("rank", ++rank)
          .add("label_id", Value())
          .add("text", std::move(text))
          .add("logit", span.logit)
          .add("probability", span.probability);
    }
  }

  const Model& model_;
  const PredictRequest& request_;
  const Context& context_;
  const Compute& compute_;
  ForwardPass pass_;
  const LabelHeadSpec& spec_;
  bool several_ = false;  // texts
  std::int64_t sequence_ = 0;
  LabelFindings found_;
};

const char* name_of(LabelTask task) {
  switch (task) {
    case LabelTask::sequence: return "sequence";
    case LabelTask::token: return "token";
    case LabelTask::span: return "span";
  }
  return "";
}

}  // namespace

bool predict_labels(std::span<const Model> models) {
  const auto is_classifier = [](const Model& model) { return model.spec().labels.has_value(); };
  const auto count = std::count_if(models.begin(), models.end(), is_classifier);
  if (count == 0) return false;
  const auto task = [](const Model& model) { return model.spec().labels->task; };
  const bool alike = count == std::ssize(models) &&
                     std::all_of(models.begin(), models.end(), [&](const Model& model) {
                       return task(model) == task(models.front());
                     });
  if (alike) return true;
  throw Error(ErrorKind::usage, {.parameter = "models",
                                 .problem = "expected language models only, or classifiers of one "
                                            "kind only",
                                 .hint = "run the models separately"});
}

void run_label_prediction(std::span<const Model> models, const PredictRequest& request,
                          const Context& context, RowSink& sink) {
  std::vector<LabelFindings> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    std::vector<TokenIds> texts;
    for (const Prompt& prompt : request.prompts[index]) texts.push_back(prompt.tokens);
    const TextRows rows = text_rows(texts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(rows.all),
         .memory_bytes = copied_weights_bytes(models[index], context.memory_bytes) +
                         run_bytes(models[index].spec(), /*sequences=*/1, rows.longest),
         .run = [&, index](const Compute& compute) {
           found[index] =
               LabelRun(models[index], request, context, compute).run(request.prompts[index]);
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  const LabelTask task = models.front().spec().labels->task;
  ReportHead head{.command = "predict", .parameters = {{"labels", name_of(task)}}};
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  head.parameters.add("top", request.top);
  add_edits_hash(head.parameters, context, models);
  for (LabelFindings& each : found) head.models.push_back(std::move(each.facts));
  sink.begin(head);
  for (LabelFindings& each : found) {
    for (Record& row : each.rows) sink.add_row(std::move(row));
    for (std::string& note : each.notes) sink.add_note(std::move(note));
  }
  sink.end();
}

}  // namespace attnscope
