#include "attnscope/forward/generation/decoder_prompt.h"

#include <algorithm>
#include <optional>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/forward/generation/generation_config.h"
#include "attnscope/forward/generation/logits_processors.h"
#include "attnscope/forward/logits.h"

namespace attnscope {
namespace {

using Open = std::vector<std::optional<std::int64_t>>;

/// Adds the forced tokens for the positions after the first one, in order.
void add_forced(const GenerationFile& file, const GenerationFile& config, Open& tokens) {
  constexpr const char* kKey = "forced_decoder_ids";
  const auto own = file.places(kKey);
  const auto places = own ? own : config.places(kKey);
  if (!places || places->empty() || places->front().at != 1) return;
  for (const GenerationFile::Place& place : *places) {
    if (place.at != std::ssize(tokens))
      file.refuse(kKey, "a list with one token per position, starting at 1");
    tokens.push_back(place.token);
  }
}

std::int64_t token_of_language(const GenerationFile& file, const std::string& language) {
  const auto ids = file.named_ids("lang_to_id");
  if (ids) {
    for (const std::string& name : {language, "<|" + language + "|>"}) {
      if (const auto found = ids->find(name); found != ids->end()) return found->second;
    }
  }
  file.refuse("language", "a key of 'lang_to_id'");
}

std::int64_t token_of_task(const GenerationFile& file, const std::string& task) {
  const auto ids = file.named_ids("task_to_id");
  const auto found = ids ? ids->find(task) : std::map<std::string, std::int64_t>::const_iterator();
  if (!ids || found == ids->end()) file.refuse("task", "a key of 'task_to_id'");
  return found->second;
}

void add_task(const GenerationFile& file, Open& tokens) {
  if (const auto task = file.text("task")) {
    tokens.push_back(token_of_task(file, *task));
    return;
  }
  const auto tasks = file.named_ids("task_to_id");
  if (!file.text("language") || !tasks) return;
  const bool named = std::any_of(tasks->begin(), tasks->end(), [&](const auto& task) {
    return std::find(tokens.begin(), tokens.end(), task.second) != tokens.end();
  });
  if (!named) tokens.push_back(token_of_task(file, "transcribe"));
}

/// Adds or removes the no-timestamps token: audio models write timestamps unless it is present.
void add_times(const GenerationFile& file, Open& tokens) {
  const auto without = file.number("no_timestamps_token_id");
  if (!without) return;
  const bool last = tokens.back() == without;
  if (file.flag("return_timestamps")) {
    if (last) tokens.pop_back();
  } else if (!last) {
    tokens.push_back(without);
  }
}

}  // namespace

DecoderPrompt decoder_prompt(const Model& decoder) {
  DecoderPrompt out;
  const auto start = generation_rules(decoder, {}).start;
  if (!start) return out;
  const Model* encoder = decoder.sibling("encoder");
  out.tokens = {*start};
  if (encoder == nullptr || !encoder->spec().stream.audio) return out;

  const GenerationFile file = GenerationFile::of(decoder);
  Open tokens = {*start};
  const auto language = file.text("language");
  if (!language && !file.text("task")) {
    add_forced(file, GenerationFile::config_of(decoder), tokens);
  }
  const auto languages = file.named_ids("lang_to_id");
  const bool is_open = tokens.size() < 2 || !tokens[1];
  std::optional<std::int64_t> second;
  if (language) {
    second = token_of_language(file, *language);
  } else if (is_open && languages && !languages->empty()) {
    for (const auto& [name, id] : *languages) out.languages.push_back(id);
    std::sort(out.languages.begin(), out.languages.end());
    second = out.languages.front();
  }
  if (second) {
    tokens.resize(std::max(tokens.size(), std::size_t{2}));
    tokens[1] = second;
  }
  add_task(file, tokens);
  add_times(file, tokens);
  out.tokens.clear();
  for (const auto& token : tokens) {
    if (token) out.tokens.push_back(*token);
  }
  return out;
}

TokenIds with_language(const ForwardPass& decoder, const DecoderPrompt& prompt,
                       const EncoderOutput& encoder_output, const Compute& compute) {
  if (prompt.languages.empty()) return prompt.tokens;
  const TokenIds start = {prompt.tokens.front()};
  const Matrix<float> states = decoder.run(std::span(&start, 1), {}, compute, {}, &encoder_output);
  const Matrix<float> logits = finite_logits(decoder, states.view(), compute);
  TokenIds tokens = prompt.tokens;
  float largest = 0;
  bool found = false;
  for (const std::int64_t language : prompt.languages) {
    if (language >= logits.cols()) continue;
    const float logit = logits(0, language);
    if (found && logit <= largest) continue;
    found = true;
    largest = logit;
    tokens[1] = language;
  }
  return tokens;
}

}  // namespace attnscope
