// `predict --attribution`: the direct effect of each component on the logits of the next tokens in
// a text, or of one token at its end.
#include "attnscope/features/predict/attribution_run.h"

#include <algorithm>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/certainty.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/message_roles.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/features/common/options/label_option.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/predict/logit_attribution.h"
#include "attnscope/forward/label_probabilities.h"
#include "attnscope/forward/logits.h"

namespace attnscope {
namespace {

/// The logits that are attributed in the text of one model.
struct AskedLogits {
  std::vector<std::int64_t> rows;    // of the hidden states
  std::vector<std::int64_t> tokens;  // per row
  std::optional<std::int64_t> against;
};

/// `of_label`: whether `asked` is a label.
AskedLogits asked_logits(const ForwardPass& pass, const Prompt& prompt, const AskedTokens& asked,
                         bool of_label) {
  AskedLogits out{.against = asked.against};
  if (of_label) {
    out.rows = {pass.label_row(prompt.tokens)};
    out.tokens = {*asked.token};
    return out;
  }
  const auto length = std::ssize(prompt.tokens);
  if (asked.token) {
    out.rows = {length - 1};
    out.tokens = {*asked.token};
    return out;
  }
  for (std::int64_t at = 1; at < length; ++at) {
    out.rows.push_back(at - 1);
    out.tokens.push_back(prompt.tokens[static_cast<std::size_t>(at)]);
  }
  return out;
}

/// Mean logit of the model before soft-capping, which the components must sum to.
double centered_logit(const ForwardPass& pass, const AskedLogits& asked,
                      const Matrix<float>& states, const Compute& compute) {
  double sum = 0;
  for_logits(
      pass, states.view(),
      [&](std::int64_t first, MatrixView<const float> logits) {
        for (std::int64_t row = 0; row < logits.rows; ++row) {
          double mean = 0;
          for (std::int64_t token = 0; token < logits.cols; ++token) {
            mean += static_cast<double>(logits(row, token));
          }
          mean /= static_cast<double>(logits.cols);
          const double from =
              asked.against ? static_cast<double>(logits(row, *asked.against)) : mean;
          const auto place = static_cast<std::size_t>(first + row);
          sum += static_cast<double>(logits(row, asked.tokens[place])) - from;
        }
      },
      compute, /*capped=*/false);
  return sum / static_cast<double>(asked.rows.size());
}

/// The same for a label. `states`: the row that the head reads.
double centered_label_logit(const ForwardPass& pass, const AskedLogits& asked,
                            const Matrix<float>& states, const Compute& compute) {
  // The only row is also the one that the head reads.
  const Matrix<float> logits = pass.label_logits(states.view(), TokenIds(1, -1), compute);
  // See mean_output_row().
  if (logits.cols() == 1 && !asked.against) return static_cast<double>(logits(0, 0));
  double mean = 0;
  for (std::int64_t label = 0; label < logits.cols(); ++label) {
    mean += static_cast<double>(logits(0, label)) / static_cast<double>(logits.cols());
  }
  const double from = asked.against ? static_cast<double>(logits(0, *asked.against)) : mean;
  return static_cast<double>(logits(0, asked.tokens.front())) - from;
}

struct FoundParts {
  std::vector<DirectPart> parts;
  double logit = 0;
};

FoundParts attribute_text(const ForwardPass& pass, const Prompt& prompt, const AskedLogits& asked,
                          std::span<BatchWatcher* const> watchers, const Compute& compute) {
  const LinearHead head(pass, mean_output_row(pass, compute));
  Matrix<float> directions = head.directions(asked.tokens);
  std::vector<double> constants;
  for (const std::int64_t token : asked.tokens) constants.push_back(head.constant(token));
  if (asked.against) {
    const Matrix<float> other = head.directions(std::span(&*asked.against, 1));
    for (std::int64_t col = 0; col < other.cols(); ++col) directions(0, col) -= other(0, col);
    constants.front() -= head.constant(*asked.against);
  }
  Attribution found =
      attribute(pass, head, prompt.tokens, asked.rows, directions, constants, watchers, compute);
  return {.parts = std::move(found.parts),
          .logit = pass.predicts_labels() ? centered_label_logit(pass, asked, found.states, compute)
                                          : centered_logit(pass, asked, found.states, compute)};
}

/// Adds the effects by message role: null for components other than heads.
void add_effects_of_roles(Record& row, const DirectPart& part) {
  for (std::size_t role = 0; role < kMessageRoles.size(); ++role) {
    Value mean;
    if (!part.of_roles.empty()) mean = mean_over_prompts(part.of_roles[role]).mean;
    row.add(std::string(kMessageRoles[role]) + "_effect", std::move(mean));
  }
}

void check_attribution(const ForwardPass& pass, const Prompt& prompt, const AskedTokens& asked,
                       bool of_label) {
  if (of_label) {
    pass.check(prompt.tokens);
    return check_attributable(pass);
  }
  check_predicts_tokens(pass, {}, MaskToken(0));
  pass.check(prompt.tokens);
  check_attributable(pass);
  if (asked.token) return;
  check_predicts_tokens(pass, {prompt.tokens}, MaskToken());
}

/// The labels as the tokens of a classifier.
AskedTokens labels_of(const ForwardPass& pass, const AskedLabels& labels) {
  AskedTokens out{.token = label_named(pass, labels.label, "label")};
  if (!labels.against.empty()) out.against = label_named(pass, labels.against, "against");
  return out;
}

}  // namespace

void check_attributable(const ForwardPass& pass) {
  const Model& model = pass.model();
  std::string obstacle;
  if (pass.predicts_labels()) {
    obstacle = LinearHead::label_obstacle(pass);
  } else {
    obstacle = model.spec().causal ? LinearHead::obstacle(pass) : "it does not predict next tokens";
  }
  if (obstacle.empty()) return;
  throw Error(ErrorKind::unsupported,
              {.parameter = "attribution",
               .problem = model.name() +
                          " does not support direct logit attribution, because its logits are not "
                          "a sum of component outputs: " +
                          verbatim(obstacle)});
}

void run_attribution(std::span<const Model> models, const AttributionRequest& request,
                     const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  std::vector<FoundParts> found(models.size());
  std::vector<AskedTokens> asked_tokens = request.asked;
  if (request.labels) {
    check_labels_texts(models, "label");
    asked_tokens.clear();
    for (std::size_t index = 0; index < models.size(); ++index) {
      asked_tokens.push_back(labels_of(ready.pass(index), *request.labels));
    }
  }
  std::vector<AskedLogits> asked;
  std::vector<QueueItem> items;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Prompt& prompt = request.prompts[index];
    const bool of_label = request.labels.has_value();
    check_attribution(ready.pass(index), prompt, asked_tokens[index], of_label);
    note_past_context(ready.pass(index), {.tokens = std::span(&prompt.tokens, 1)}, sink);
    asked.push_back(asked_logits(ready.pass(index), prompt, asked_tokens[index], of_label));
    if (models[index].spec().head.soft_cap && !of_label) {
      sink.add_note(models[index].name() + ": logits are attributed before soft-capping");
    }
    const auto tokens = std::ssize(prompt.tokens);
    items.push_back({.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                              static_cast<double>(tokens),
                     .memory_bytes = run_bytes(models[index].spec(), /*sequences=*/1, tokens),
                     .run = [&, index](const Compute& compute) {
                       found[index] = attribute_text(ready.pass(index), request.prompts[index],
                                                     asked[index], context.watchers, compute);
                     }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "predict", .parameters = {{"attribution", true}}};
  if (request.labels) head.parameters.add("label", request.labels->label);
  for (const auto& [name, value] : request.text.fields()) head.parameters.add(name, value);
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Tokenizer* tokenizer = request.prompts[index].tokenizer;
    const auto token_of = [&](const std::optional<std::int64_t>& id) {
      return id ? Value(Record{{"id", *id}, {"text", token_value(tokenizer, *id)}}) : Value();
    };
    const auto label_of_id = [&](const std::optional<std::int64_t>& id) {
      return id ? Value(
                      Record{{"id", *id}, {"text", label_name(*models[index].spec().labels, *id)}})
                : Value();
    };
    const AskedTokens& own = asked_tokens[index];
    Record facts = facts_record(summarize(models[index]));
    facts.add("attributed",
              Record{{"token", request.labels ? label_of_id(own.token) : token_of(own.token)},
                     {"against", request.labels ? label_of_id(own.against) : token_of(own.against)},
                     {"positions", std::ssize(asked[index].rows)},
                     {"logit", found[index].logit}});
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    for (const DirectPart& part : found[index].parts) {
      Record row = {{"model", models[index].name()},
                    {"layer", part.layer},
                    {"head", part.head},
                    {"component", part.component},
                    {"direct_effect", mean_over_prompts(part.logits).mean}};
      if (!request.prompts[index].tokens.roles.empty()) add_effects_of_roles(row, part);
      sink.add_row(std::move(row));
    }
  }
  sink.end();
}

// `predict --attribution --prompts`: the direct effect of each component on the logit difference
// between correct and incorrect answers.
namespace {

struct AttributedPrompts {
  std::vector<DirectPart> parts;    // `logits`: one per prompt
  std::vector<double> differences;  // of the model
};

AttributedPrompts attribute_prompts(const ForwardPass& pass, const LinearHead& head,
                                    const std::vector<TokenIds>& texts,
                                    const AnsweredPrompts& prompts,
                                    std::span<BatchWatcher* const> watchers,
                                    const Compute& compute) {
  AttributedPrompts out;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::int64_t right = prompts.right[at], wrong = prompts.wrong[at];
    Matrix<float> direction = head.directions(std::span(&right, 1));
    const Matrix<float> other = head.directions(std::span(&wrong, 1));
    for (std::int64_t col = 0; col < other.cols(); ++col) direction(0, col) -= other(0, col);
    const double constant = head.constant(right) - head.constant(wrong);
    const std::int64_t row = std::ssize(texts[at]) - 1;
    const Attribution found = attribute(pass, head, texts[at], std::span(&row, 1), direction,
                                        std::span(&constant, 1), watchers, compute);
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

/// Of one component.
struct DirectCertainty {
  std::optional<BootstrapInterval> effect;  // mean direct effect on clean prompts
  Certainty share;
};

struct BothAttributed {
  AttributedPrompts clean, corrupted;
  std::vector<DirectCertainty> certainties = {};  // of each component

  Preference preference() const { return preference_of(clean.differences, corrupted.differences); }

  /// Direct effects of a component on corrupted prompts; empty without them.
  std::vector<double> corrupted_at(std::size_t part) const {
    return corrupted.parts.empty() ? std::vector<double>() : corrupted.parts[part].logits;
  }

  void add_certainties(const std::vector<std::int64_t>& groups) {
    const Preference whole = preference();
    const std::vector<double> wholes = whole.whole() > 0 ? whole.wholes : std::vector<double>();
    for (std::size_t at = 0; at < clean.parts.size(); ++at) {
      const std::vector<double>& direct = clean.parts[at].logits;
      certainties.push_back(
          {.effect = interval_of_mean(direct, groups),
           .share = certainty_of(prompt_differences(direct, corrupted_at(at)), wholes, groups)});
    }
  }
};

void add_direct_rows(const std::string& model, const BothAttributed& found,
                     const std::vector<std::int64_t>& groups, RowSink& sink) {
  const Preference whole = found.preference();
  TestedRows rows(model, whole.wholes.size(), groups, {tested_share()}, sink);
  for (std::size_t at = 0; at < found.clean.parts.size(); ++at) {
    const DirectPart& part = found.clean.parts[at];
    const std::vector<double> corrupted = found.corrupted_at(at);
    const MeanWithError direct = mean_over_prompts(part.logits);
    const MeanWithError share = share_of(part.logits, corrupted, whole);
    Record row = {{"model", model},
                  {"layer", part.layer},
                  {"head", part.head},
                  {"component", part.component},
                  {"direct_effect", direct.mean},
                  {"direct_effect_error", direct.standard_error},
                  {"corrupted_direct_effect", mean_over_prompts(corrupted).mean},
                  {"share", share.mean},
                  {"share_error", share.standard_error}};
    add_interval(row, "direct_effect", found.certainties[at].effect);
    rows.add(std::move(row), {found.certainties[at].share});
  }
  rows.finish();
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
    const TextRows tokens = prompt_rows(prompts);
    items.push_back(
        {.flops = static_cast<double>(forward_weights_bytes(models[index])) *
                  static_cast<double>(tokens.all),
         .memory_bytes = run_bytes(models[index].spec(), /*sequences=*/1, tokens.longest),
         .run = [&, index](const Compute& compute) {
           const ForwardPass& pass = ready.pass(index);
           const LinearHead head(pass, mean_output_row(pass, compute));
           found[index].clean =
               attribute_prompts(pass, head, prompts.clean, prompts, context.watchers, compute);
           found[index].corrupted =
               attribute_prompts(pass, head, prompts.corrupted, prompts, context.watchers, compute);
           found[index].add_certainties(request.groups);
         }});
  }
  run_queue(items, ready.rest(), {}, {"model", "models"});

  ReportHead head{.command = "predict", .parameters = {{"attribution", true}}};
  for (const auto& [name, value] : request.parameters.fields()) head.parameters.add(name, value);
  add_edits_hash(head.parameters, context, models);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Preference preference = found[index].preference();
    Record facts = facts_record(summarize(models[index]));
    facts.add("attributed", Record{{"token", Value()},
                                   {"against", Value()},
                                   {"positions", std::ssize(found[index].clean.differences)},
                                   {"logit", preference.clean},
                                   {"corrupted_logit", preference.corrupted}});
    head.models.push_back(std::move(facts));
  }
  sink.begin(head);
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (models[index].spec().head.soft_cap) {
      sink.add_note(models[index].name() + ": logits are attributed before soft-capping");
    }
    note_preference(models[index].name(), found[index].preference(), sink);
    add_direct_rows(models[index].name(), found[index], request.groups, sink);
  }
  sink.end();
}

}  // namespace attnscope
