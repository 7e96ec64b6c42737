#include "attnscope/features/report/inputs.h"

#include <algorithm>

#include "attnscope/base/text.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/framework/rendered_chats.h"
#include "attnscope/inputs/text/token_shard.h"

namespace attnscope {
namespace {

constexpr std::string_view kUsualText =
    "Alice was beginning to get very tired of sitting by her sister on the bank, "  // words: ok
    "and of having nothing to do: once or twice she had peeped into the book her sister was "
    "reading, but it had no pictures or conversations in it.";

/// The longest prefix of the default text that `fits`, preferably at a word boundary; empty if not
/// even one letter fits.
template <class Fits>
std::string_view longest_start(const Fits& fits) {
  const auto at_end_of_word = [](std::size_t size) {
    return size == kUsualText.size() || kUsualText[size] == ' ';
  };
  for (const bool words : {true, false}) {
    for (std::size_t size = kUsualText.size(); size > 0; --size) {
      if (words && !at_end_of_word(size)) continue;
      if (fits(kUsualText.substr(0, size))) return kUsualText.substr(0, size);
    }
  }
  return {};
}

ReportModel with_text(const ReportModel& model, const char* parameter, ParameterValue text) {
  ReportModel with = model;
  with.arguments = model.arguments.without(kInputParameters).with(parameter, std::move(text));
  return with;
}

/// Throws Error if the model cannot be run or a required input is missing.
void check_has_input(const ReportModel& model) {
  if (model.not_run) throw *model.not_run;
  const InputKind kind = input_kind(model.model);
  if (kind != InputKind::text && !input_is_given(model.arguments, model.model)) {
    throw Error(ErrorKind::usage,
                {.problem = std::string("expected ") + noun_of(kind) + " as input: pass " +
                            (kind == InputKind::image ? "{image}" : "{audio}")});
  }
  if (needs_target(model.model) && !target_is_given(model.arguments)) {
    const char* both = "{text} and {target}";
    if (kind != InputKind::text) {
      both = "{audio} and {target}";
    } else if (model.arguments.given("text_file")) {
      both = "{text_file} and {target_file}";
    } else if (!names_a_text(model.arguments)) {
      both = "{text} and {target}, or {text_file} and {target_file}";
    }
    throw Error(ErrorKind::usage,
                {.problem = std::string("missing target text for the decoder: pass ") + both});
  }
}

/// Checks a text or text file. Throws Error if it cannot be read.
void check_text_of(const char* name, const Arguments& report, const Session& session) {
  if (!report.given(name)) return;
  if (name == std::string_view("text")) {
    for (const std::string& text : report.texts(name)) check_text(text, {.parameter = name});
    return;
  }
  const std::string given = report.text(name);
  check_text(session.files->read_text(given, kTextLimitBytes), {.file = given});
}

/// Token ids evenly spaced over the vocabulary.
std::optional<ReportModel> with_some_ids(const ReportModel& model) {
  constexpr std::int64_t kFew = 8;
  const std::int64_t count = std::min(kFew, model.longest);
  std::vector<std::string> ids;
  for (std::int64_t at = 0; at < count; ++at) {
    ids.push_back(std::to_string(model.vocabulary * at / count));
  }
  if (ids.empty() || model.vocabulary == 0) return std::nullopt;
  return with_text(model, "tokens", join(ids, ","));
}

}  // namespace

bool input_is_given(const Arguments& report, const Model& model) {
  const InputKind kind = input_kind(model);
  return kind == InputKind::text ? names_a_text(report) : named_input(report) == kind;
}

void check_inputs(const Arguments& report, const Session& session,
                  const std::vector<Model>& models) {
  check_chat_options(report);
  if (report.given("text_pair") && !report.given("text")) {
    throw Error(ErrorKind::usage, {.parameter = "text_pair", .problem = "requires {text}"});
  }
  if (report.given("token_types") && !report.given("text") && !report.given("tokens")) {
    throw Error(ErrorKind::usage,
                {.parameter = "token_types", .problem = "requires {text} or {tokens}"});
  }
  if (names_a_text(report)) {
    const char* given = report.given("tokens") || report.given("token_file") ? "tokens" : "text";
    check_readers(models, InputKind::text, given);
  }
  if (const std::string media_input = named_media_parameter(report); !media_input.empty()) {
    check_readers(models, named_input(report), media_input);
  }
  check_targets(models, report);
  if (report.given("target_file") && !report.given("text_file")) {
    throw Error(ErrorKind::usage, {.parameter = "target_file",
                                   .problem = "requires {text_file} with the source texts"});
  }
  if (!names_a_text(report)) refuse_examples_without_text(report);
  ScorePositions(report, session);  // throws if a mask file cannot be read
  if (report.given("token_file")) TokenShard(report.text("token_file"));
  for (const char* name : {"text", "text_file", "plan_text"}) check_text_of(name, report, session);
  if (report.given("target_file")) check_target_lines(models, report, session);
}

ModelText given_text(const ReportModel& model, const Session& session, const std::string& sent) {
  check_has_input(model);
  return {.model = model,
          .tokens = model_sequences(model.arguments, session, model.model, {}, sent)};
}

ModelText usual_text(const ReportModel& model) {
  check_has_input(model);
  auto found = Tokenizer::find(model.model.checkpoint().folder());
  if (!found) throw Error(ErrorKind::usage, {.problem = "the model has no tokenizer"});
  const auto tokenizer = std::make_shared<const Tokenizer>(*std::move(found));
  std::vector<std::int64_t> ids;
  const std::string_view start = longest_start([&](std::string_view text) {
    ids = tokenizer->encode(text, /*special=*/true);
    return !ids.empty() && std::ssize(ids) <= model.longest &&
           std::all_of(ids.begin(), ids.end(),
                       [&](std::int64_t id) { return id < model.vocabulary; });
  });
  if (start.empty()) {
    throw Error(ErrorKind::usage, {.problem = "the default text does not fit the model's " +
                                              std::to_string(model.longest) + " positions and " +
                                              std::to_string(model.vocabulary) + " tokens"});
  }
  if (const auto unknown = unknown_tokens(*tokenizer, ids); unknown.are_most()) {
    throw Error(ErrorKind::usage,
                {.problem = unknown.text() + " of the default text are unknown to the tokenizer",
                 .hint = "pass a suitable text with {text}"});
  }
  const auto count = ids.size();
  ModelText text{.model = with_text(model, "text", std::vector{std::string(start)}),
                 .tokens = whole_text(std::move(ids), tokenizer)};
  if (start.size() < kUsualText.size()) {
    text.note = verbatim(model.model.name()) + ": uses the first " + std::to_string(count) +
                " tokens of the default text, the most that the model accepts";
  }
  return text;
}

std::optional<ReportModel> with_some_text(const ReportModel& model) {
  if (model.not_run) return std::nullopt;
  try {
    return usual_text(model).model;
  } catch (const Error&) {  // reported when the default text is used
    return with_some_ids(model);
  }
}

}  // namespace attnscope
