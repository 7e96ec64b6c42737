#include "attnscope/features/predict/run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/forward/generation/decoder_prompt.h"
#include "attnscope/forward/generation/greedy_decoding.h"
#include "attnscope/forward/generation/logits_processors.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/weights/forward_weights.h"
#include "attnscope/inputs/text/decode_stream.h"
#include "attnscope/model/summary.h"

namespace attnscope {
namespace {

Value::List token_list(const Prompt& prompt, const TokenIds& ids) {
  Value::List list;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    Record token = {{"id", ids[at]}, {"text", token_value(prompt.tokenizer, ids[at])}};
    if (!ids.roles.empty()) token.add("message_role", role_value(ids, at));
    list.emplace_back(std::move(token));
  }
  return list;
}

/// Appends the records of one of several texts, with its number.
void append_numbered(Value::List& all, Value::List own, std::int64_t sequence) {
  for (Value& value : own) {
    Record record = expect<Record>(value, "sequence");
    record.add("sequence", sequence);
    all.emplace_back(std::move(record));
  }
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

/// Number of encoder outputs for an encoder-decoder; otherwise 0.
std::int64_t source_rows(const Model& model, const Prompt& prompt) {
  if (!prompt.audio) return std::ssize(prompt.source);
  return rows_of_media(*model.sibling("encoder"), *prompt.audio);
}

/// The results of one model.
struct Prediction {
  Record facts;
  std::vector<Record> rows;
  std::vector<std::string> notes;
};

/// Runs one model on its prompts.
class PromptRun {
 public:
  PromptRun(const Model& model, const PredictRequest& request, const Context& context,
            const Compute& compute)
      : model_(model),
        request_(request),
        context_(context),
        compute_(compute),
        pass_(model, copied_weights_bytes(model, context.memory_bytes) > 0, compute) {}

  Prediction run(const std::vector<Prompt>& prompts) {
    if (prompts.size() == 1) return run_one(prompts.front());
    // Only a single text is generated or saved, and encoder-decoders take a single source.
    Value::List tokens, states;
    std::vector<Record> rows;
    for (std::size_t at = 0; at < prompts.size(); ++at) {
      const auto sequence = static_cast<std::int64_t>(at);
      hidden_states_.clear();
      sequence_ = sequence;
      Prediction own = run_one(prompts[at]);
      append_numbered(tokens, token_list(prompt_, prompt_.tokens), sequence);
      append_numbered(states, expect<Value::List>(*own.facts.find("hidden_states"), "sequence"),
                      sequence);
      for (Record& row : own.rows) rows.push_back(std::move(row));
      for (std::string& note : own.notes) {
        const bool known = std::find(notes_.begin(), notes_.end(), note) != notes_.end();
        if (!known) notes_.push_back(std::move(note));
      }
    }
    Prediction all{.facts = facts_record(summarize(model_)),
                   .rows = std::move(rows),
                   .notes = std::move(notes_)};
    all.facts.add("tokens", std::move(tokens)).add("hidden_states", std::move(states));
    return all;
  }

 private:
  Prediction run_one(const Prompt& prompt) {
    prompt_ = prompt;
    found_ = {};
    pass_.check_head();
    if (prompt_.audio) pass_.encoder()->length_of(*prompt_.audio);
    if (pass_.encoder() != nullptr && !prompt_.audio) pass_.encoder()->check(prompt_.source);
    pass_.check(prompt_.tokens);
    if (request_.generate && !model_.spec().causal) {
      throw Error(ErrorKind::unsupported,
                  {.parameter = "generate",
                   .problem = model_.name() + " has bidirectional attention, so it cannot generate "
                                              "text"});
    }
    if (request_.generate) make_cache();
    const Matrix<float> states = run_pass();
    if (request_.watcher != nullptr) show_logits(states.view());
    add_rows(states.view());
    found_.facts = facts_record(summarize(model_));
    if (pass_.encoder() != nullptr && !prompt_.audio) {
      found_.facts.add("source_tokens", token_list(prompt_, prompt_.source));
    }
    found_.facts.add("tokens", token_list(prompt_, prompt_.tokens));
    std::int64_t tokens = std::ssize(prompt_.tokens);
    if (request_.generate) tokens += add_generated(states.view());
    std::string note = past_context_note(pass_, tokens);
    if (!note.empty()) found_.notes.push_back(std::move(note));
    found_.facts.add("hidden_states", std::move(hidden_states_));
    if (pass_.encoder() != nullptr) {
      found_.facts.add("encoder_hidden_states", std::move(encoder_hidden_states_));
    }
    return std::move(found_);
  }

  /// Allocates the KV cache for the prompt and the generated tokens.
  void make_cache() {
    const std::int64_t room =
        std::min(std::ssize(prompt_.tokens) + *request_.generate, pass_.longest());
    const std::uint64_t bytes =
        KeyValueCache::bytes(model_.spec(), room, source_rows(model_, prompt_));
    const std::uint64_t left =
        context_.memory_bytes - copied_weights_bytes(model_, context_.memory_bytes);
    if (bytes > left) {
      throw Error(
          ErrorKind::usage,
          {.parameter = "generate",
           .problem = "the KV cache for " + std::to_string(room) + " tokens of " + model_.name() +
                      " takes about " + memory_text(bytes) + ", more than the " +
                      memory_text(left) + " that {memory} leaves after its weights",
           .hint = "generate fewer tokens"});
    }
    cache_.emplace_back(model_.spec(), room);
  }

  /// The observer of the watcher, which also records the mean norm of each hidden state.
  ForwardObserver noting_states(const ForwardObserver* watching, Value::List& states_seen) {
    ForwardObserver observer;
    if (watching != nullptr) observer = *watching;
    observer.on_hidden_states = [watching, &states_seen](std::int64_t index,
                                                         MatrixView<const float> states) {
      states_seen.emplace_back(
          Record{{"index", index},
                 {"shape", std::vector<std::int64_t>{states.rows, states.cols}},
                 {"mean_norm", mean_norm(states)}});
      if (watching != nullptr && watching->on_hidden_states) {
        watching->on_hidden_states(index, states);
      }
    };
    return observer;
  }

  EncoderOutput encode(const ForwardObserver* watching) {
    encoder_hidden_states_.clear();
    const ForwardObserver observer = noting_states(watching, encoder_hidden_states_);
    if (prompt_.audio) return pass_.encode(std::span(&*prompt_.audio, 1), observer, compute_);
    return pass_.encode(std::span(&prompt_.source, 1), observer, compute_);
  }

  Matrix<float> run_pass() {
    const PromptWatcher* watcher = request_.watcher;
    EncoderOutput memory;
    const bool asks_language = !prompt_.languages.empty();
    if (asks_language) {
      memory = encode(nullptr);
      const DecoderPrompt open = {.tokens = prompt_.tokens, .languages = prompt_.languages};
      prompt_.tokens = with_language(pass_, open, memory, compute_);
    }
    if (watcher != nullptr) watcher->begin(pass_, prompt_.tokens, std::ssize(prompt_.tokens));
    const bool shows = watcher != nullptr || !asks_language;
    if (pass_.encoder() != nullptr && shows) {
      memory = encode(watcher == nullptr ? nullptr : &watcher->encoder_observer);
    }
    ForwardObserver observer =
        noting_states(watcher == nullptr ? nullptr : &watcher->observer, hidden_states_);
    RunEdits edits(pass_, context_.watchers, compute_, observer.hooks, std::ssize(prompt_.tokens));
    observer.hooks = edits.hooks();
    return pass_.run(std::span(&prompt_.tokens, 1), observer, compute_, cache_,
                     pass_.encoder() == nullptr ? nullptr : &memory);
  }

  void show_logits(MatrixView<const float> states) {
    if (pass_.no_logits().empty() && request_.watcher->on_logits) {
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
      found_.notes.push_back(model_.name() +
                             ": cannot predict tokens: " + verbatim(pass_.no_logits()));
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
      found_.notes.push_back(model_.name() + " predicts only masked tokens, but " +
                             (prompt_.tokenizer == nullptr
                                  ? "there is no tokenizer to identify mask tokens"
                                  : "its tokenizer has no mask token"));
      return;
    }
    for (std::int64_t row = 0; row < states.rows; ++row) {
      if (prompt_.tokens[static_cast<std::size_t>(row)] == *mask) add_top(states, row, row);
    }
    if (found_.rows.empty()) {
      found_.notes.push_back(verbatim(
          model_.name() + " predicts only masked tokens, and the text has none: write " +
          prompt_.tokenizer->spelling(*mask).value_or("a mask") + " at each position to predict"));
    }
  }

  void add_top(MatrixView<const float> states, std::int64_t row, std::int64_t position) {
    const Matrix<float> logits = finite_logits(pass_, states.row_block(row, 1), compute_);
    std::int64_t rank = 0;
    const std::span<const float> scores(logits.data(), static_cast<std::size_t>(logits.cols()));
    for (const TokenScore& score : top_tokens(scores, request_.top, compute_)) {
      if (rank == 0) most_likely_ = score.token;
      Record& row = found_.rows.emplace_back(Record{{"model", model_.name()}});
      if (sequence_) row.add("sequence", *sequence_);
      row.add("position", position).add("rank", ++rank);
      add_predicted(row, prompt_.tokenizer, score);
    }
  }

  /// Returns the number of generated tokens.
  std::int64_t add_generated(MatrixView<const float> states) {
    if (!pass_.no_logits().empty())
      pass_.logits(states.row_block(0, 1), compute_);  // throws the reason
    const Generated written = write_text(states);
    Value text;
    if (prompt_.tokenizer != nullptr) {
      text = prompt_.tokenizer->decode(written.tokens, /*skip_special=*/true);
    }
    found_.facts.add("generated", Record{{"tokens", token_list(prompt_, written.tokens)},
                                         {"text", std::move(text)},
                                         {"ended_by", name_of(written.ended)}});
    return std::ssize(written.tokens);
  }

  /// Chooses tokens by the generation config of an encoder-decoder. Empty for other models, which
  /// use greedy decoding.
  ChooseToken chooser(const TokenIds& ends) {
    if (pass_.encoder() == nullptr) return {};
    const GenerationRules rules = generation_rules(model_, ends);
    if (rules.beams > 1) {
      found_.notes.push_back(model_.name() + ": the generation config requests " +
                             std::to_string(rules.beams) +
                             " beams; greedy decoding is used instead");
    }
    if (rules.times) {
      found_.notes.push_back(model_.name() +
                             ": the generation config requests timestamps; the rules that place "
                             "them are not applied");
    }
    return [rules, prompt = std::ssize(prompt_.tokens), most = *request_.generate](
               std::span<float> logits, std::span<const std::int64_t> text) {
      apply_rules(rules, text, prompt, most, logits);
      return most_likely_token(logits);
    };
  }

  Generated write_text(MatrixView<const float> states) {
    std::optional<TextStream> stream;
    if (prompt_.tokenizer != nullptr) stream.emplace(*prompt_.tokenizer);
    const auto give = [&](const std::string& text) {
      if (!text.empty()) request_.on_text(text);
    };
    const auto on_token = [&](std::int64_t id) {
      if (!request_.on_text) return;
      give(stream ? stream->add(id) : std::string(1, '<') + std::to_string(id) + "> ");
    };
    const TokenIds ends = end_tokens(model_, prompt_.tokenizer);
    const ChooseToken choose = chooser(ends);
    if (choose) {
      Matrix<float> logits = finite_logits(pass_, states.row_block(states.rows - 1, 1), compute_);
      most_likely_ =
          choose({logits.data(), static_cast<std::size_t>(logits.cols())}, prompt_.tokens);
    }
    RunEdits edits(pass_, context_.watchers, compute_, nullptr, std::ssize(prompt_.tokens));
    const Generated written =
        generate_greedily(pass_, cache_.front(), most_likely_, *request_.generate, ends, on_token,
                          compute_, choose, edits.hooks());
    if (request_.on_text && stream) give(stream->end());
    return written;
  }

  const Model& model_;
  Prompt prompt_;
  const PredictRequest& request_;
  const Context& context_;
  const Compute& compute_;
  ForwardPass pass_;
  std::vector<KeyValueCache> cache_;  // one entry if text is generated
  std::int64_t most_likely_ = 0;      // at the last predicted position
  Value::List hidden_states_, encoder_hidden_states_;
  Prediction found_;
  std::optional<std::int64_t> sequence_;  // number of the text; empty for a single text
  std::vector<std::string> notes_;        // of several texts, each once
};

/// Peak memory of a run, in addition to the mapped files.
std::uint64_t prompt_run_bytes(const Model& model, const Prompt& prompt,
                               const PredictRequest& request, const Context& context) {
  const std::int64_t tokens = std::ssize(prompt.tokens);
  std::optional<std::uint64_t> bytes =
      checked_add(copied_weights_bytes(model, context.memory_bytes),
                  run_bytes(model, /*sequences=*/1, tokens, source_rows(model, prompt)));
  if (bytes && request.generate) {
    bytes = checked_add(*bytes, KeyValueCache::bytes(model.spec(), tokens + *request.generate,
                                                     source_rows(model, prompt)));
  }
  return bytes.value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

void run_predict(std::span<const Model> models, const PredictRequest& request,
                 const Context& context, RowSink& sink) {
  std::vector<Prediction> found(models.size());
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    std::int64_t tokens = request.generate.value_or(0);
    std::uint64_t bytes = 0;
    for (const Prompt& prompt : request.prompts[index]) {
      tokens += std::ssize(prompt.tokens);
      bytes = std::max(bytes, prompt_run_bytes(model, prompt, request, context));
    }
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(model)) * static_cast<double>(tokens),
         .memory_bytes = bytes,
         .run = [&, index](const Compute& compute) {
           found[index] =
               PromptRun(models[index], request, context, compute).run(request.prompts[index]);
         }});
  }
  run_queue(items, context, {}, {"model", "models"});

  ReportHead head{.command = "predict", .parameters = request.text};
  head.parameters.add("top", request.top).add("generate", request.generate);
  add_edits_hash(head.parameters, context, models);
  for (Prediction& prediction : found) head.models.push_back(std::move(prediction.facts));
  sink.begin(head);
  for (Prediction& prediction : found) {
    for (Record& row : prediction.rows) sink.add_row(std::move(row));
    for (std::string& note : prediction.notes) sink.add_note(std::move(note));
  }
  sink.end();
}

}  // namespace attnscope
