#include "attnscope/features/common/options/token_sequences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/inputs/text/token_shard.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxSequences = 1'000'000;

/// The maximum number of tokens of a text, limited by the context and the position embeddings.
std::int64_t longest_text_of(const Session& session, const Model& model) {
  const auto context = model.dimensions().context.value_or(kMaxSequences);
  // RoBERTa's config counts two positions that no token uses.
  if (model.spec().stream.embedding.positions.empty()) return context;
  const Compute compute{.kernels = session.context.kernels, .stop = session.context.stop};
  return std::min(context, ForwardPass(model, /*copy_weights=*/false, compute).longest());
}

/// Lines are whole examples, so they are cut only at the end of the model's context.
std::int64_t window_length(const Arguments& arguments, const Session& session, const Model& model,
                           const UsualWindows& usual) {
  constexpr std::int64_t kLongestLine = 1024;
  if (const auto length = arguments.integer("length")) return *length;
  return std::min(arguments.flag("lines") ? kLongestLine : usual.length,
                  longest_text_of(session, model));
}

}  // namespace

std::optional<std::uint64_t> sample_of(const Arguments& arguments, const WindowRequest& request,
                                       std::int64_t tokens) {
  constexpr std::uint64_t kUsualSeed = 0;
  if (const auto seed = arguments.integer("seed")) return static_cast<std::uint64_t>(*seed);
  if (arguments.flag("consecutive") || request.sequences == 1) return std::nullopt;
  const bool has_more = tokens / request.length > request.sequences;
  return has_more ? std::optional(kUsualSeed) : std::nullopt;
}

Parameters window_parameters(const UsualWindows& usual) {
  return {{.name = "token_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "input shard of token ids (.bin: header, then uint16)",
           .metavariable = "FILE"},
          {.name = "sequences",
           .type = integer,
           .group = OptionGroup::input,
           .help = "number of windows to use from the file",
           .metavariable = "N",
           .least = 1,
           .most = kMaxSequences,
           .default_words =
               std::to_string(usual.sequences) + ", or all if there are fewer" +
               (usual.sequences == UsualWindows().sequences ? "; 8 for random tokens" : "")},
          {.name = "length",
           .type = integer,
           .group = OptionGroup::input,
           .help = "tokens per window",
           .metavariable = "T",
           .least = 1,
           .most = kMaxSequences,
           .default_words = std::to_string(usual.length) + ", at most the context length"},
          {.name = "seed",
           .type = integer,
           .group = OptionGroup::input,
           .help = "seed for drawing windows at random",
           .metavariable = "N",
           .least = 0,
           .most = kMaxSize,
           .default_words = "0 if the file has more windows than requested; else all windows are "
                            "used in order"},
          {.name = "consecutive",
           .type = flag,
           .group = OptionGroup::input,
           .help = "use consecutive windows from the start of the file instead of random ones; "
                   "underestimates standard errors"}};
}

void check_token_count(std::int64_t sequences, std::int64_t length) {
  constexpr std::int64_t kMaxTokens = 100'000'000;
  if (length <= kMaxTokens / sequences) return;
  throw Error(ErrorKind::usage,
              {.parameter = "sequences",
               .problem = counted(sequences, "sequence") + " of " + counted(length, "token") +
                          (sequences == 1 ? " is" : " are") + " over the limit of " +
                          std::to_string(kMaxTokens) + " tokens"});
}

TokenSequences whole_texts(std::vector<TokenIds> texts, const std::string& source) {
  Record parameters = {{"source", source},
                       {"sequences", std::ssize(texts)},
                       {"length", text_rows(texts).longest},
                       {"seed", Value()}};
  return {.of_model = std::move(texts), .parameters = std::move(parameters)};
}

TokenSequences whole_text(TokenIds ids, std::shared_ptr<const Tokenizer> tokenizer) {
  TokenSequences out = whole_texts({std::move(ids)}, "text");
  out.tokenizer = std::move(tokenizer);
  return out;
}

namespace {

/// The default number of examples: as many as have the tokens of the default windows, because short
/// examples have few tokens each. `mean`: mean number of tokens per example.
std::int64_t usual_examples(const UsualWindows& usual, std::int64_t mean) {
  const std::int64_t tokens = usual.sequences * usual.length;
  return std::max(usual.sequences, tokens / std::max<std::int64_t>(1, mean));
}

/// The sequences of examples: lines, whole texts, or consecutive non-overlapping windows.
TokenSequences example_sequences(const Arguments& arguments, const Session& session,
                                 const Model& model, const UsualWindows& usual) {
  const ScorePositions positions(arguments, session);
  const bool lines = arguments.flag("lines");
  const bool chat = arguments.given("chat");
  const bool whole = arguments.given("text") || arguments.given("tokens") || chat;
  WindowRequest request{
      .sequences = kMaxSequences,
      .length = whole ? kMaxSequences : window_length(arguments, session, model, usual),
      .sample = std::nullopt,
      .or_fewer = !arguments.given("sequences")};
  if (!whole) {
    request.sequences =
        arguments.integer("sequences").value_or(usual_examples(usual, request.length));
  }
  const std::string shard_file = arguments.text("token_file");
  const std::string file = shard_file.empty() ? arguments.text("text_file") : shard_file;
  TokenSequences out;
  ExampleWindows found;
  if (!whole && !lines) check_token_count(request.sequences, request.length);
  if (!shard_file.empty()) {
    const TokenShard shard(shard_file);
    if (const auto vocabulary = model.dimensions().vocabulary) shard.check_ids(*vocabulary);
    request.sample = sample_of(arguments, request, shard.size());
    const auto ids = [&](std::int64_t first, std::int64_t count) {
      return shard.ids(first, count);
    };
    found = equal_examples(shard.size(), ids, positions, request, shard_file);
  } else if (arguments.given("tokens")) {
    found = windows_of_examples(encoded_texts(arguments, session, model, nullptr), positions,
                                request, "tokens");
  } else {
    out.tokenizer = std::make_shared<const Tokenizer>(tokenizer_of(model));
    const std::string text = chat ? "" : text_to_encode(arguments, session);
    const bool special = adds_special_tokens(arguments);
    if (lines || whole) {
      const std::vector<TokenIds> examples =
          lines ? line_examples(text, *out.tokenizer, special)
                : encoded_texts(arguments, session, model, out.tokenizer.get());
      if (lines && request.or_fewer) {
        std::int64_t tokens = 0;
        for (const TokenIds& ids : examples) tokens += std::ssize(ids);
        const auto count = std::max<std::int64_t>(1, std::ssize(examples));
        request.sequences = usual_examples(usual, tokens / count);
      }
      const WindowRequest of_lines{.sequences = request.sequences, .length = 1, .sample = {}};
      if (!whole) request.sample = sample_of(arguments, of_lines, std::ssize(examples));
      found = windows_of_examples(examples, positions, request,
                                  whole ? source_of_text(arguments) : file,
                                  lines ? usual.shortest_line : 1);
    } else {
      const TokenIds all = out.tokenizer->encode(text, /*special=*/false);
      request.sample = sample_of(arguments, request, std::ssize(all));
      const auto ids = [&](std::int64_t first, std::int64_t count) {
        return TokenIds(all.begin() + first, all.begin() + first + count);
      };
      found = equal_examples(std::ssize(all), ids, positions, request, file);
    }
    const std::string skipped = left_out_note(model.name(), found.skipped);
    out.note = unknown_note(model, *out.tokenizer, found.windows);
    if (!out.note.empty() && !skipped.empty()) out.note += "; ";
    out.note += skipped;
  }
  check_scored(found.scored, model.spec().causal);
  out.of_model = std::move(found.windows);
  out.scored = std::move(found.scored);
  out.parameters = {
      {"source", source_of_text(arguments)},
      {"sequences", std::ssize(out.of_model)},
      {"length", text_rows(out.of_model).longest},
      {"seed", request.sample ? Value(static_cast<std::int64_t>(*request.sample)) : Value()}};
  if (lines) out.parameters.add("lines", true);
  positions.add_to(out.parameters);
  return out;
}

}  // namespace

TokenSequences token_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual) {
  if (names_a_text(arguments) && asks_for_examples(arguments)) {
    return example_sequences(arguments, session, model, usual);
  }
  if (arguments.given("tokens")) {
    return whole_texts(encoded_texts(arguments, session, model, nullptr), "tokens");
  }
  if (arguments.given("text") || arguments.given("chat")) {
    auto tokenizer = std::make_shared<const Tokenizer>(tokenizer_of(model));
    TokenSequences out = whole_texts(encoded_texts(arguments, session, model, tokenizer.get()),
                                     source_of_text(arguments));
    out.note = unknown_note(model, *tokenizer, out.of_model);
    out.tokenizer = std::move(tokenizer);
    return out;
  }
  WindowRequest request{.sequences = arguments.integer("sequences").value_or(usual.sequences),
                        .length = window_length(arguments, session, model, usual),
                        .sample = std::nullopt,
                        .or_fewer = !arguments.given("sequences")};
  check_token_count(request.sequences, request.length);
  TokenSequences out;
  std::string file = arguments.text("token_file");
  if (!file.empty()) {
    const TokenShard shard(file);
    if (const auto vocabulary = model.dimensions().vocabulary) shard.check_ids(*vocabulary);
    request.sample = sample_of(arguments, request, shard.size());
    out.of_model = shard.cut_windows(request);
  } else {
    if (!arguments.given("text_file")) {
      throw Error(ErrorKind::usage,
                  {.parameter = "text",
                   .problem = "missing input text",
                   .hint = "pass {text}, {text_file}, {tokens}, {token_file} or {induction}"});
    }
    file = arguments.text("text_file");
    out.tokenizer = std::make_shared<const Tokenizer>(tokenizer_of(model));
    const TokenIds ids =
        out.tokenizer->encode(text_to_encode(arguments, session), /*special=*/false);
    request.sample = sample_of(arguments, request, std::ssize(ids));
    out.of_model = cut_windows(ids, request, file);
    out.note = unknown_note(model, *out.tokenizer, out.of_model);
  }
  out.parameters = {
      {"source", file_name_of(file)},
      {"sequences", std::ssize(out.of_model)},
      {"length", request.length},
      {"seed", request.sample ? Value(static_cast<std::int64_t>(*request.sample)) : Value()}};
  return out;
}

ScoredTexts scored_texts(const Arguments& arguments, const Session& session,
                         const std::vector<Model>& models, RowSink& sink) {
  if (!names_a_text(arguments)) {
    throw Error(ErrorKind::usage,
                {.parameter = "text",
                 .problem = "missing input text",
                 .hint = "pass {text}, {text_file}, {tokens}, {token_file} or {prompts}"});
  }
  ScoredTexts texts;
  for (const Model& model : models) {
    TokenSequences sequences = token_sequences(arguments, session, model, kScoredWindows);
    if (!sequences.note.empty()) sink.add_note(std::move(sequences.note));
    texts.parameters = std::move(sequences.parameters);
    texts.sequences.push_back(std::move(sequences.of_model));
    texts.scored.push_back(std::move(sequences.scored));
    texts.masks.push_back(mask_of(model));
  }
  return texts;
}

}  // namespace attnscope
