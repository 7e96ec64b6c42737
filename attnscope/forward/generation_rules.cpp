#include "attnscope/forward/generation_rules.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kRulesLimitBytes = 10'000'000;
constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// Values of one file; null stands for a key that is not there.
class RuleReader {
 public:
  RuleReader(json object, std::string file) : object_(std::move(object)), file_(std::move(file)) {}

  std::optional<std::int64_t> number(const char* key) const {
    const json value = value_of(key);
    if (value.is_null()) return std::nullopt;
    return number_of(value, key);
  }

  double real(const char* key, double otherwise) const {
    const json value = value_of(key);
    if (value.is_null()) return otherwise;
    if (!value.is_number() || !(value.get<double>() > 0)) refuse(key, "a positive number");
    return value.get<double>();
  }

  TokenIds ids(const char* key) const {
    const json value = value_of(key);
    if (value.is_null()) return {};
    return ids_of(value, key);
  }

  std::vector<TokenIds> runs(const char* key) const {
    const json value = value_of(key);
    std::vector<TokenIds> out;
    if (value.is_null()) return out;
    if (!value.is_array()) refuse(key, "a list of lists of token ids");
    for (const json& run : value) {
      out.push_back(ids_of(run, key));
      if (out.back().empty()) refuse(key, "a list of lists of token ids");
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* expected) const {
    throw Error(ErrorKind::format,
                {.file = file_, .problem = "'" + std::string(key) + "' is not " + expected});
  }

  json value_of(const char* key) const {
    return object_.is_object() ? object_.value(key, json()) : json();
  }

  std::int64_t number_of(const json& value, const char* key) const {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{kMaxSize}) {
      refuse(key, "a whole number, not negative");
    }
    return value.get<std::int64_t>();
  }

  TokenIds ids_of(const json& value, const char* key) const {
    if (!value.is_array()) refuse(key, "a list of token ids");
    TokenIds out;
    for (const json& id : value) out.push_back(number_of(id, key));
    return out;
  }

  json object_;
  std::string file_;
};

/// The value at a token's logit; a token that the head does not have changes nothing.
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

/// Whether the text ends with these.
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
  constexpr const char* kName = "generation_config.json";
  const CheckpointFolder& folder = model.checkpoint().folder();
  const RuleReader config(parse_json(model.spec().text, model.spec().source), model.spec().source);
  RuleReader rules = config;
  if (folder.has(kName)) {
    const std::string place = folder.place_of(kName);
    rules = RuleReader(parse_json(folder.read_text(kName, kRulesLimitBytes), place), place);
  }
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
                      .beams = rules.number("num_beams").value_or(1)};
  if (!out.start) out.start = config.number("decoder_start_token_id");
  if (!out.start) out.start = rules.number("bos_token_id");
  if (!out.start) out.start = config.number("bos_token_id");
  // A text may end where it is to end.
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
