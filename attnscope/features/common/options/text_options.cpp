#include "attnscope/features/common/options/text_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/token_sequences.h"

namespace attnscope {
namespace {

using enum ParameterType;

}  // namespace

std::string file_name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool adds_special_tokens(const Arguments& arguments) {
  return !arguments.flag("no_special_tokens");
}

std::string unknown_note(const Model& model, const UnknownTokens& unknown) {
  if (!unknown.are_most()) return "";
  return verbatim(model.name()) + ": " + unknown.text() +
         " are unknown to its tokenizer, so the results mostly describe the unknown token, not the "
         "text";
}

TokenIds parse_ids(const Arguments& arguments, const std::string& parameter) {
  TokenIds ids;
  for (const std::string& part : list_parts(arguments.text(parameter))) {
    std::int64_t id = 0;
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, id);
    if (error != std::errc() || stop != end || id < 0) {
      throw Error(ErrorKind::usage, {.parameter = parameter,
                                     .problem = "'" + verbatim(part) + "' is not a token id",
                                     .hint = "for example: 464,3290"});
    }
    ids.push_back(id);
  }
  return ids;
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

std::string text_to_encode(const Arguments& arguments, const Session& session) {
  if (arguments.given("text")) {
    std::string text = arguments.text("text");
    check_text(text, {.parameter = "text"});
    return text;
  }
  if (arguments.given("text_file")) {
    const std::string file = arguments.text("text_file");
    std::string text = session.files->read_text(file, kTextLimitBytes);
    check_text(text, {.file = file});
    return text;
  }
  throw Error(ErrorKind::usage, {.parameter = "text",
                                 .problem = "missing input text",
                                 .hint = "pass {text}, {text_file} or {tokens}"});
}

Parameters text_parameters() {
  return {{.name = "text",
           .type = text,
           .group = OptionGroup::input,
           .help = "input text",
           .metavariable = "TEXT"},
          {.name = "text_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "input text file (UTF-8)",
           .metavariable = "FILE"},
          {.name = "tokens",
           .type = text,
           .group = OptionGroup::input,
           .help = "input token ids, e.g. 464,3290, for models without a tokenizer",
           .metavariable = "IDS"},
          {.name = "no_special_tokens",
           .type = flag,
           .group = OptionGroup::input,
           .help = "do not add special tokens"}};
}

bool names_a_text(const Arguments& arguments) {
  for (const char* name : {"text", "text_file", "tokens", "token_file"}) {
    if (arguments.given(name)) return true;
  }
  return false;
}

std::vector<Exclusion> text_exclusions(bool with_windows) {
  std::vector<Exclusion> out = {{"text", {"text_file", "tokens"}, "gives the input"},
                                {"text_file", {"tokens"}, "gives the input"},
                                {"tokens", {"no_special_tokens"}, "are used unchanged"}};
  if (!with_windows) return out;
  out.push_back({"token_file", {"text", "text_file", "tokens"}, "gives the input"});
  for (const char* whole : {"text", "tokens"}) {
    out.push_back(
        {whole, {"sequences", "length", "seed", "consecutive"}, "is not split into windows"});
  }
  out.push_back({"consecutive", {"seed"}, "takes windows in order, not at random"});
  return out;
}

std::optional<std::int64_t> mask_of(const Model& model) {
  if (model.spec().causal) return {};
  const auto tokenizer = Tokenizer::find(model.checkpoint().folder());
  return tokenizer ? tokenizer->special_tokens().mask : std::nullopt;
}

Tokenizer tokenizer_of(const Model& model, std::string_view ids) {
  auto found = Tokenizer::find(model.checkpoint().folder());
  if (found) return *std::move(found);
  throw Error(ErrorKind::usage,
              {.file = model.checkpoint().folder().path().string(),
               .problem = "has no tokenizer.json, vocab.json with merges.txt, or vocab.txt",
               .hint = "pass token ids with {" + std::string(ids) + "}"});
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

TokenizedText tokenized_text(const Arguments& arguments, const Session& session,
                             const Model& model) {
  if (arguments.given("tokens")) {
    TokenizedText out = shown_tokens_of(model);
    out.tokens = parse_ids(arguments, "tokens");
    out.source = "tokens";
    return out;
  }
  TokenizedText out;
  const std::string text = text_to_encode(arguments, session);
  out.tokenizer = tokenizer_of(model);
  out.tokens = out.tokenizer->encode(text, adds_special_tokens(arguments));
  out.source = arguments.given("text") ? "text" : file_name_of(arguments.text("text_file"));
  out.unknown_note = unknown_note(model, unknown_tokens(*out.tokenizer, out.tokens));
  return out;
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
    exclusions.push_back({other, {"text", "text_file", "tokens", "token_file"}, "uses no text"});
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
