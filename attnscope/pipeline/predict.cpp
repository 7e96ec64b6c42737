#include "attnscope/pipeline/predict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/forward/generation.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/token_scores.h"
#include "attnscope/model/inventory.h"
#include "attnscope/pipeline/estimates.h"
#include "attnscope/pipeline/info.h"
#include "attnscope/pipeline/work_queue.h"

namespace attnscope {
namespace {

/// What is found of one model.
struct Prediction {
  Record facts;
  std::vector<Record> rows;
  std::string note;
};

Value text_of(const Prompt& prompt, std::int64_t id) {
  if (prompt.tokenizer == nullptr || !prompt.tokenizer->spelling(id)) return {};
  return prompt.tokenizer->text(id);
}

Value::List token_list(const Prompt& prompt, const TokenIds& ids) {
  Value::List list;
  for (const std::int64_t id : ids) {
    list.emplace_back(Record{{"id", id}, {"text", text_of(prompt, id)}});
  }
  return list;
}

const char* name_of(Generated::Ended ended) {
  switch (ended) {
    case Generated::Ended::by_count: return "count";
    case Generated::Ended::by_end_token: return "end token";
    case Generated::Ended::by_context: return "context";
  }
  return "";
}

double mean_norm(MatrixView<const float> states) {
  double sum = 0;
  for (std::int64_t row = 0; row < states.rows; ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < states.cols; ++col) {
      squares += static_cast<double>(states(row, col)) * static_cast<double>(states(row, col));
    }
    sum += std::sqrt(squares);
  }
  return sum / static_cast<double>(states.rows);
}

/// Runs one model on its prompt.
class PromptRun {
 public:
  PromptRun(const Model& model, const Prompt& prompt, const PredictRequest& request,
            bool copy_weights, const Compute& compute)
      : model_(model),
        prompt_(prompt),
        request_(request),
        compute_(compute),
        pass_(model, copy_weights, compute) {}

  Prediction run() {
    pass_.check(prompt_.tokens);
    if (request_.generate && !model_.spec().causal) {
      throw Error(
          ErrorKind::unsupported,
          {.parameter = "generate", .problem = model_.name() + " fills masks, and writes no text"});
    }
    const Matrix<float> states = run_pass();
    if (request_.watcher != nullptr) show_logits(states.view());
    add_rows(states.view());
    found_.facts = facts_record(model_facts(model_));
    found_.facts.add("tokens", token_list(prompt_, prompt_.tokens));
    if (request_.generate) add_generated(states.view());
    found_.facts.add("hidden_states", std::move(hidden_states_));
    return std::move(found_);
  }

 private:
  Matrix<float> run_pass() {
    const PromptWatcher* watcher = request_.watcher;
    ForwardObserver observer;
    if (watcher != nullptr) {
      watcher->begin(pass_, std::ssize(prompt_.tokens));
      observer = watcher->observer;
    }
    observer.on_hidden_states = [&](std::int64_t index, MatrixView<const float> states) {
      hidden_states_.emplace_back(
          Record{{"index", index},
                 {"shape", std::vector<std::int64_t>{states.rows, states.cols}},
                 {"mean_norm", mean_norm(states)}});
      if (watcher != nullptr) watcher->observer.on_hidden_states(index, states);
    };
    return pass_.run(std::span(&prompt_.tokens, 1), observer, compute_);
  }

  void show_logits(MatrixView<const float> states) {
    if (pass_.no_logits().empty()) {
      for_logits(
          pass_, states,
          [&](std::int64_t, MatrixView<const float> logits) {
            request_.watcher->on_logits(logits);
          },
          compute_);
    }
    request_.watcher->end();
  }

  void add_rows(MatrixView<const float> states) {
    if (!pass_.no_logits().empty()) {
      found_.note = model_.name() + ": no tokens can be foretold: " + verbatim(pass_.no_logits());
    } else if (model_.spec().causal) {
      add_top(states, states.rows - 1, states.rows);
    } else {
      add_masks(states);
    }
  }

  void add_masks(MatrixView<const float> states) {
    const auto mask =
        prompt_.tokenizer == nullptr ? std::nullopt : prompt_.tokenizer->special_tokens().mask;
    if (!mask) {
      found_.note = model_.name() + " fills masks, and only a tokenizer says which token is one";
      return;
    }
    for (std::int64_t row = 0; row < states.rows; ++row) {
      if (prompt_.tokens[static_cast<std::size_t>(row)] == *mask) add_top(states, row, row);
    }
    if (found_.rows.empty()) {
      found_.note = verbatim(model_.name() + " fills masks, and the text has none: write " +
                             prompt_.tokenizer->spelling(*mask).value_or("a mask") +
                             " where it shall say what belongs there");
    }
  }

  void add_top(MatrixView<const float> states, std::int64_t row, std::int64_t position) {
    const Matrix<float> logits = finite_logits(pass_, states.row_block(row, 1), compute_);
    std::int64_t rank = 0;
    for (const TokenScore& score :
         top_tokens({logits.data(), static_cast<std::size_t>(logits.cols())}, request_.top)) {
      if (rank == 0) likeliest_ = score.token;
      found_.rows.push_back({{"model", model_.name()},
                             {"position", position},
                             {"rank", ++rank},
                             {"token_id", score.token},
                             {"text", text_of(prompt_, score.token)},
                             {"logit", score.logit},
                             {"probability", score.probability}});
    }
  }

  void add_generated(MatrixView<const float> states) {
    if (!pass_.no_logits().empty()) pass_.logits(states.row_block(0, 1), compute_);  // says why
    const Generated written =
        generate_greedily(pass_, prompt_.tokens, likeliest_, *request_.generate,
                          end_tokens(model_, prompt_.tokenizer), compute_);
    Value text;
    if (prompt_.tokenizer != nullptr) {
      text = prompt_.tokenizer->decode(written.tokens, /*skip_special=*/true);
    }
    found_.facts.add("generated", Record{{"tokens", token_list(prompt_, written.tokens)},
                                         {"text", std::move(text)},
                                         {"ended_by", name_of(written.ended)}});
  }

  const Model& model_;
  const Prompt& prompt_;
  const PredictRequest& request_;
  const Compute& compute_;
  ForwardPass pass_;
  std::int64_t likeliest_ = 0;  // of the last place that was predicted
  Value::List hidden_states_;
  Prediction found_;
};

}  // namespace

void run_predict(std::span<const Model> models, const PredictRequest& request,
                 const Context& context, RowSink& sink) {
  std::vector<Prediction> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const Prompt& prompt = request.prompts[index];
    const std::uint64_t copy = copied_weights_bytes(model, context.memory_bytes);
    const std::int64_t tokens = std::ssize(prompt.tokens) + request.generate.value_or(0);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(model)) * static_cast<double>(tokens),
         .memory_bytes = copy + run_bytes(model.dimensions(), /*sequences=*/1, tokens),
         .run = [&, copy, index](const Compute& compute) {
           found[index] =
               PromptRun(models[index], request.prompts[index], request, copy > 0, compute).run();
         }});
  }
  run_queue(items, context);

  ReportHead head{.command = "predict", .parameters = request.text};
  head.parameters.add("top", request.top).add("generate", request.generate);
  for (Prediction& prediction : found) head.models.push_back(std::move(prediction.facts));
  sink.begin(head);
  for (Prediction& prediction : found) {
    for (Record& row : prediction.rows) sink.add_row(std::move(row));
    if (!prediction.note.empty()) sink.add_note(std::move(prediction.note));
  }
  sink.end();
}

}  // namespace attnscope
