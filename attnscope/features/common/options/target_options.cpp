#include "attnscope/features/common/options/target_options.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/forward/generation/greedy_decoding.h"
#include "attnscope/forward/generation/logits_processors.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

using enum ParameterType;

[[noreturn]] void refuse_target(const std::string& problem) {
  throw Error(ErrorKind::usage, {.parameter = "target", .problem = problem});
}

[[noreturn]] void refuse_targets(const PairedFiles& files, const std::string& problem) {
  throw Error(ErrorKind::usage, {.parameter = files.targets, .problem = problem});
}

/// The start token, followed by target_labels().
TokenIds labels_after_start(const Model& model, const Tokenizer* tokenizer, std::string_view text) {
  std::optional<Tokenizer> own;
  if (tokenizer == nullptr) tokenizer = &own.emplace(tokenizer_of(model));
  const TokenIds labels = target_labels(model, *tokenizer, text);
  TokenIds ids = {start_token(model)};
  ids.insert(ids.end(), labels.begin(), labels.end());
  return ids;
}

/// The lines of a file, without LF or CRLF. The last line may lack its line end.
std::vector<std::string> lines_of(const Session& session, const std::string& file) {
  std::string text = session.files->read_text(file, kTextLimitBytes);
  check_text(text, {.file = file});
  if (text.ends_with('\n')) text.pop_back();
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

struct PairedLines {
  std::vector<std::string> sources, targets;
};

/// The lines of both files: as many, and each pair with two texts or none. At least one has texts.
PairedLines paired_lines(const Arguments& arguments, const Session& session,
                         const PairedFiles& files = {}) {
  const std::string option = "{" + std::string(files.sources) + "}";
  const std::string of_sources = arguments.text(files.sources);
  if (of_sources.empty()) {
    refuse_targets(files, "requires " + option + ", whose lines are the source texts");
  }
  const std::string of_targets = arguments.text(files.targets);
  PairedLines lines{.sources = lines_of(session, of_sources),
                    .targets = lines_of(session, of_targets)};
  if (lines.sources.size() != lines.targets.size()) {
    refuse_targets(files, "has " + counted(lines.targets.size(), "line") + ", and " + option +
                              " has " + std::to_string(lines.sources.size()));
  }
  bool has_text = false;
  for (std::size_t line = 0; line < lines.sources.size(); ++line) {
    const bool no_source = lines.sources[line].empty(), no_target = lines.targets[line].empty();
    has_text = has_text || !no_source;
    if (no_source == no_target) continue;
    throw Error(ErrorKind::usage, {.file = no_source ? of_sources : of_targets,
                                   .problem = "line " + std::to_string(line + 1) + " is empty"});
  }
  if (!has_text) refuse_targets(files, "has no text");
  return lines;
}

/// The decoder input for these labels: all tokens except the end token.
TokenIds without_end(TokenIds ids, const Model& model, const Tokenizer* tokenizer) {
  const TokenIds ends = end_tokens(model, tokenizer);
  const bool ended =
      ids.size() > 1 && std::find(ends.begin(), ends.end(), ids.back()) != ends.end();
  if (ended) ids.pop_back();
  return ids;
}

/// Keeps the requested number of lines, or `usual`. Returns the seed of the random choice, or
/// nothing if the lines are in order.
std::optional<std::uint64_t> choose_pairs(const Arguments& arguments,
                                          std::optional<std::int64_t> usual, TargetTexts& texts) {
  const std::int64_t count = std::ssize(texts.pairs);
  const std::optional<std::int64_t> asked = arguments.integer("sequences");
  if (asked && *asked > count) {
    throw Error(ErrorKind::usage,
                {.file = arguments.text("target_file"),
                 .problem = "has " + counted(count, "line") +
                            " with text, fewer than {sequences} " + std::to_string(*asked)});
  }
  WindowRequest request{
      .sequences = asked.value_or(usual.value_or(count)), .length = 1, .or_fewer = true};
  if (request.sequences >= count) return std::nullopt;
  request.sample = sample_of(arguments, request, count);
  std::vector<TargetPair> chosen;
  for (const std::int64_t line : window_starts(count, request, arguments.text("target_file"))) {
    chosen.push_back(std::move(texts.pairs[static_cast<std::size_t>(line)]));
  }
  texts.pairs = std::move(chosen);
  return request.sample;
}

Value seed_value(std::optional<std::uint64_t> seed) {
  return seed ? Value(static_cast<std::int64_t>(*seed)) : Value();
}

/// Pairs of lines: targets with their sources for a decoder or cross-attention, and only the
/// sources for an encoder.
TokenSequences line_sequences(const Arguments& arguments, const Session& session,
                              const Model& model, const UsualWindows& usual) {
  TargetTexts texts = target_texts(arguments, session, model);
  const auto seed = choose_pairs(arguments, usual.sequences, texts);
  TokenSequences out;
  out.tokenizer = texts.tokenizer;
  const ScorePositions positions(arguments, session);
  const bool scores = positions.given() && needs_target(model);  // positions in the target
  if (scores) out.scored = target_flags(texts.pairs, positions);
  std::int64_t longest_source = 0, longest_target = 0;
  for (TargetPair& pair : texts.pairs) {
    TokenIds target = without_end(std::move(pair.target), model, out.tokenizer.get());
    longest_source = std::max(longest_source, std::ssize(pair.source));
    longest_target = std::max(longest_target, std::ssize(target));
    if (scores)
      out.scored[out.of_model.size()].resize(target.size());  // the end token is not an input
    if (needs_target(model)) {
      out.of_model.push_back(std::move(target));
      out.sources.push_back(std::move(pair.source));
    } else {
      out.of_model.push_back(std::move(pair.source));
    }
  }
  out.parameters = {{"source", texts.source},
                    {"sequences", std::ssize(out.of_model)},
                    {"length", longest_source},
                    {"seed", seed_value(seed)}};
  if (needs_target(model)) out.parameters.add("target_length", longest_target);
  if (scores) {
    check_scored(out.scored, /*writes=*/true);
    positions.add_to(out.parameters);
  }
  return out;
}

/// Images or audio, all of the same shape.
TokenSequences media_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const std::string& sent) {
  TokenSequences out;
  out.media_inputs = media_inputs_of(arguments, session, model, sent);
  out.parameters = {{"source", media_source(arguments)},
                    {"sequences", std::ssize(out.media_inputs)},
                    {"length", rows_of_media(reader_of(model), out.media_inputs.front())},
                    {"seed", Value()}};
  return out;
}

}  // namespace

Parameters target_parameters() {
  return {{.name = "target",
           .type = text,
           .group = OptionGroup::input,
           .help = "encoder-decoder models: target text of the decoder; the other text is the "
                   "source",
           .metavariable = "TEXT"},
          {.name = "target_tokens",
           .type = text,
           .group = OptionGroup::input,
           .help = "encoder-decoder models: target token ids, including the start token",
           .metavariable = "IDS"}};
}

Parameters pair_parameters() {
  return joined({target_parameters(),
                 {{.name = "target_file",
                   .type = file,
                   .group = OptionGroup::input,
                   .help = "encoder-decoder models: file with a target text for each line of "
                           "{text_file}",
                   .metavariable = "FILE"}}});
}

std::vector<Exclusion> pair_exclusions(bool with_windows) {
  std::vector<Exclusion> out = {
      {"target", {"target_tokens", "target_file"}, "gives the target"},
      {"target_tokens", {"target_file"}, "gives the target"},
      {"target_file", {"text", "tokens"}, "has a line for each of {text_file}"}};
  if (!with_windows) return out;
  for (const char* target : {"target", "target_tokens"}) {
    out.push_back({target,
                   {"token_file", "sequences", "length", "seed", "consecutive", "lines"},
                   "is not split into windows"});
  }
  out.push_back({"target_file", {"token_file", "length"}, "is run line by line"});
  return out;
}

std::vector<Exclusion> line_target_exclusions() {
  std::vector<Exclusion> out = pair_exclusions(/*with_windows=*/false);
  out.push_back({"target_file", {"token_file", "length"}, "is run line by line"});
  out.push_back({"target_file",
                 {"image", "pixel_values", "audio", "features"},
                 "has a line for each of {text_file}"});
  return out;
}

bool target_is_given(const Arguments& arguments) {
  return std::any_of(std::begin(kTargetParameters), std::end(kTargetParameters),
                     [&](std::string_view name) { return arguments.given(name); });
}

TokenIds target_labels(const Model& model, const Tokenizer& tokenizer, std::string_view text) {
  TokenIds ids = tokenizer.encode(text, /*special=*/true);
  const TokenIds ends = end_tokens(model, &tokenizer);
  const auto ended = std::find_if(ids.begin(), ids.end(), [&](std::int64_t id) {
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  });
  if (ended != ids.end()) ids.erase(ended + 1, ids.end());
  const bool hears = reader_of(model).spec().stream.audio.has_value();
  if (hears && !ids.empty() && ids.front() == start_token(model)) ids.erase(ids.begin());
  return ids;
}

std::int64_t start_token(const Model& model) {
  if (const auto start = generation_rules(model, {}).start) return *start;
  throw Error(ErrorKind::usage, {.file = model.spec().source,
                                 .problem = "has no decoder_start_token_id",
                                 .hint = "pass {target_tokens}, including the start token"});
}

TokenIds decoder_input(const Model& model, const Tokenizer* tokenizer, const std::string& text) {
  return without_end(labels_after_start(model, tokenizer, text), model, tokenizer);
}

std::optional<TokenIds> given_target(const Arguments& arguments, const Model& model,
                                     const Tokenizer* tokenizer) {
  if (arguments.given("target_tokens")) return parse_ids(arguments, "target_tokens");
  if (!arguments.given("target")) return std::nullopt;
  const std::string text = arguments.text("target");
  check_text(text, {.parameter = "target"});
  return decoder_input(model, tokenizer, text);
}

TokenSequences model_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual,
                               const std::string& sent) {
  const bool paired = arguments.given("target_file") && is_of_encoder_decoder(model);
  if (paired) return line_sequences(arguments, session, model, usual);
  const bool decodes = needs_target(model);
  // For a decoder, the positions refer to its target.
  const Arguments of_text =
      decodes ? arguments.without(std::array<std::string_view, 1>{"score_positions"}) : arguments;
  TokenSequences out =
      named_media_parameter(arguments).empty()
          ? token_sequences(of_text, session, model, decodes ? UsualWindows{.sequences = 1} : usual)
          : media_sequences(arguments, session, model, sent);
  if (!decodes) return out;
  if (std::max(out.of_model.size(), out.media_inputs.size()) > 1) {
    refuse_target("requires a single source text: pass {sequences} 1");
  }
  const auto target = given_target(arguments, model, out.tokenizer.get());
  out.sources = std::exchange(out.of_model, {*target});
  out.parameters.add("target_length", std::ssize(*target));
  const ScorePositions positions(arguments, session);
  if (!positions.given()) return out;
  positions.check_examples({&*target, 1});
  out.scored = {positions.of(0, std::ssize(*target))};
  check_scored(out.scored, /*writes=*/true);
  positions.add_to(out.parameters);
  return out;
}

void check_target_lines(const std::vector<Model>& models, const Arguments& arguments,
                        const Session& session) {
  paired_lines(arguments, session);
  const ScorePositions positions(arguments, session);
  if (!positions.given()) return;
  std::set<const Model*> checked;  // decoders; encoder and decoder share a tokenizer
  for (const Model& model : models) {
    if (!is_of_encoder_decoder(model) || !checked.insert(model.sibling("decoder")).second) continue;
    target_flags(target_texts(arguments, session, model).pairs, positions);
  }
}

TargetTexts target_texts(const Arguments& arguments, const Session& session, const Model& model) {
  if (!arguments.given("target_file")) {
    if (!target_is_given(arguments)) {
      refuse_target("missing target text: pass {target}, {target_tokens} or {target_file}");
    }
    const TokenizedText text = tokenized_text(arguments, session, model);
    const Tokenizer* tokenizer = text.tokenizer ? &*text.tokenizer : nullptr;
    TokenIds target;
    if (arguments.given("target")) {
      const std::string said = arguments.text("target");
      check_text(said, {.parameter = "target"});
      target = labels_after_start(model, tokenizer, said);
    } else {
      target = parse_ids(arguments, "target_tokens");
    }
    return {.pairs = {{.source = text.tokens, .target = std::move(target)}}, .source = text.source};
  }
  return target_lines(arguments, session, model);
}

TargetTexts target_lines(const Arguments& arguments, const Session& session, const Model& model,
                         const PairedFiles& files) {
  const PairedLines lines = paired_lines(arguments, session, files);
  const std::string file = arguments.text(files.sources);
  TargetTexts out{.pairs = {},
                  .source = file.substr(file.rfind('/') + 1),
                  .tokenizer = std::make_shared<const Tokenizer>(tokenizer_of(model))};
  const Tokenizer& tokenizer = *out.tokenizer;
  for (std::size_t line = 0; line < lines.sources.size(); ++line) {
    if (lines.sources[line].empty()) continue;
    out.pairs.push_back({.source = tokenizer.encode(lines.sources[line], /*special=*/true),
                         .target = labels_after_start(model, &tokenizer, lines.targets[line])});
  }
  return out;
}

ScoredTokens target_flags(const std::vector<TargetPair>& pairs, const ScorePositions& positions) {
  positions.check_examples(pairs.size(), pairs.size(),
                           [&](std::size_t pair) { return std::ssize(pairs[pair].target); });
  ScoredTokens scored;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    scored.push_back(positions.of(pair, std::ssize(pairs[pair].target)));
  }
  check_scored(scored, /*writes=*/true);
  return scored;
}

ScoredTexts scored_texts_or_targets(const Arguments& arguments, const Session& session,
                                    const std::vector<Model>& models, RowSink& sink) {
  const auto other = std::find_if_not(models.begin(), models.end(), is_of_encoder_decoder);
  if (std::none_of(models.begin(), models.end(), is_of_encoder_decoder)) {
    check_targets(models, arguments);
    return scored_texts(arguments, session, models, sink);
  }
  if (other != models.end()) {
    throw Error(ErrorKind::usage, {.parameter = "models",
                                   .problem = "encoder-decoder models need a target, but " +
                                              verbatim(other->name()) + " takes none",
                                   .hint = "run these models separately"});
  }
  ScoredTexts texts;
  const ScorePositions positions(arguments, session);
  for (const Model& model : models) {
    TargetTexts pairs = target_texts(arguments, session, model);
    const auto seed = arguments.given("target_file") ? choose_pairs(arguments, std::nullopt, pairs)
                                                     : std::nullopt;
    auto& targets = texts.sequences.emplace_back();
    auto& sources = texts.sources.emplace_back();
    std::int64_t longest_source = 0, longest_target = 0;
    for (const TargetPair& pair : pairs.pairs) {
      sources.push_back(pair.source);
      targets.push_back(pair.target);
      longest_source = std::max(longest_source, std::ssize(pair.source));
      longest_target = std::max(longest_target, std::ssize(pair.target) - 1);
    }
    texts.masks.emplace_back();
    if (positions.given()) texts.scored.push_back(target_flags(pairs.pairs, positions));
    texts.parameters = {{"source", pairs.source},
                        {"sequences", std::ssize(targets)},
                        {"length", longest_source},
                        {"seed", seed_value(seed)},
                        {"target_length", longest_target}};
    positions.add_to(texts.parameters);
  }
  return texts;
}

}  // namespace attnscope
