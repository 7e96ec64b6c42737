#include "attnscope/features/common/options/text_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/features/common/options/chat_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/token_sequences.h"

namespace attnscope {
namespace {

using enum ParameterType;

}  // namespace

std::string file_name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string source_of_text(const Arguments& arguments) {
  if (arguments.given("text")) return "text";
  if (arguments.given("tokens")) return "tokens";
  for (const char* file : {"chat", "token_file"}) {
    if (arguments.given(file)) return file_name_of(arguments.text(file));
  }
  return file_name_of(arguments.text("text_file"));
}

bool adds_special_tokens(const Arguments& arguments) {
  return !arguments.flag("no_special_tokens");
}

std::string unknown_note(const Model& model, const Tokenizer& tokenizer,
                         std::span<const TokenIds> texts) {
  UnknownTokens unknown;
  for (const TokenIds& ids : texts) {
    const UnknownTokens of_text = unknown_tokens(tokenizer, ids);
    unknown.unknown += of_text.unknown;
    unknown.all += of_text.all;
  }
  if (!unknown.are_most()) return "";
  return verbatim(model.name()) + ": " + unknown.text() + (unknown.unknown == 1 ? " is" : " are") +
         " unknown to its tokenizer, so the results mostly describe the unknown token, not the "
         "text";
}

namespace {

/// Returns the ids of a list; `parameter` is where it was given.
TokenIds ids_of_list(const std::string& text, const std::string& parameter) {
  TokenIds ids;
  for (const std::string& part : list_parts(text)) {
    std::int64_t id = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, id);
    if (error != std::errc() || stop != end || id < 0) {
      const bool of_types = parameter == "token_types";
      throw Error(
          ErrorKind::usage,
          {.parameter = parameter,
           .problem = "'" + verbatim(part) + "' is not a token " + (of_types ? "type" : "id"),
           .hint = of_types ? "for example: 0,0,1,1" : "for example: 464,3290"});
    }
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

TokenIds parse_ids(const Arguments& arguments, const std::string& parameter) {
  return ids_of_list(arguments.text(parameter), parameter);
}

void check_text(std::string_view text, ErrorParts where) {
  if (text.empty()) {
    where.problem = "is empty";
    throw Error(ErrorKind::usage, where);
  }
  if (const auto encoding = unmarked_encoding(text)) refuse_encoding(where, *encoding);
  if (const auto broken = first_broken_utf8(text)) {
    where.problem = "is not UTF-8 at byte " + std::to_string(*broken);
    throw Error(ErrorKind::format, where);
  }
}

namespace {

/// The texts that a parameter gives. Throws Error if one is empty or not UTF-8.
std::vector<std::string> checked_texts(const Arguments& arguments, const char* parameter) {
  std::vector<std::string> texts = arguments.texts(parameter);
  for (const std::string& text : texts) check_text(text, {.parameter = parameter});
  return texts;
}

/// Whether the model adds an embedding for each token's type.
bool has_types(const Model& model) {
  const std::string& table = model.spec().stream.embedding.types;
  return !table.empty() && model.checkpoint().find(model.prefix() + table) != nullptr;
}

/// Sets the types that `token_types` gives.
void set_types(const Arguments& arguments, std::vector<TokenIds>& sequences) {
  if (!arguments.given("token_types")) return;
  const auto refuse = [](const std::string& problem) {
    throw Error(ErrorKind::usage, {.parameter = "token_types", .problem = problem});
  };
  if (sequences.size() != 1) refuse("gives the types of a single text");
  TokenIds& ids = sequences.front();
  ids.types = parse_ids(arguments, "token_types");
  if (ids.types.size() != ids.size()) {
    refuse("gives " + counted(ids.types.size(), "token type") + " for " +
           counted(ids.size(), "token"));
  }
  const auto has = [&](std::int64_t type) {
    return std::find(ids.types.begin(), ids.types.end(), type) != ids.types.end();
  };
  // Token ids do not show which tokens are special, so their types tell the two texts apart.
  if (!ids.texts.empty() || !has(0) || !has(1)) return;
  for (const std::int64_t type : ids.types) ids.texts.push_back(type <= 1 ? type : -1);
}

}  // namespace

std::vector<TokenIds> encoded_texts(const Arguments& arguments, const Session& session,
                                    const Model& model, const Tokenizer* tokenizer) {
  std::vector<TokenIds> out;
  if (arguments.given("tokens")) {
    for (const std::string& list : arguments.texts("tokens")) {
      out.push_back(ids_of_list(list, "tokens"));
    }
    set_types(arguments, out);
    return out;
  }
  if (arguments.given("chat")) return encoded_chats(arguments, session, model, *tokenizer);
  const bool special = adds_special_tokens(arguments);
  const std::vector<std::string> texts = checked_texts(arguments, "text"),
                                 seconds = checked_texts(arguments, "text_pair");
  if (texts.empty()) {
    out.emplace_back(tokenizer->encode(text_to_encode(arguments, session), special));
    return out;
  }
  if (!seconds.empty() && seconds.size() != texts.size()) {
    throw Error(ErrorKind::usage, {.parameter = "text_pair",
                                   .problem = "given " + counted(seconds.size(), "time") +
                                              ", expected one for each of " +
                                              std::to_string(texts.size()) + " {text}"});
  }
  for (std::size_t at = 0; at < texts.size(); ++at) {
    if (seconds.empty()) {
      out.emplace_back(tokenizer->encode(texts[at], special));
      continue;
    }
    out.push_back(tokenizer->encode_pair(texts[at], seconds[at], special));
    if (!has_types(model)) out.back().types.clear();
  }
  set_types(arguments, out);
  return out;
}

std::string text_to_encode(const Arguments& arguments, const Session& session) {
  if (arguments.given("text")) return join(checked_texts(arguments, "text"), "\n");
  if (arguments.given("text_file")) {
    const std::string file = arguments.text("text_file");
    std::string text = session.files->read_text(file, kTextLimitBytes);
    check_text(text, {.file = file});
    return text;
  }
  throw Error(ErrorKind::usage, {.parameter = "text",
                                 .problem = "missing input text",
                                 .hint = "pass {text}, {text_file}, {chat} or {tokens}"});
}

Parameters text_parameters() {
  Parameters plain = plain_text_parameters();
  return joined({std::move(plain), chat_parameters()});
}

Parameters plain_text_parameters() {
  return {{.name = "text",
           .type = texts,
           .group = OptionGroup::input,
           .help = "input text; several texts are separate sequences",
           .metavariable = "TEXT"},
          {.name = "text_pair",
           .type = texts,
           .group = OptionGroup::input,
           .help = "second text of a pair, which the tokenizer joins to {text}",
           .metavariable = "TEXT"},
          {.name = "text_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "input text file (UTF-8)",
           .metavariable = "FILE"},
          {.name = "tokens",
           .type = texts,
           .group = OptionGroup::input,
           .help = "input token ids, e.g. 464,3290, for models without a tokenizer; several lists "
                   "are separate sequences",
           .metavariable = "IDS"},
          {.name = "token_types",
           .type = text,
           .group = OptionGroup::input,
           .help = "token types, one per token, e.g. 0,0,1,1; replace those of the tokenizer",
           .metavariable = "TYPES"},
          {.name = "no_special_tokens",
           .type = flag,
           .group = OptionGroup::input,
           .help = "do not add special tokens"}};
}

bool names_a_text(const Arguments& arguments) {
  for (const char* name :
       {"text", "text_file", "tokens", "token_file", "text_pair", "token_types", "chat"}) {
    if (arguments.given(name)) return true;
  }
  return false;
}

std::vector<Exclusion> text_exclusions(bool with_windows) {
  std::vector<Exclusion> out = {
      {"chat",
       {"text", "text_pair", "text_file", "tokens", "token_types", "no_special_tokens"},
       "gives the input"},
      {"text", {"text_file", "tokens"}, "gives the input"},
      {"text_file", {"tokens"}, "gives the input"},
      {"tokens", {"no_special_tokens"}, "are used unchanged"},
      {"text_pair", {"text_file", "tokens"}, "belongs to {text}"},
      {"token_types", {"text_file"}, "are those of one text"}};
  if (!with_windows) return out;
  for (const char* name : {"text_pair", "token_types"}) {
    out.push_back({name, {"token_file"}, "is not split into windows"});
  }
  out.push_back({"token_file", {"text", "text_file", "tokens", "chat"}, "gives the input"});
  for (const char* whole : {"text", "tokens", "chat"}) {
    out.push_back(
        {whole, {"sequences", "length", "seed", "consecutive"}, "is not split into windows"});
  }
  out.push_back({"consecutive", {"seed"}, "takes windows in order, not at random"});
  return out;
}

namespace {

/// `mask_token_id` of config.json: the tokenizer of LLaDA does not name its mask token.
std::optional<std::int64_t> mask_of_config(const Model& model) {
  constexpr const char* kConfig = "config.json";
  constexpr std::uint64_t kMaxBytes = 10'000'000;
  const CheckpointFolder& folder = model.checkpoint().folder();
  if (!folder.has(kConfig)) return {};
  const auto config = parse_python_json(folder.read_text(kConfig, kMaxBytes), kConfig);
  const auto found = config.is_object() ? config.find("mask_token_id") : config.end();
  if (found == config.end() || !found->is_number_integer() || *found < 0) return {};
  return found->get<std::int64_t>();
}

}  // namespace

std::optional<std::int64_t> mask_of(const Model& model) {
  if (model.spec().causal) return {};
  const TokenizedText shown = shown_tokens_of(model);
  const auto mask = shown.tokenizer ? shown.tokenizer->special_tokens().mask : std::nullopt;
  return mask ? mask : mask_of_config(model);
}

Tokenizer tokenizer_of(const Model& model, std::string_view ids) {
  auto found = Tokenizer::find(model.checkpoint().folder());
  if (found) return *std::move(found);
  throw Error(ErrorKind::usage,
              {.file = model.checkpoint().folder().path().string(),
               .problem = "has no tokenizer: no tokenizer.json, no vocab.json with merges.txt, no "
                          "tokenizer.model, and no vocab.txt",
               .hint = "pass token ids with {" + std::string(ids) + "}"});
}

bool takes_pairs(const Model& model) {
  if (has_types(model)) return true;
  if (model.spec().causal) return false;
  try {
    const auto tokenizer = Tokenizer::find(model.checkpoint().folder());
    if (!tokenizer) return false;
    const std::vector<std::int64_t> texts = tokenizer->encode_pair("a", "b", true).texts;
    const auto second = std::ranges::find(texts, 1);
    return second != texts.begin() && second != texts.end() && *(second - 1) == -1 &&
           std::find(texts.begin(), second, 0) != second;
  } catch (const Error&) {  // reported when a text is run
    return false;
  }
}

std::string UnknownTokens::text() const {
  return std::to_string(unknown) + " of " + counted(all, "token");
}

UnknownTokens unknown_tokens(const Tokenizer& tokenizer, std::span<const std::int64_t> ids) {
  UnknownTokens found{.unknown = 0, .all = std::ssize(ids)};
  if (const auto id = tokenizer.special_tokens().unknown) {
    found.unknown = std::count(ids.begin(), ids.end(), *id);
  }
  return found;
}

TokenizedText shown_tokens_of(const Model& model) {
  TokenizedText out;
  try {
    out.tokenizer = Tokenizer::find(model.checkpoint().folder());
  } catch (const Error& error) {
    out.note = "tokens are shown as ids: " + verbatim(error.what());
  }
  return out;
}

TokenizedText tokenized_texts(const Arguments& arguments, const Session& session,
                              const Model& model) {
  const bool given_ids = arguments.given("tokens");
  TokenizedText out;
  if (given_ids) {
    out = shown_tokens_of(model);
  } else {
    out.tokenizer = tokenizer_of(model);
  }
  std::vector<TokenIds> all =
      encoded_texts(arguments, session, model, out.tokenizer ? &*out.tokenizer : nullptr);
  if (!given_ids) out.unknown_note = unknown_note(model, *out.tokenizer, all);
  out.tokens = std::move(all.front());
  out.more_texts.assign(std::make_move_iterator(all.begin() + 1),
                        std::make_move_iterator(all.end()));
  if (given_ids) {
    out.source = "tokens";
    return out;
  }
  out.source = source_of_text(arguments);
  return out;
}

TokenizedText tokenized_text(const Arguments& arguments, const Session& session,
                             const Model& model) {
  TokenizedText out = tokenized_texts(arguments, session, model);
  if (out.more_texts.empty()) return out;
  if (arguments.given("chat")) {
    throw Error(ErrorKind::usage,
                {.parameter = "chat", .problem = "has several chats, but this run takes one text"});
  }
  throw Error(ErrorKind::usage, {.parameter = arguments.given("tokens") ? "tokens" : "text",
                                 .problem = "given several times, but this run takes one text"});
}

Parameters mla_text_parameters() {
  Parameters parameters = joined({text_parameters(), window_parameters()});
  for (Parameter& parameter : parameters) {
    if (parameter.name != "text") continue;
    parameter.help =
        "MLA models: estimate the RMS of each latent (the divisor in its RMSNorm) on this text";
  }
  return parameters;
}

std::vector<Exclusion> mla_text_exclusions(std::initializer_list<const char*> others) {
  std::vector<Exclusion> exclusions = text_exclusions(/*with_windows=*/true);
  for (const char* other : others) {
    exclusions.push_back(
        {other,
         {"text", "text_pair", "text_file", "tokens", "token_types", "token_file", "chat"},
         "uses no text"});
  }
  return exclusions;
}

std::optional<MlaText> mla_text_of(const Arguments& arguments, const Session& session,
                                   std::span<const Model> models, RowSink& notes) {
  if (!names_a_text(arguments)) return std::nullopt;
  check_mla_ranks(models);
  MlaText out;
  for (const Model& model : models) {
    auto& own = out.sequences.emplace_back();
    if (!model.dimensions().mla) continue;
    TokenSequences found = token_sequences(arguments, session, model);
    if (!found.note.empty()) notes.add_note(std::move(found.note));
    out.parameters = std::move(found.parameters);
    own = std::move(found.of_model);
  }
  return out;
}

}  // namespace attnscope
