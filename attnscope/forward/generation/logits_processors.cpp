#include "attnscope/forward/generation/logits_processors.h"

#include <algorithm>
#include <limits>

#include "attnscope/forward/generation/generation_config.h"

namespace attnscope {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// Forbids a token. Tokens that the LM head does not have are ignored.
void forbid(std::span<float> logits, std::int64_t token) {
  if (token >= 0 && token < std::ssize(logits))
    logits[static_cast<std::size_t>(token)] = kForbidden;
}

void allow_only(std::span<float> logits, std::int64_t token) {
  if (token >= std::ssize(logits)) return;
  std::fill(logits.begin(), logits.end(), kForbidden);
  logits[static_cast<std::size_t>(token)] = 0;
}

void punish_repeated(double penalty, std::span<const std::int64_t> text, std::span<float> logits) {
  TokenIds seen(text.begin(), text.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  const auto factor = static_cast<float>(penalty);
  for (const std::int64_t token : seen) {
    if (token >= std::ssize(logits)) continue;
    float& logit = logits[static_cast<std::size_t>(token)];
    logit = logit < 0 ? logit * factor : logit / factor;
  }
}

/// Returns whether the text ends with these tokens.
bool ends_with(std::span<const std::int64_t> text, std::span<const std::int64_t> run) {
  return text.size() >= run.size() &&
         std::equal(run.begin(), run.end(), text.end() - std::ssize(run));
}

void forbid_repeated_runs(std::int64_t length, std::span<const std::int64_t> text,
                          std::span<float> logits) {
  const auto before = static_cast<std::size_t>(length - 1);
  if (text.size() + 1 < static_cast<std::size_t>(length)) return;
  const auto last = text.last(before);
  for (std::size_t at = 0; at + before < text.size(); ++at) {
    const auto run = text.subspan(at, before);
    if (std::equal(run.begin(), run.end(), last.begin())) forbid(logits, text[at + before]);
  }
}

}  // namespace

GenerationRules generation_rules(const Model& model, TokenIds ends) {
  const GenerationFile rules = GenerationFile::of(model);
  GenerationRules out{.start = rules.number("decoder_start_token_id"),
                      .forced_first = rules.number("forced_bos_token_id"),
                      .forced_last = rules.number("forced_eos_token_id"),
                      .suppressed = rules.ids("suppress_tokens"),
                      .suppressed_first = rules.ids("begin_suppress_tokens"),
                      .banned = rules.runs("bad_words_ids"),
                      .ends = std::move(ends),
                      .least = rules.number("min_length").value_or(0),
                      .least_written = rules.number("min_new_tokens").value_or(0),
                      .repeated = rules.number("no_repeat_ngram_size").value_or(0),
                      .penalty = rules.real("repetition_penalty", 1),
                      .beams = rules.number("num_beams").value_or(1),
                      .times = rules.flag("return_timestamps")};
  const GenerationFile config = GenerationFile::config_of(model);
  if (!out.start) out.start = config.number("decoder_start_token_id");
  if (!out.start) out.start = rules.number("bos_token_id");
  if (!out.start) out.start = config.number("bos_token_id");
  // End tokens must stay allowed.
  std::erase_if(out.banned, [&](const TokenIds& run) {
    return run.size() == 1 &&
           std::find(out.ends.begin(), out.ends.end(), run.front()) != out.ends.end();
  });
  return out;
}

void apply_rules(const GenerationRules& rules, std::span<const std::int64_t> text,
                 std::int64_t prompt, std::int64_t most, std::span<float> logits) {
  const std::int64_t tokens = std::ssize(text), written = tokens - prompt;
  if (rules.penalty != 1) punish_repeated(rules.penalty, text, logits);
  if (rules.repeated > 0) forbid_repeated_runs(rules.repeated, text, logits);
  for (const TokenIds& run : rules.banned) {
    if (run.size() > 1 && std::ssize(run) > tokens) continue;
    if (ends_with(text, std::span(run).first(run.size() - 1))) forbid(logits, run.back());
  }
  if (tokens < rules.least || written < rules.least_written) {
    for (const std::int64_t end : rules.ends) forbid(logits, end);
  }
  if (rules.forced_first && tokens == 1) allow_only(logits, *rules.forced_first);
  if (rules.forced_last && written == most - 1) allow_only(logits, *rules.forced_last);
  for (const std::int64_t token : rules.suppressed) forbid(logits, token);
  const std::int64_t first = prompt + (prompt == 1 && rules.forced_first ? 1 : 0);
  if (tokens == first) {
    for (const std::int64_t token : rules.suppressed_first) forbid(logits, token);
  }
}

}  // namespace attnscope
